"""What commands load in place of heavy modules, because a command is over in the time those take to load.

`typing`, `re`, `json`, `socket`, `enum` and `dataclasses` cost 9 to 19 ms of CPU each, as much as Python itself. So
what a command imports, imports types only ``if TYPE_CHECKING``, a name it sets itself to False; type checkers know it.
`tests/layering/test_light.py` says what commands may load.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple

    class _Named(type):
        """Makes a class with annotations a named tuple, as ``typing.NamedTuple`` does."""

        def __new__(cls, name, bases, space):
            if not bases:
                return type.__new__(cls, name, bases, space)
            fields = space.pop("__annotations__", {})
            defaults = [space.pop(field) for field in fields if field in space]
            made = namedtuple(name, fields, defaults=defaults, module=space["__module__"])
            return type(name, (made,), {"__slots__": (), **space})

    class NamedTuple(metaclass=_Named):
        """A tuple whose members have names."""


__all__ = ["NamedTuple"]
