"""Placement of shares of nodes by the kernel: whether a request fits now, and when it would."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from slurmsim.bitmap import Bitmap, from_ascending, to_bools
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.free_state import Supposed
from slurmsim.core.placement.placer import ASLEEP_BITS
from slurmsim.core.records.allocation import IntArray
from slurmsim.core.records.job import Job
from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.kernel import compiled, load
from slurmsim.kernel.placement import MAX_NODES_

COMPILED: Final = compiled("placement")


class Selecting(Protocol):
    """What of the select plugin matters here; `forgotten` counts how often what was remembered had to be forgotten."""

    asleep: Bitmap
    busy_first: bool
    serial_last: bool
    rules: ReleaseRules
    window_linear: int
    forgotten: int


class Shares:
    """The nodes as the kernel has them."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.wanted = COMPILED  # whether the kernel is asked: where it is compiled
        self._nodes: Any = None
        self._asleep: Bitmap = 0  # as the kernel has been told
        self._bounds: dict[CompiledRequest, int] = {}
        self._current = self._told = self._bounds_of = -1  # how often what was remembered had been forgotten then
        self._more: list[tuple[int, int, Job]] = []  # jobs that began since the kernel was told who runs

    def __reduce__(self) -> tuple[type[Shares], tuple[NodeTable]]:
        return Shares, (self.table,)

    def forget(self) -> None:
        """Forget the nodes, as their weights or GRES have been altered."""
        self._nodes = None
        self._more = []
        self._bounds.clear()
        self._current = self._told = self._bounds_of = -1

    def serves_somebody(self, selector: Selecting) -> bool:
        """Return True if the kernel is asked at all: no cores are shared, and busy nodes do not come first."""
        return self.wanted and not selector.busy_first and self.table.cores is None

    def serves(self, request: CompiledRequest, selector: Selecting) -> bool:
        """Return True if the kernel can say where `request` goes."""
        if not self.serves_somebody(selector):
            return False
        if selector.serial_last and request.min_cpus == request.min_nodes == 1:
            return False
        if selector.rules.offers_for_tasks and request.offers_for_tasks:
            return False
        if request.guess(selector.rules) is not None:
            return False
        asked = request.columns
        return asked is not None and not (selector.rules.first_node_serves and asked[MAX_NODES_] == 1)

    def fits(self, request: CompiledRequest, reach: IntArray, selector: Selecting) -> bool:
        """Return True if `request` could start now on the nodes `reach`, which are up."""
        return bool(self._with_free(selector).fits(reach, request.columns))

    def serves_now(self, request: CompiledRequest, selector: Selecting) -> bool:
        """Return True if the kernel can say which share of nodes `request` gets of what is free."""
        return not (request.whole or request.gres) and self.serves(request, selector)

    def place(
        self, request: CompiledRequest, reach: IntArray, selector: Selecting
    ) -> tuple[list[int], list[int]] | None:
        """Nodes of `reach`, all of which are open, and CPUs taken of each, of what is free now; None: it does not fit.

        The nodes ascend.

        For requests that `serves_now`. To tell the kernel what is free costs nothing here: it looks itself.
        """
        table, nodes = self.table, self._known(selector)
        if not nodes.place(reach, request.columns, table.free_cpus, table.free_mem):
            return None
        found: tuple[list[int], list[int]] = nodes.shares()
        return found

    def future(
        self, request: CompiledRequest, reach: IntArray, running: Sequence[tuple[int, int, Job]], exact: bool,
        selector: Selecting,
    ) -> tuple[int, Bitmap] | None:  # fmt: skip
        """How many of the jobs `running` must be gone for `request` to fit on `reach`, and on which nodes; None: never.

        As `Selector.future` tests it.
        """
        return future_on(self.with_jobs(running, selector), request, reach, selector, exact)

    def supposing(self, state: Supposed, running: Sequence[tuple[int, int, Job]], selector: Selecting) -> Any:
        """Return the kernel's nodes as they would be in `state`, where those of `running` run."""
        nodes = self._new(selector.asleep)
        nodes.restart(*self._free(state))
        self._tell_all(nodes, running)
        return nodes

    def earliest(
        self, request: CompiledRequest, reach: IntArray, running: Sequence[tuple[int, int, Job]], selector: Selecting
    ) -> int:
        """How many of the jobs `running` must be gone before there can be enough for `request`; -1: there never is."""
        if self._bounds_of != selector.forgotten:
            self._bounds_of = selector.forgotten
            self._bounds.clear()
        found = self._bounds.get(request)
        if found is None:
            found = self._bounds[request] = int(self.with_jobs(running, selector).enough_after(reach, request.columns))
        return found

    def up_to_date(self, selector: Selecting) -> Any:
        """Return the kernel's nodes, if they have all that is free now and all running jobs; else None."""
        return self._nodes if self._told == self._current == selector.forgotten else None

    def with_jobs(self, running: Sequence[tuple[int, int, Job]], selector: Selecting) -> Any:
        """Return the kernel's nodes, with what is free now and the running jobs."""
        nodes = self._with_free(selector)
        if self._told != selector.forgotten and not self._tell_more(running):
            self._restart(selector)
            self._tell_all(nodes, running)
        self._told, self._more = selector.forgotten, []
        return nodes

    def started(self, entry: tuple[int, int, Job], selector: Selecting) -> None:
        """Add a started job, `entry` among the running ones, for which the selector has just forgotten its answers."""
        if self._only_starts_since(selector.forgotten - 1):
            self._more.append(entry)

    def _only_starts_since(self, forgotten: int) -> bool:
        """Return True if only the jobs of `_more` have begun by then, since the kernel was told the running jobs."""
        return self._told >= 0 and self._told + len(self._more) == forgotten

    def _tell_more(self, running: Sequence[tuple[int, int, Job]]) -> bool:
        """Tell the kernel of the jobs that began; False where that is not all there is to tell."""
        nodes = self._nodes
        if not self._more or nodes.n_gres or len(running) != nodes.n_jobs + len(self._more):
            return False
        for entry in sorted(self._more):
            at, alloc = bisect_left(running, entry), entry[2].alloc
            if at == len(running) or running[at] != entry or alloc is None or alloc.gres:
                return False
            nodes.insert(at, entry[0], alloc.whole, alloc.columns())
        return True

    @staticmethod
    def _tell_all(nodes: Any, running: Sequence[tuple[int, int, Job]]) -> None:
        """Tell the kernel who runs."""
        for end, _, job in running:
            alloc = job.alloc
            assert alloc is not None
            nodes.runs(end, alloc.whole, alloc.columns())
            for kind, count in () if alloc.whole else alloc.gres:
                nodes.has(kind, _column(np.full(alloc.n_nodes, count) if isinstance(count, int) else count))

    def _known(self, selector: Selecting) -> Any:
        """Return the kernel's nodes, with their rarely changing attributes."""
        if self._nodes is None:
            self._nodes = self._new(selector.asleep)
        elif self._asleep != selector.asleep:
            self._nodes.weight = self._weights(selector.asleep)
        self._asleep = selector.asleep
        return self._nodes

    def _new(self, asleep: Bitmap) -> Any:
        """Return new nodes of the kernel, with their rarely changing attributes alone."""
        table, n_kinds = self.table, len(self.table.gres_kinds)
        columns = _column(table.cpus), _column(table.mem), _column(table.grain), self._weights(asleep)
        return load("placement").Nodes(*columns, n_kinds)

    def _weights(self, asleep: Bitmap) -> array[int]:
        """Return the weights of the nodes; powered-down nodes weigh more than any other."""
        more = to_bools(asleep, self.table.n).astype(np.int64) << ASLEEP_BITS if asleep else 0
        return _column(self.table.weight + more)

    def _with_free(self, selector: Selecting) -> Any:
        """Return the kernel's nodes, with what is free now."""
        nodes = self._known(selector)
        if self._current != selector.forgotten:
            if self._only_starts_since(selector.forgotten):
                self._current = selector.forgotten
                nodes.renew(*self._free(self.table))
            else:
                self._restart(selector)
        return nodes

    def _restart(self, selector: Selecting) -> None:
        """Tell the kernel what is free now, and that no job runs."""
        self._current, self._told, self._more = selector.forgotten, -1, []
        self._known(selector).restart(*self._free(self.table))

    def _free(self, state: NodeTable | Supposed) -> tuple[array[int], ...]:
        """Return the free CPUs, MiB and GRES of nodes, whether a job may have or share each, and the jobs of each."""
        n = self.table.n
        is_open = to_bools(state.idle | state.mixed, n)
        jobs = np.where(to_bools(state.mixed, n), state.n_jobs, ~to_bools(state.idle, n))
        return tuple(map(_column, (state.free_cpus, state.free_mem, state.free_gres, is_open, jobs)))


