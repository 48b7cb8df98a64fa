"""Facades: what a policy from outside holds in place of an object of the core, read member by member.

Which members, and what is shown of what they hold, `slurmsim.core.scheduling.read_only` says. A facade has no attribute
that leads to what is behind it: `behind` finds it, here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from weakref import ref


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


class Shown:
    """What one policy is shown: values as they are, and objects of the core as facades, one for each that lasts."""

    __slots__ = ("_known", "_most", "_other", "kinds", "lasting")

    def __init__(self, other: Callable[[Any], Any], most: int) -> None:
        self.kinds: dict[type, type] = {}  # the facade of each class
        self.lasting: set[type] = set()  # classes with one facade for each object
        self._known: dict[int, Any] = {}
        self._most = most  # facades remembered before those that the policy does not hold are forgotten
        self._other = other  # shows what is none of all that

    def shown(self, value: Any) -> Any:
        """Return `value` as the policy may see it. Raises TypeError for what the port does not have."""
        of = type(value)
        if value is None or of is int or of is str or of is bool or of is float:
            return value
        known = self._known.get(id(value))  # it is that object, as its facade keeps it alive
        if known is not None:
            return known
        kind = self.kinds.get(of)
        if kind is not None:
            facade = make(kind, value)
            if of in self.lasting:
                if len(self._known) > self._most:
                    self._forget()
                self._known[id(value)] = facade
            return facade
        if of is tuple:
            return tuple([self.shown(one) for one in value])
        if isinstance(value, list):
            return Rows(self.each(value, []))
        if callable(value) and not isinstance(value, type):
            return Call(make(Facade, value), None, self)
        return self._other(value)

    def each(self, values: Any, last: list[Any]) -> list[Any]:
        """Return each of `values` as the policy may see it.

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
                rows.append(self.shown(value))
        return rows

    def real(self, value: Any) -> Any:
        """Return what is behind `value`, or it as it is: a facade, or a list or tuple of them."""
        if isinstance(value, (list, LiveRows)):
            return [self.real(one) for one in value]
        return tuple([self.real(one) for one in value]) if type(value) is tuple else behind(value)

    def _forget(self) -> None:
        """Forget facades that the policy does not hold."""
        held = [(key, ref(facade)) for key, facade in self._known.items()]
        self._known.clear()
        for key, known in held:
            if (facade := known()) is not None:
                self._known[key] = facade
        self._most = max(self._most, 2 * len(self._known))


class Reads:
    """A member that is read."""

    __slots__ = ("_by", "_last", "_name")

    def __init__(self, name: str, by: Shown) -> None:
        self._name, self._by = name, by
        self._last: list[Any] = []  # what the last sequence had

    def __get__(self, facade: Any, kind: Any) -> Any:
        if facade is None:
            return self
        value = getattr(_of(facade), self._name)
        if type(value) is list:
            self._last = self._by.each(value, self._last)
            return Rows(self._last)
        return self._by.shown(value)


class Calls:
    """A method: what it is given is looked behind, and what it returns is shown; as a plain list if it is `rows`."""

    __slots__ = ("_by", "_name", "_rows")

    def __init__(self, name: str, by: Shown, rows: bool) -> None:
        self._name, self._by, self._rows = name, by, rows

    def __get__(self, facade: Any, kind: Any) -> Any:
        return self if facade is None else Call(facade, self, self._by)


class Call:
    """A method of the object behind a facade, or the function behind it."""

    __slots__ = ("_by", "_facade", "_member")

    def __init__(self, facade: Any, member: Calls | None, by: Shown) -> None:
        self._facade, self._member, self._by = facade, member, by

    def __call__(self, *given: Any, **named: Any) -> Any:
        by, member, found = self._by, self._member, _of(self._facade)
        if member is not None:
            found = getattr(found, member._name)
        told = [by.real(one) for one in given]
        found = found(*told, **{key: by.real(one) for key, one in named.items()}) if named else found(*told)
        return by.each(found, []) if member is not None and member._rows else by.shown(found)


class Lives:
    """A member that is a list of the core, shown as it is whenever it is read."""

    __slots__ = ("_by", "_name")

    def __init__(self, name: str, by: Shown) -> None:
        self._name, self._by = name, by

    def __get__(self, facade: Any, kind: Any) -> Any:
        return self if facade is None else LiveRows(facade, self._name, self._by)


class LiveRows:
    """A list of the core, shown row by row as it is when it is read."""

    __slots__ = ("_by", "_facade", "_name")

    def __init__(self, facade: Any, name: str, by: Shown) -> None:
        self._facade, self._name, self._by = facade, name, by

    def __iter__(self) -> Iterator[Any]:
        return map(self._by.shown, getattr(_of(self._facade), self._name))

    def __getitem__(self, at: Any) -> Any:
        return self._by.shown(getattr(_of(self._facade), self._name)[at])

    def __len__(self) -> int:
        return len(getattr(_of(self._facade), self._name))

    def index(self, *given: Any) -> int:
        """Return the place of a row, as a list does."""
        return list(self).index(*given)

    def count(self, row: Any) -> int:
        """Return 1 for a row that is here, else 0."""
        return list(self).count(row)
