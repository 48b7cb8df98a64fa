"""Copies of a controller and of what belongs to it, to try a pass on or to come back to.

By way of pickle, as `copy.deepcopy` leaves methods of compiled objects bound to the original.
"""

import io
import pickle
from functools import cache
from types import BuiltinMethodType, MethodType
from typing import Any, Generic, TypeVar

from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.value import Value
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.node import NodeSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission

Beside = TypeVar("Beside")

_FROZEN = (Value, ResourceRequest, Submission, NodeSpec, PartitionSpec)
"""Shared by copies. A submission changes before it is told or by a live request, and none of these meets a copy."""
_NAMED_OR_BOUND = (type, MethodType, BuiltinMethodType)  # callable, and left to pickle
_shared: list[Any] = []  # what the copy being read shares with its original


class Original(Generic[Beside]):
    """A controller and the objects `beside` it as they are now, written once for any number of copies.

    Copies share functions, frozen values and the configuration.
    """

    def __init__(self, c: Controller, beside: Beside) -> None:
        stream = io.BytesIO()
        writer = _Writer(stream, c.state.spec)
        writer.dump((c, beside))
        self._written, self._shared = stream.getbuffer(), writer.shared

    def copy(self) -> tuple[Controller, Beside]:
        """Return a copy of both, in which they know each other and not the originals."""
        _shared[:] = self._shared
        try:
            found: tuple[Controller, Beside] = pickle.loads(self._written)
        finally:
            _shared.clear()
        c, _ = found
        c.state.selector.forget_future()  # remembers requests by identity
        if c.accounting.limits is not None:
            c.accounting.limits.counters.renew_claims()
        return found


def _take(index: int) -> Any:
    return _shared[index]


class _Writer(pickle.Pickler):
    """Puts what copies share into a list, and its index into the stream.

    By `reducer_override` and not `persistent_id`, which is asked about every number and string, most of a controller.
    """

    def __init__(self, stream: io.BytesIO, cluster: ClusterSpec) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self._cluster = cluster
        self.shared: list[Any] = []

    def reducer_override(self, obj: Any) -> Any:
        shared = _of_shared_kind(obj.__class__) or obj is self._cluster
        if not shared or obj is _take:
            return NotImplemented
        self.shared.append(obj)
        return _take, (len(self.shared) - 1,)


@cache
def _of_shared_kind(kind: type[object]) -> bool:
    """Return True if copies share all objects of `kind`: frozen values, and functions."""
    called = any("__call__" in base.__dict__ for base in kind.__mro__) and not issubclass(kind, _NAMED_OR_BOUND)
    return issubclass(kind, _FROZEN) or called
