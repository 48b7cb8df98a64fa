"""Hierarchical resources: who has how many of each layer, and on which nodes a job may start.

Mirrors licenses.c, hres_* (26.05). In modes 1 and 2 a resource says which nodes a job may start on; in mode 3 placement
takes a count for each node (`SharedLayers`). What a job takes is known once it has nodes. It is kept beside the job and
given back as it was taken. Names joined by ``|`` are asked for all together here, as slurmctld does.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap
from slurmsim.core.placement.shared_layers import ANY_NUMBER
from slurmsim.errors import ConfigError, InvariantError, SubmitError
from slurmsim.model.hierarchy import ALL_LAYERS, ONE_LAYER, PER_NODE
from slurmsim.tres import resource_of

if TYPE_CHECKING:
    from slurmsim.core.placement.shared_layers import SharedLayers
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.reservation import Reservation
    from slurmsim.core.state.controller_state import ControllerState

Counts = tuple[tuple[str, int], ...]


class HeldLayers:
    """What jobs and reservations have of the layers of `table`."""

    def __init__(self, state: ControllerState, table: SharedLayers) -> None:
        self.state, self.table = state, table
        self.names = frozenset(table.specs)  # of the resources
        self.used = [0] * len(table.counts)  # of each layer
        self.held: dict[int, list[tuple[int, int]]] = {}  # layers of each job that runs, and how many it has of them
        if state.event_driven:
            raise ConfigError(
                f"policy {state.policy.name} does not plan with hierarchical resources", field="resources.yaml",
                expected="sched/backfill or sched/builtin",
            )  # fmt: skip

    # -- what may be asked for ----------------------------------------------------------------------------------------

    def wanted(self, choices: tuple[Counts, ...]) -> Counts:
        """Return what a job asks for: of several choices the first without layers, and all that have layers.

        Raises SubmitError for two resources of which each node takes a count.
        """
        found = choices[0] if choices else ()
        if len(choices) > 1:
            plain = [asked for asked in choices if not any(name in self.names for name, _ in asked)]
            found = (plain[0] if plain else ()) + tuple(
                pair for asked in choices for pair in asked if pair[0] in self.names
            )
        if self.table.several_per_node(found):
            raise SubmitError("Invalid license specification")
        return tuple(pair for pair in found if pair[1] or pair[0] not in self.names)

    def asked_by(self, job: Job) -> list[tuple[str, int]]:
        """Return the resources that `job` asks for, and the counts."""
        found = [(resource_of(name), count) for name, count in job.licenses]
        return [pair for pair in found if pair[0] in self.names]

    # -- where a job may start ----------------------------------------------------------------------------------------

    def open_to(self, job: Job, own: Reservation | None, nodes: Bitmap) -> Bitmap:
        """Return those of `nodes` that resources in modes 1 and 2 let `job` start on now (hres_filter)."""
        until = self.state.now + job.time_limit_s
        for resource, count in self.asked_by(job):
            mode = self.table.specs[resource].mode
            if mode == PER_NODE:
                continue
            enough = closed = 0
            for k in self.table.numbers(resource):
                if self._has(k, count, own, until):
                    enough |= self.table.nodes[k]
                else:
                    closed |= self.table.nodes[k]
            nodes &= enough & ~closed if mode == ALL_LAYERS else enough
        return nodes

    def _has(self, layer: int, count: int, own: Reservation | None, until: int) -> bool:
        """Return True if `count` of a layer are free now, and reservations other than `own` leave them `until` then."""
        total = self.table.counts[layer]
        if total is None:
            return True
        kept = self.kept(layer, self.state.now, until, own) if self.state.reserved.all else 0
        return count + self.used[layer] + kept <= total

    def kept(self, layer: int, begin: int, end: int, own: Reservation | None) -> int:
        """Return how many of a layer reservations other than `own` keep over some of [begin, end)."""
        return sum(
            count for r in self.state.reserved.all if r is not own and r.covers(begin, end)
            for name, count in r.licenses if self.table.layer_named(name) == layer
        )  # fmt: skip

    # -- who has what -------------------------------------------------------------------------------------------------

    def take(self, job: Job, nodes: Bitmap) -> None:
        """Let `job`, which starts on `nodes`, have its counts of the layers there (license_job_get).

        In mode 1 the first layer with enough gives all, and the job's licenses name it from now on.
        """
        until, named = self.state.now + job.time_limit_s, self.asked_by(job)
        held: list[tuple[int, int]] = []
        giving: dict[str, str] = {}
        for resource, count in named:
            mode = self.table.specs[resource].mode
            for k in self.table.numbers(resource):
                n = (self.table.nodes[k] & nodes).bit_count()
                if not n or (mode == ONE_LAYER and not self._has(k, count, job.reservation, until)):
                    continue
                held.append((k, count * n if mode == PER_NODE else count))
                if mode == ONE_LAYER:
                    giving[resource] = f"{resource}({self.table.shown[k]})"
                    break
        for k, n in held:
            self.used[k] += n
        if held:
            self.held[job.id] = held
        if named:
            job.licenses = tuple([(giving.get(name := resource_of(each), name), n) for each, n in job.licenses])

    def give_back(self, job: Job) -> None:
        """Take back what `job` has."""
        for k, n in self.held.pop(job.id, ()):
            self.used[k] -= n

    def rows(self, now: int) -> Iterator[dict[str, object]]:
        """Yield the layers as slurmctld lists them: the last resource first."""
        table = self.table
        for spec in reversed(table.specs.values()):
            for k in table.numbers(spec.name):
                total = table.counts[k]
                yield {
                    "name": spec.name, "total": ANY_NUMBER if total is None else total, "used": self.used[k],
                    "reserved": self.kept(k, now, now + 1, None), "nodes": table.shown[k], "mode": spec.mode,
                }  # fmt: skip

    def check(self, running: Container[int]) -> None:
        """Raise InvariantError unless what is in use equals a recount, and only jobs that run have any. For tests."""
        counted = [0] * len(self.used)
        for held in self.held.values():
            for k, n in held:
                counted[k] += n
        if counted != self.used or not all(job_id in running for job_id in self.held):
            raise InvariantError(f"layers in use {self.used} differ from a recount {counted}")
