"""What a policy from outside is shown: views of jobs and nodes that it can read and cannot change.

A policy that is distributed with slurmsim sees the core's own objects, through the types of the port. One from another
package sees facades. A facade has the members that the port names for its object and no others. What they return is
shown in the same way. Sequences and arrays are copies. What the policy yields is translated back before it is carried
out. So whatever a policy writes to, the cluster stays as it was.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from types import MappingProxyType
from typing import Any, Protocol, get_args
from weakref import ref

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


class LiveRows(Sequence[Any]):
    """A list of the core, shown row by row as it is when it is read."""

    __slots__ = ("__each", "__item", "__size")

    def __init__(self, rows: Sequence[Any], shown: Callable[[Any], Any]) -> None:
        self.__item: Callable[[Any], Any] = lambda at: shown(rows[at])
        self.__each: Callable[[], Iterator[Any]] = lambda: map(shown, rows)
        self.__size = rows.__len__

    def __iter__(self) -> Iterator[Any]:
        return self.__each()

    def __getitem__(self, at: Any) -> Any:
        return self.__item(at)

    def __len__(self) -> int:
        return self.__size()


class Guard:
    """Shows the objects of one core to one policy, and finds them again in what it decides."""

    def __init__(self) -> None:
        self.behind = behind
        self._kinds: dict[type, type] = {}
        self._shown: dict[int, Any] = {}
        self._most = _KEPT
        self._instant, self._decisions = -1, 0
        for kind, port in _SHOWN.items():
            self._add(kind, port)

    def _add(self, kind: type, port: type) -> None:
        """Make the facade of `kind`, with the members of `port`."""
        space = {"__slots__": (), "__doc__": port.__doc__, "__repr__": lambda facade: repr(behind(facade))}
        made = type(kind.__name__, (_facades.Facade,), space)
        for name in dir(port):
            if not name.startswith("_"):
                member = getattr(port, name)
                of = self._reads if isinstance(member, property) else self._method
                if kind is PoolView and name in _LIVE:
                    of = self._live
                setattr(made, name, of(name))
        self._kinds[kind] = made

    def _reads(self, name: str) -> Any:
        return _facades.Reads(name, self._shown, self.shown)

    def _live(self, name: str) -> Any:
        return property(lambda facade: LiveRows(getattr(behind(facade), name), self.shown))

    def _method(self, name: str) -> Any:
        shown, real = self.shown, self.real

        def call(facade: Any, *given: Any, **named: Any) -> Any:
            if name in _ABSENT:
                return None
            told = {key: real(one) for key, one in named.items()} if named else named
            found = getattr(behind(facade), name)(*map(real, given), **told)
            return self._each(found) if name in _LISTS else shown(found)

        call.__name__ = name
        return call

    def shown(self, value: Any) -> Any:
        """Return `value` as the policy may see it. Raises TypeError for what the port does not have."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        facade = self._kinds.get(kind)
        if facade is not None:
            if kind not in _LASTING:
                return _facades.make(facade, value)
            known = self._shown.get(id(value))
            if known is None:
                if len(self._shown) > self._most:
                    self._forget()
                known = self._shown[id(value)] = _facades.make(facade, value)
            return known
        if kind is tuple:
            return tuple(self._each(value))
        if isinstance(value, list):
            return Rows(self._each(value))
        return self._other(value)

    def _each(self, values: Iterable[Any]) -> list[Any]:
        """Return each of `values` as the policy may see it."""
        found: list[Any] = _facades.each(values, [], self._shown, self.shown)
        return found

    def _other(self, value: Any) -> Any:
        if isinstance(value, (array, np.ndarray)):
            return value[:] if isinstance(value, array) else value.copy()
        if isinstance(value, Mapping):
            return MappingProxyType({self.shown(key): self.shown(one) for key, one in value.items()})
        if isinstance(value, tuple) or dataclasses.is_dataclass(value) or isinstance(value, CapacityProfile):
            return value  # records of plain values that cannot be changed, or a copy
        if isinstance(value, Iterator):
            return map(self.shown, value)
        if callable(value):
            return lambda *given: self.shown(value(*map(self.real, given)))
        raise TypeError(f"{type(value).__name__} is not in the port")

    def real(self, value: Any) -> Any:
        """Return what is behind `value`, or it as it is: a facade, or a list or tuple of them."""
        kind = type(value)
        if kind in (list, Rows, LiveRows):
            return [self.real(item) for item in value]
        return tuple(map(self.real, value)) if kind is tuple else behind(value)

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

    def _forget(self) -> None:
        """Forget facades that the policy does not hold."""
        held = [(key, ref(facade)) for key, facade in self._shown.items()]
        self._shown.clear()
        for key, known in held:
            if (facade := known()) is not None:
                self._shown[key] = facade
        self._most = max(_KEPT, 2 * len(self._shown))
