"""Data classes of the standard library, with methods that are written when they are first called.

`dataclasses` writes and compiles four to seven methods of each class when its module is loaded. A run loads 204 data
classes and makes instances of half of them; that took 100 of the 500 ms of CPU a run of one job needs, 12 ms here.
What stands here is otherwise the real thing: `dataclasses.fields`, `replace`, `asdict` and pickling know it.

Not here: `order`, ``unsafe_hash`` and `InitVar`. A class that mypyc compiled, or that extends a frozen data class, is
left to the standard library.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError, asdict, field, fields, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
    from typing import Any
else:

    def dataclass(cls=None, /, *, init=True, eq=True, frozen=False, slots=False, kw_only=False):
        """Give a class with annotations its methods, as ``dataclasses.dataclass`` does."""

        def make(cls):
            whole = "__mypyc_attrs__" in cls.__dict__ or any(_is_frozen(base) for base in cls.__mro__[1:])
            if whole:
                return dataclasses.dataclass(cls, init=init, eq=eq, frozen=frozen, slots=slots, kw_only=kw_only)
            return _late(cls, init, eq, frozen, slots, kw_only)

        return make if cls is None else make(cls)


class _Made:
    """The default of a parameter that a factory makes the value of."""


_MADE = _Made()


def _is_frozen(cls: type) -> bool:
    own = cls.__dict__.get("__dataclass_params__")
    return own is not None and own.frozen


def _late(cls: type, init: bool, eq: bool, frozen: bool, slots: bool, kw_only: bool) -> type:
    """Let the standard library find the fields and make the slots; add methods that write themselves."""
    own = set(cls.__dict__)
    if not cls.__doc__:
        cls.__doc__ = f"The data class {cls.__name__}."  # else the standard library works out a signature
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    params = made.__dataclass_params__
    params.init, params.repr, params.eq, params.frozen = init, True, eq, frozen
    if init and "__init__" not in own:
        _write_later(made, "__init__", lambda: _written_init(made, frozen, slots))
    if "__repr__" not in own:
        made.__repr__ = _repr
    if eq and "__eq__" not in own:
        _write_later(made, "__eq__", lambda: _written_eq(made))
    if eq and ("__hash__" not in own or (made.__dict__["__hash__"] is None and "__eq__" in own)):
        if frozen:
            _write_later(made, "__hash__", lambda: _written_hash(made))
        else:
            made.__hash__ = None
    if frozen:
        _freeze(made, own, slots)
    return made  # type: ignore[no-any-return]


def _write_later(cls: Any, name: str, write: Callable[[], Any]) -> None:
    """Put a method into `cls` that replaces itself by what `write` returns when it is called."""

    def first(self: Any, *given: Any, **named: Any) -> Any:
        method = write()
        _name(method, cls, name)
        setattr(cls, name, method)
        return method(self, *given, **named)

    _name(first, cls, name)
    setattr(cls, name, first)


def _name(method: Any, cls: Any, name: str) -> None:
    method.__name__, method.__qualname__, method.__module__ = name, f"{cls.__qualname__}.{name}", cls.__module__


def _compiled(text: str, names: dict[str, Any]) -> Any:
    exec(text, names)  # a text of names of fields, as the standard library makes it
    return names["method"]


def _written_init(cls: Any, frozen: bool, slots: bool) -> Any:
    """Return the constructor: a parameter a field, those with `kw_only` last."""
    names: dict[str, Any] = {"_made": _MADE, "_set": object.__setattr__}
    placed: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for one in fields(cls):
        parameter, value = _of_field(one, names, slots)
        if parameter:
            (named if one.kw_only else placed).append(parameter)
        if value:
            lines.append(f"_set(self, {one.name!r}, {value})" if frozen else f"self.{one.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *placed, *(["*", *named] if named else [])])
    return _compiled(f"def method({parameters}):\n " + "\n ".join(lines or ["pass"]), names)


def _of_field(one: Field[Any], names: dict[str, Any], slots: bool) -> tuple[str, str]:
    """Return the parameter of a field and the value the constructor gives it, either empty for none."""
    name = one.name
    if one.default_factory is not MISSING:
        names[f"_make_{name}"] = one.default_factory
        made = f"_make_{name}()"
        return (f"{name}=_made", f"{made} if {name} is _made else {name}") if one.init else ("", made)
    if one.default is MISSING:
        return (name, name) if one.init else ("", "")
    names[f"_default_{name}"] = one.default
    if one.init:
        return f"{name}=_default_{name}", name
    return "", f"_default_{name}" if slots else ""  # without slots it is the attribute of the class


def _members(cls: Any, of: Callable[[Field[Any]], Any], who: str) -> str:
    return "(" + "".join(f"{who}.{one.name}, " for one in fields(cls) if of(one)) + ")"


def _written_eq(cls: Any) -> Any:
    mine, its = (_members(cls, lambda one: one.compare, who) for who in ("self", "other"))
    lines = f" if other.__class__ is self.__class__:\n  return {mine} == {its}\n return NotImplemented"
    return _compiled(f"def method(self, other):\n{lines}", {})


def _written_hash(cls: Any) -> Any:
    members = _members(cls, lambda one: one.compare if one.hash is None else one.hash, "self")
    return _compiled(f"def method(self):\n return hash({members})", {})


def _repr(self: Any) -> str:
    """Return the class and the fields, as the standard library does; `...` where a value contains itself."""
    if id(self) in _SHOWING:
        return "..."
    _SHOWING.add(id(self))
    try:
        shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    finally:
        _SHOWING.discard(id(self))
    return f"{self.__class__.__qualname__}({shown})"


_SHOWING: set[int] = set()


def _freeze(cls: Any, own: set[str], slots: bool) -> None:
    """Let nothing be assigned to or deleted from instances but by their constructor and by pickling."""
    names = frozenset(one.name for one in fields(cls))

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__
    if slots:
        if "__getstate__" not in own:
            cls.__getstate__ = _state
        if "__setstate__" not in own:
            cls.__setstate__ = _set_state


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=False):
        object.__setattr__(self, one.name, value)


__all__ = ["asdict", "dataclass", "field", "fields", "replace"]
