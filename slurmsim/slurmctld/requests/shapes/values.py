"""Shapes of arguments: what a value in a request may be, checked before its first use.

A shape is a small value that says yes or raises `Malformed`; the table of all requests is in `shapes.requests`.
Python's `bool` is no number here, and texts are what a C string can be: no NUL, and no half of a character.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from slurmsim.data_classes import dataclass, field

LINE = 128 << 10  # characters of one text: Linux lets no argument and no variable be longer


class Malformed(ValueError):
    """A value in a request is not what it has to be; `where` names it, `expected` says what would be right."""

    def __init__(self, where: str, expected: str) -> None:
        super().__init__(f"{where}: expected {expected}")
        self.where, self.expected = where, expected


class Shape(Protocol):
    """What a value has to be."""

    def check(self, value: Any, where: str) -> None:
        """Raise Malformed for a value that does not have this shape."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of at most `most` characters, and at least `least`."""

    most: int = LINE
    least: int = 0

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, str) or not self.least <= len(value) <= self.most:
            raise Malformed(where, f"a text of {self.least} to {self.most} characters")
        if "\0" in value or not (value.isascii() or _is_whole(value)):
            raise Malformed(where, "a text without NUL and half characters")


def _is_whole(text: str) -> bool:
    """Return True if every character can be sent: bytes that were no UTF-8 can (PEP 383), other surrogates cannot."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words."""

    words: tuple[str, ...]

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, str) or value not in self.words:
            raise Malformed(where, f"one of {', '.join(self.words)}")


@dataclass(frozen=True, slots=True)
class Absent:
    """What the daemon notes itself, and no request may say."""

    def check(self, value: Any, where: str) -> None:
        raise Malformed(where, "nothing: the daemon says it")


@dataclass(frozen=True, slots=True)
class Digits:
    """A number that is sent as a text, of at most `most` digits; it may be empty."""

    most: int = 10

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, str) or len(value) > self.most or not (value.isascii() and f"0{value}".isdigit()):
            raise Malformed(where, f"at most {self.most} digits")


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `low` to `high`."""

    low: int
    high: int

    def check(self, value: Any, where: str) -> None:
        if type(value) is not int or not self.low <= value <= self.high:
            raise Malformed(where, f"a whole number from {self.low} to {self.high}")


@dataclass(frozen=True, slots=True)
class Real:
    """A number from `low` to `high`, whole or not."""

    low: float
    high: float

    def check(self, value: Any, where: str) -> None:
        if type(value) not in (int, float) or not self.low <= value <= self.high:  # NaN is neither
            raise Malformed(where, f"a number from {self.low:g} to {self.high:g}")


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, bool):
            raise Malformed(where, "true or false")


@dataclass(frozen=True, slots=True)
class AnyObject:
    """An object that is looked at later."""

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise Malformed(where, "an object")


@dataclass(frozen=True, slots=True)
class Either:
    """A value of one of some shapes."""

    shapes: tuple[Shape, ...]

    def check(self, value: Any, where: str) -> None:
        wanted = []
        for shape in self.shapes:
            try:
                return shape.check(value, where)
            except Malformed as error:
                wanted.append(error.expected)
        raise Malformed(where, " or ".join(wanted))


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of at most `most` values of one shape, and at least `least`."""

    shape: Shape
    most: int
    least: int = 0

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise Malformed(where, f"a list of {self.least} to {self.most}")
        for k, one in enumerate(value):
            self.shape.check(one, f"{where}[{k}]")


@dataclass(frozen=True, slots=True)
class Row:
    """A list with a shape for each place; None may stand for a value of the places in `empty`."""

    shapes: tuple[Shape, ...]
    empty: frozenset[int] = frozenset()

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) != len(self.shapes):
            raise Malformed(where, f"a list of {len(self.shapes)}")
        for k, (shape, one) in enumerate(zip(self.shapes, value, strict=True)):
            if one is not None or k not in self.empty:
                shape.check(one, f"{where}[{k}]")


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with a shape for each field."""

    # the shape of each field. None says as much as its absence, but for those that are `needed`.
    known: Mapping[str, Shape] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()  # fields that must be there
    others: Shape | None = None  # the shape of all other fields, at most `most`; without it there may be no others
    most: int = 512

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, dict) or len(value) > self.most + len(self.known):
            raise Malformed(where, "an object")
        for name in self.needed:
            if value.get(name) is None:
                raise Malformed(_below(where, name), "a value")
        if not self.known and type(self.others) is Text and _are_plain(value, self.others):
            return
        for name, one in value.items():
            shape = self.known.get(name, self.others)
            if shape is None:
                raise Malformed(_below(where, name), "no such field")
            if one is not None:
                if shape is self.others:
                    _NAME.check(name, _below(where, "a name"))
                shape.check(one, _below(where, name))


def _are_plain(value: dict[str, Any], shape: Text) -> bool:
    """Return True if all names and values are ASCII texts that fit: a quick test of half of a request."""
    try:
        names, texts = "".join(value), "".join(value.values())
    except TypeError:
        return False
    return (
        names.isascii() and texts.isascii() and "\0" not in names and "\0" not in texts and not shape.least
        and len(names) <= _NAME.most and len(max(value.values(), key=len, default="")) <= shape.most
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tagged:
    """An object with one field, a word, that decides which other fields it has."""

    tag: str
    kinds: Mapping[str, Fields]

    def check(self, value: Any, where: str) -> None:
        word = value.get(self.tag) if isinstance(value, dict) else None
        OneOf(tuple(self.kinds)).check(word, _below(where, self.tag))
        self.kinds[str(word)].check({name: one for name, one in value.items() if name != self.tag}, where)


_NAME = Text()


def _below(where: str, name: str) -> str:
    return f"{where}.{name[:60]!r}"[:200] if where else repr(name[:60])