class Suppositions:
    """The kernel's nodes as they would be without some of the running jobs; a copy knows none."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Any, list[int]]] = {}

    def __reduce__(self) -> tuple[type[Suppositions], tuple[()]]:
        return Suppositions, ()

    def clear(self) -> None:
        """Others run, or other jobs are without."""
        if self._known:
            self._known = {}

    def find(
        self, key: Hashable, shares: Shares, selector: Selecting,
        suppose: Callable[[], tuple[Supposed, Sequence[tuple[int, int, Job]]]],
    ) -> tuple[Any, list[int]]:  # fmt: skip
        """Return the nodes and the ends of their running jobs; `suppose` makes them if `key` is unknown."""
        found = self._known.get(key)
        if found is None:
            state, running = suppose()
            found = self._known[key] = shares.supposing(state, running, selector), [end for end, _, _ in running]
        return found


def future_on(
    nodes: Any, request: CompiledRequest, reach: IntArray, selector: Selecting, exact: bool
) -> tuple[int, Bitmap] | None:
    """How many of those who run on the kernel's `nodes` must be gone for `request` to fit on `reach`, and where."""
    gone = int(nodes.future(reach, request.columns, selector.window_linear, exact))
    return None if gone < 0 else (gone, from_ascending(nodes.shares()[0]))


def _column(values: npt.NDArray[Any]) -> array[int]:
    found = array("q")
    found.frombytes(values.astype(np.int64, copy=False).tobytes())
    return found
