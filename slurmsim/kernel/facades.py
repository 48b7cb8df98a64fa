"""Facades: what a policy from outside holds in place of an object of the core, read member by member.

Which members, and what is shown of what they hold, `slurmsim.core.scheduling.read_only` says. A facade has no attribute
that leads to what is behind it: `behind` finds it, here alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class Facade:
    """Base of all facades."""

    __slots__ = ("__weakref__", "_real")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name} of a {type(self).__name__} is read only (expected a decision that is yielded)")

    def __delattr__(self, name: str) -> NoReturn:
        self.__setattr__(name, None)

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} of the view cannot be copied or kept in a file (expected its id)")


def _of(facade: Any) -> Any:
    """Return the object that `facade` shows."""
    return facade._real


def _put(facade: Any, real: Any) -> None:
    """Set the object that `facade` shows."""
    facade._real = real


if hasattr(Facade, "_real"):  # in Python: from here on only the two functions find it
    _place: Any = Facade._real
    del Facade._real
    globals().update(_of=_place.__get__, _put=_place.__set__)


def behind(value: Any) -> Any:
    """Return the object that `value` shows if it is a facade, else `value` itself."""
    return _of(value) if isinstance(value, Facade) else value


def make(kind: type, real: Any) -> Any:
    """Return a facade of the class `kind` that shows `real`."""
    facade: Any = Facade.__new__(kind)
    _put(facade, real)
    return facade


class Rows(list[Any]):
    """A sequence that the policy may read, and copy with `sorted` or `list`."""

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this sequence of the view is read only (expected a copy: sorted(...) or list(...))")

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse


class Reads:
    """A member that is read: a plain value as it is, all else as `shown` shows it, once for each that is `known`."""

    __slots__ = ("_known", "_last", "_name", "_shown")

    def __init__(self, name: str, known: dict[int, Any], shown: Callable[[Any], Any]) -> None:
        self._name, self._known, self._shown = name, known, shown
        self._last: list[Any] = []  # what the last sequence had

    def __get__(self, facade: Any, kind: Any) -> Any:
        if facade is None:
            return self
        value = getattr(_of(facade), self._name)
        of = type(value)
        if value is None or of is int or of is str or of is bool or of is float:
            return value
        if of is list:
            self._last = each(value, self._last, self._known, self._shown)
            return Rows(self._last)
        found = self._known.get(id(value))
        return self._shown(value) if found is None else found


def each(values: Any, last: list[Any], known: dict[int, Any], shown: Callable[[Any], Any]) -> list[Any]:
    """Return what is shown of each of `values`: what is `known` by its id, else what `shown` returns.

    `last` is what this function returned of a like sequence: most have the same order, and few are new or gone.
    """
    rows = []
    at, size = 0, len(last)
    for value in values:
        if at + 1 < size and behind(last[at]) is not value and behind(last[at + 1]) is value:
            at += 1
        if at < size and behind(last[at]) is value:
            rows.append(last[at])
            at += 1
        else:
            found = known.get(id(value))
            rows.append(shown(value) if found is None else found)
    return rows
