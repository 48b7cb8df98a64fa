"""What commands use in place of heavy modules, because a command is over in the time those take to load.

`typing`, `re`, `json`, `socket` and `dataclasses` cost 9 to 19 ms of CPU each, as much as Python's own start, and
`collections` a tenth of what squeue takes to load. So what a command loads imports types only ``if TYPE_CHECKING``, a
name it sets to False itself; type checkers know it, and take what stands here for the real thing.
`tests/layering/test_command_imports.py` says what commands may load.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from dataclasses import dataclass, field
    from typing import NamedTuple, TypeVar

    T = TypeVar("T", bound=Callable[..., object])
else:
    from _collections import _tuplegetter

    def _replace(self, **new):
        """Return a copy with new values of some members."""
        return type(self)(**{**dict(zip(self._fields, self, strict=True)), **new})

    def _members(self):
        return tuple(self)

    def _text(self):
        members = zip(self._fields, self, strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in members)})"

    class _Named(type):
        """Makes a named tuple of a class with annotations, as ``typing.NamedTuple`` does."""

        def __new__(cls, name, bases, space):
            if not bases:
                return type.__new__(cls, name, bases, space)
            fields = tuple(space.pop("__annotations__", ()))
            defaults = {one: space.pop(one) for one in fields if one in space}
            count, new = len(fields), tuple.__new__

            def make(cls, *given, **named):
                if named or len(given) != count:
                    rest = fields[len(given) :]
                    values = {**defaults, **named}
                    if len(given) > count or not values.keys() >= set(rest) or not named.keys() <= set(rest):
                        raise TypeError(f"{name}() takes {', '.join(fields)}, each once")
                    given += tuple(map(values.__getitem__, rest))
                return new(cls, given)

            members = {one: _tuplegetter(at, "") for at, one in enumerate(fields)}
            shared = {"__slots__": (), "__repr__": _text, "__getnewargs__": _members, "_replace": _replace}
            own = {"__new__": make, "_fields": fields, "__match_args__": fields}
            return type(name, (tuple,), {**members, **shared, **own, **space})

    class NamedTuple(metaclass=_Named):
        """A tuple of members with names, and perhaps defaults."""

    class _Made:
        """Return a default that is made anew for each object."""

        def __init__(self, make):
            self.make = make

    def field(*, default_factory):
        """Return a default that is made anew for each object."""
        return _Made(default_factory)

    def dataclass(cls):
        """Give a class with annotations an ``__init__``, ``__eq__`` and ``__repr__``; no options."""
        names = tuple(cls.__annotations__)
        defaults = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
        for name in defaults:
            delattr(cls, name)

        def __init__(self, *given, **named):
            values = dict(zip(names, given, strict=False))
            twice = values.keys() & named
            values = {**defaults, **values, **named}
            if len(given) > len(names) or twice or values.keys() != set(names):
                raise TypeError(f"{cls.__name__}() takes {', '.join(names)}, each once")
            for name in names:
                value = values[name]
                self.__dict__[name] = value.make() if isinstance(value, _Made) else value

        def __eq__(self, other):
            return self.__dict__ == other.__dict__ if type(other) is cls else NotImplemented

        def __repr__(self):
            return f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

        cls.__init__, cls.__eq__, cls.__repr__, cls.__hash__ = __init__, __eq__, __repr__, None
        return cls


class _Lazy:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> object:
        import re

        compiled = re.compile(self._text)
        for method in ("match", "fullmatch", "search", "sub", "split", "findall", "finditer"):
            self.__dict__[method] = getattr(compiled, method)
        return getattr(compiled, name)


def pattern(text: str) -> re.Pattern[str]:
    """Return a regular expression, flags inside (``(?a)\\d+``); loading it costs nothing."""
    return _Lazy(text)  # type: ignore[return-value]


def remembered(make: T) -> T:
    """Return a function that remembers up to 4,096 of its answers, as ``functools.lru_cache`` does."""
    known: dict[tuple[object, ...], object] = {}

    def ask(*given: object) -> object:
        if given not in known:
            if len(known) >= 4096:
                known.clear()
            known[given] = make(*given)
        return known[given]

    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(ask, name, getattr(make, name))
    return ask  # type: ignore[return-value]


__all__ = ["NamedTuple", "dataclass", "field", "pattern", "remembered"]
