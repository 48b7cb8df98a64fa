"""What a policy from outside is shown: views of jobs and nodes that it can read and cannot change.

A policy that is distributed with slurmsim sees the core's own objects, through the types of the port. One from another
package sees facades. A facade has the members that the port names for its object and no others. What they return is
shown in the same way. Sequences and arrays are copies. What the policy yields is translated back before it is carried
out. So whatever a policy writes to, the cluster stays as it was.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterator, Mapping, Sized
from types import MappingProxyType
from typing import Any, Protocol, get_args

import numpy as np

from slurmsim.capacity import CapacityProfile
from slurmsim.core.accounting.limit_columns import LimitTests
from slurmsim.core.accounting.limits import Limits
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.selector import Forecast
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.partition import Partition
from slurmsim.core.records.reservation import Reservation
from slurmsim.core.reservations.access import Access
from slurmsim.core.scheduling.planned_nodes import ReservedNodes, WholeNodes
from slurmsim.core.scheduling.policy_view import View
from slurmsim.core.scheduling.pool_view import PoolView
from slurmsim.kernel import load
from slurmsim.policy import Change, Decision, cluster, plans, pools, slurm

_facades = load("facades")
Rows = _facades.Rows
behind: Callable[[Any], Any] = _facades.behind
_PLAIN = frozenset({int, float, str, bool, type(None)})
PASS_LIMIT = 1_000_000
"""Decisions of a policy from outside at one instant, beside a hundred for each job in the queue; more are no pass."""

_KEPT = 4096  # facades remembered before those that nothing holds are forgotten


class _Nothing(Protocol):
    """The port of what a policy may hold and compare, and not look into."""


_SHOWN: dict[type, type] = {
    View: slurm.SlurmView,
    PoolView: pools.Pool,
    Job: slurm.SlurmJob,
    Record: slurm.SlurmRecord,
    Partition: cluster.PartitionView,
    CompiledRequest: plans.RequestView,
    Reservation: _Nothing,
    Forecast: pools.Forecast,
    Access: slurm.Access,
    Limits: slurm.LimitsView,
    WholeNodes: plans.WholeNodes,
    ReservedNodes: plans.ReservedNodes,
    LimitTests: slurm.LimitTests,
}
"""What is shown as a facade, and which part of the port it has."""


_DECISIONS = frozenset({*get_args(Decision), Change})
_ABOUT = frozenset({"job", "record", "partition"})  # fields of decisions that name what the policy was shown
_INNER = frozenset({"starts", "changes"})  # fields that hold decisions


def _places(names: list[str]) -> tuple[list[str], list[int], list[int]]:
    """Return the fields of a decision, and the places of those that name what the policy saw, and of inner ones."""
    return names, [k for k, n in enumerate(names) if n in _ABOUT], [k for k, n in enumerate(names) if n in _INNER]


_FIELDS = {kind: _places([field.name for field in dataclasses.fields(kind)]) for kind in _DECISIONS}
_LASTING = frozenset({View, PoolView, Job, Record, Partition, CompiledRequest, Reservation})
_LISTS = frozenset({"records", "fitting"})  # a list of its own, says the port
_LIVE = frozenset({"pending"})  # of a pool: the list itself, says the port
_ABSENT = frozenset({"shared_nodes"})  # None: the kernel's own arrays are not shown


class Guard:
    """Shows the objects of one core to one policy, and finds them again in what it decides."""

    def __init__(self) -> None:
        self.behind = behind
        self._by = _facades.Shown(self._other, _KEPT)
        self.shown: Callable[[Any], Any] = self._by.shown
        self.real: Callable[[Any], Any] = self._by.real
        self._instant, self._decisions = -1, 0
        for kind, port in _SHOWN.items():
            self._add(kind, port)
        self._by.lasting.update(_LASTING)

    def _add(self, kind: type, port: type) -> None:
        """Make the facade of `kind`, with the members of `port`."""
        space = {"__slots__": (), "__doc__": port.__doc__, "__repr__": lambda facade: repr(behind(facade))}
        made = type(kind.__name__, (_facades.Facade,), space)
        for name in dir(port):
            if not name.startswith("_"):
                setattr(made, name, self._member(kind, name, getattr(port, name)))
        self._by.kinds[kind] = made

    def _member(self, kind: type, name: str, member: Any) -> Any:
        if name in _ABSENT:
            return lambda *_: None
        if kind is PoolView and name in _LIVE:
            return _facades.Lives(name, self._by)
        if isinstance(member, property):
            return _facades.Reads(name, self._by)
        return _facades.Calls(name, self._by, name in _LISTS)

    def _other(self, value: Any) -> Any:
        if isinstance(value, (array, np.ndarray)):
            return value[:] if isinstance(value, array) else value.copy()
        if isinstance(value, Mapping):
            return MappingProxyType({self.shown(key): self.shown(one) for key, one in value.items()})
        if isinstance(value, tuple) or dataclasses.is_dataclass(value) or isinstance(value, CapacityProfile):
            return value  # records of plain values that cannot be changed, or a copy
        if isinstance(value, Iterator):
            return map(self.shown, value)
        raise TypeError(f"{type(value).__name__} is not in the port")

    def decided(self, decision: Any) -> Any:
        """Return `decision` about what is behind the facades in it; what is none comes back as it is."""
        if type(decision) not in _DECISIONS:
            return behind(decision)
        names, about, inner = _FIELDS[type(decision)]
        found = [getattr(decision, name) for name in names]
        for at in about:
            found[at] = self.real(found[at])
        for at in inner:
            if isinstance(found[at], (list, tuple)):
                found[at] = [self.decided(one) for one in found[at]]
        return type(decision)(*found)

    def passes_on(self, now: int, n: int, queue: Sized) -> bool:
        """Count `n` more decisions at `now` about `queue`; False if there have been more than any pass needs."""
        if now != self._instant:
            self._instant, self._decisions = now, 0
        self._decisions += n
        return self._decisions <= PASS_LIMIT or self._decisions <= PASS_LIMIT + 100 * len(queue)
