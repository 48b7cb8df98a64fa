"""The kernel of facades, in both forms: what is behind one is found by the kernel alone, and sequences are complete."""

from __future__ import annotations

import copy
import threading
from typing import Any
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel_forms import AVAILABLE, FORMS, kernel


class Thing:
    """What is shown."""

    def __init__(self, size: int) -> None:
        self.size, self.hidden = size, object()
        self.parts: list[Thing] = []

    def double(self, other: Any = None, *, also: Any = None) -> Any:
        assert all(one is None or type(one) in (Thing, list, tuple) for one in (other, also))
        return (2 * self.size, self, other, also)

    def all(self) -> list[Thing]:
        return self.parts


class Things:
    """Facades of things that read `size` and `parts`, call `double` and `all`, and have `parts` as it is in `live`."""

    def __init__(self, form: str) -> None:
        self.kernel = kernel("facades", form)
        self.by = self.kernel.Shown(self.refuse, 4096)
        kind = type("Thing", (self.kernel.Facade,), {"__slots__": ()})
        for name in ("size", "parts"):
            setattr(kind, name, self.kernel.Reads(name, self.by))
        kind.double = self.kernel.Calls("double", self.by, False)
        kind.all = self.kernel.Calls("all", self.by, True)
        kind.live = self.kernel.Lives("parts", self.by)
        self.by.kinds[Thing] = kind
        self.by.lasting.add(Thing)

    def of(self, thing: Thing) -> Any:
        return self.by.shown(thing)

    @staticmethod
    def refuse(value: Any) -> Any:
        raise TypeError(f"{type(value).__name__} is not in the port")


@FORMS
def test_members_are_read_and_nothing_else(form: str) -> None:
    shown = Things(form)
    thing = Thing(3)
    facade = shown.of(thing)
    assert facade.size == 3
    assert shown.kernel.behind(facade) is thing
    assert shown.kernel.behind(thing) is thing
    assert not hasattr(facade, "hidden")
    reached = [getattr(facade, name) for name in dir(facade)]
    assert not any(one is thing or one is thing.hidden for one in reached)


@FORMS
def test_nothing_is_written_taken_away_or_copied(form: str) -> None:
    facade = Things(form).of(Thing(3))
    for refused in (
        lambda: setattr(facade, "size", 4),
        lambda: setattr(facade, "other", 4),
        lambda: delattr(facade, "size"),
    ):
        with pytest.raises(AttributeError, match="of a Thing is read only"):
            refused()
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.copy(facade)
    with pytest.raises(TypeError, match="read only"):
        facade.parts.append(facade)
    assert facade.size == 3


@given(rounds=st.lists(st.lists(st.integers(0, 11), unique=True), max_size=8))
def test_a_sequence_has_the_facade_of_each_thing_whatever_it_had_before(rounds: list[list[int]]) -> None:
    for form in AVAILABLE:
        shown = Things(form)
        things = [Thing(k) for k in range(12)]
        whole = Thing(-1)
        facade = shown.of(whole)
        for members in rounds:
            whole.parts = [things[k] for k in members]
            rows = facade.parts
            assert [row.size for row in rows] == members
            assert all(row is shown.of(things[k]) for row, k in zip(rows, members, strict=True))


@FORMS
def test_methods_are_given_what_is_behind_and_their_answer_is_shown(form: str) -> None:
    shown = Things(form)
    one, other = Thing(1), Thing(2)
    one.parts = [other]
    facade, second = shown.of(one), shown.of(other)
    assert facade.double(second, also=[second]) == (2, facade, second, [second])
    assert type(facade.all()) is list and facade.all() == [second]
    facade.all().clear()
    assert one.parts == [other]
    with pytest.raises(TypeError, match="Event is not in the port"):
        shown.by.shown(threading.Event())
    reached = [getattr(facade.double, name, None) for name in dir(facade.double)]
    assert not any(value is one or value is other for value in reached)


@FORMS
def test_a_living_list_follows_and_is_not_written(form: str) -> None:
    shown = Things(form)
    whole, part = Thing(0), Thing(1)
    live = shown.of(whole).live
    assert len(live) == 0 and not live and list(live) == []
    whole.parts = [part, whole]
    first, second = shown.of(part), shown.of(whole)
    assert len(live) == 2 and live[0] is first and live[-1] is second and live[:1] == [first]
    assert list(live) == [first, second] == list(reversed(live))[::-1]
    assert second in live and live.index(second) == 1 and live.count(first) == 1
    with pytest.raises(TypeError):
        live[0] = first
    with pytest.raises(IndexError):
        live[2]
    assert shown.by.real(live) == [part, whole]


@FORMS
def test_facades_that_nothing_holds_are_forgotten(form: str) -> None:
    shown = Things(form)
    shown.by = shown.kernel.Shown(shown.refuse, 10)
    shown.by.kinds[Thing] = type("Thing", (shown.kernel.Facade,), {"__slots__": ()})
    shown.by.lasting.add(Thing)
    held = [(thing, shown.of(thing)) for thing in map(Thing, range(5))]
    gone = ref(shown.of(Thing(-1)))
    for k in range(100):
        shown.of(Thing(k))
    assert gone() is None
    assert all(shown.of(thing) is facade for thing, facade in held)
