"""Data classes that write their methods late are those of the standard library in all that can be asked of them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from slurmsim import data_classes

OPTIONS = (
    {}, {"slots": True}, {"frozen": True}, {"frozen": True, "slots": True}, {"eq": False}, {"kw_only": True},
    {"frozen": True, "eq": False, "slots": True},
)  # fmt: skip
Make = Callable[..., Any]


def _make(dataclass: Make, options: dict[str, bool]) -> Any:
    @dataclass(**options)
    class One:
        a: int
        b: str = "b"
        c: list[int] = dataclasses.field(default_factory=list)
        d: int = dataclasses.field(default=4, compare=False, repr=False)
        e: int = dataclasses.field(default=5, kw_only=True)
        f: int = dataclasses.field(default=6, init=False)
        g: list[int] = dataclasses.field(default_factory=lambda: [7], init=False)

    return One


def _said(act: Callable[[], object]) -> object:
    """Return what `act` returns, or the kind and the text of its error."""
    try:
        return act()
    except Exception as error:
        return type(error).__name__, str(error)


def _assign(one: Any) -> object:
    one.a = 9
    return one.a


def _delete(one: Any) -> object:
    del one.a
    return hasattr(one, "a")


ASKED: dict[str, Callable[[Any], object]] = {
    "made": lambda cls: [(one.a, one.b, one.c, one.d, one.e, one.f, one.g) for one in [cls(a=1), cls(a=2, c=[3], e=8)]],
    "placed": lambda cls: cls(1, "x", [1], 2, e=3).e,
    "none": lambda cls: cls(),
    "unknown": lambda cls: cls(a=1, z=2),
    "too many": lambda cls: cls(1, "x", [1], 2, 3, 4),
    "shown": lambda cls: repr(cls(a=1)),
    "equal": lambda cls: (cls(a=1) == cls(a=1, d=5), cls(a=1) == cls(a=2), cls(a=1) == 1),
    "hash": lambda cls: hash(cls(a=1, c=())) == hash((1, "b", (), 5, 6, (7,))),
    "hash of a list": lambda cls: type(cls(a=1).__hash__()) if cls.__hash__ is not object.__hash__ else "object's",
    "assigned": lambda cls: _assign(cls(a=1)),
    "deleted": lambda cls: _delete(cls(a=1)),
    "dict": lambda cls: dataclasses.asdict(cls(a=1)),
    "replaced": lambda cls: dataclasses.asdict(dataclasses.replace(cls(a=1), a=2)),
    "copied": lambda cls: dataclasses.asdict(copy.deepcopy(cls(a=1))),
    "fields": lambda cls: [(one.name, one.init, one.kw_only) for one in dataclasses.fields(cls)],
    "matched": lambda cls: cls.__match_args__,
    "slots": lambda cls: getattr(cls, "__slots__", None),
    "own methods": lambda cls: sorted(
        name for name in ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__")
        if name in cls.__dict__
    ),
    "parameters": lambda cls: [
        getattr(cls.__dataclass_params__, name) for name in ("init", "repr", "eq", "order", "frozen")
    ],
}  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("asked", ASKED)
def test_as_the_standard_library(asked: str, options: dict[str, bool]) -> None:
    ours, theirs = (_make(make, options) for make in (data_classes.dataclass, dataclasses.dataclass))
    expected = _said(lambda: ASKED[asked](theirs))
    assert _said(lambda: ASKED[asked](ours)) == expected
    assert _said(lambda: ASKED[asked](ours)) == expected  # with the methods that are written by now


@data_classes.dataclass(frozen=True, slots=True)
class Sent:
    """A value that goes to another process."""

    a: int
    b: tuple[int, ...] = ()


def test_a_value_is_pickled_and_hashed() -> None:
    one = Sent(1, (2,))
    again = pickle.loads(pickle.dumps(one))
    assert again == one and hash(again) == hash(one) and {one: 3}[again] == 3
    assert Sent.__doc__ == "A value that goes to another process."


def test_own_methods_stay_and_post_init_runs() -> None:
    @data_classes.dataclass
    class Own:
        a: int
        b: int = 2

        def __post_init__(self) -> None:
            self.b = self.a + 1

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    assert (repr(Own(1)), Own(1) == 3, Own(1).b) == ("own", True, 2)
    assert Own.__hash__ is None


def test_a_class_may_extend_another() -> None:
    @data_classes.dataclass(frozen=True)
    class Base:
        a: int

    @data_classes.dataclass(frozen=True)
    class More(Base):
        b: int = 1

    assert More(1) == More(1, 1) and More(1) != Base(1) and hash(More(2)) == hash(More(2, 1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        More(1).a = 2  # type: ignore[misc]

    @data_classes.dataclass
    class Open:
        a: int

    class Child(Open):
        """Not a data class itself."""

    @data_classes.dataclass
    class Grandchild(Child):
        b: int = 2

    assert (Child(1).a, Grandchild(1).b, repr(Grandchild(1, 3)).endswith("Grandchild(a=1, b=3)")) == (1, 2, True)
    assert Child(1) == Child(1) and Child(1) != Open(1)


def test_a_value_in_itself_is_shown_once() -> None:
    one, other = _make(data_classes.dataclass, {})(a=1), _make(dataclasses.dataclass, {})(a=1)
    one.c.append(one)
    other.c.append(other)
    assert repr(one) == repr(other)
