"""What commands use in place of heavy modules, because a command is over in the time those take to load.

`typing`, `re`, `json`, `socket` and `dataclasses` cost 9 to 19 ms of CPU each, as much as Python's own start. So what a
command loads imports types only ``if TYPE_CHECKING``, a name it sets to False itself; type checkers know it, and take
what stands here for the real thing. `tests/layering/test_command_imports.py` says what commands may load.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from dataclasses import dataclass, field
    from typing import NamedTuple
else:
    from collections import namedtuple

    class _Named(type):
        """Makes a named tuple of a class with annotations, as ``typing.NamedTuple`` does."""

        def __new__(cls, name, bases, space):
            if not bases:
                return type.__new__(cls, name, bases, space)
            fields = space.pop("__annotations__", {})
            defaults = [space.pop(one) for one in fields if one in space]
            made = namedtuple(name, fields, defaults=defaults, module=space["__module__"])
            return type(name, (made,), {"__slots__": (), **space})

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


__all__ = ["NamedTuple", "dataclass", "field", "pattern"]
