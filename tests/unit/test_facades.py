"""The kernel of facades, in both forms: what is behind one is found by the kernel alone, and sequences are complete."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel_forms import AVAILABLE, FORMS, kernel


class Thing:
    """What is shown."""

    def __init__(self, size: int) -> None:
        self.size, self.hidden = size, object()
        self.parts: list[Thing] = []


class Shown:
    """Facades of things that read `size`, `self` and `parts`."""

    def __init__(self, form: str) -> None:
        self.kernel = kernel("facades", form)
        self.known: dict[int, Any] = {}
        self.kind = type("Thing", (self.kernel.Facade,), {"__slots__": ()})
        for name in ("size", "parts"):
            setattr(self.kind, name, self.kernel.Reads(name, self.known, self.of))

    def of(self, thing: Thing) -> Any:
        return self.known.setdefault(id(thing), self.kernel.make(self.kind, thing))


@FORMS
def test_members_are_read_and_nothing_else(form: str) -> None:
    shown = Shown(form)
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
    facade = Shown(form).of(Thing(3))
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
        shown = Shown(form)
        things = [Thing(k) for k in range(12)]
        whole = Thing(-1)
        facade = shown.of(whole)
        for members in rounds:
            whole.parts = [things[k] for k in members]
            rows = facade.parts
            assert [row.size for row in rows] == members
            assert all(row is shown.of(things[k]) for row, k in zip(rows, members, strict=True))
