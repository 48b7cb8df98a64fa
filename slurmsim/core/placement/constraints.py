"""``--constraint``: feature names joined by ``&``, ``|``, parentheses, counts and one pair of brackets.

Mirrors build_feature_list and _valid_feature_list (job_scheduler.c, 22.05). Three forms ask for different things:
``a&(b|c)`` is a test every node must pass; ``a*2`` and ``[a*1&b*2]`` name how many nodes of each kind there must be
among the job's; ``[a|b]`` wants all nodes from one of the kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass
from slurmsim.errors import SubmitError
from slurmsim.numerals import is_number

BAD: Final = "Invalid feature specification"
Test = Callable[[frozenset[str]], bool]
_TOKEN: Final = re.compile(r"\s*([&|()\[\]*]|[^&|()\[\]*\s]+)")


@dataclass(frozen=True, slots=True)
class Constraint(Value):
    """What a constraint asks of the nodes."""

    test: Test  # every node must pass it
    # tests of ``[a|b|…]``: all nodes must pass the same one of them. Empty when there are no alternatives.
    kinds: tuple[Test, ...] = ()
    # (test, n) of ``a*2`` and ``[a*1&b*2]``: at least n nodes that pass, in the order written
    counts: tuple[tuple[Test, int], ...] = ()
    apart: bool = False  # whether a node counts for one of `counts` only (inside brackets)


def parse_constraint(text: str, known: frozenset[str]) -> Constraint:
    """Return the meaning of `text`; all names must be among `known`. ``&`` binds tighter than ``|``, a comma is ``&``.

    Raises
    ------
    SubmitError
        Bad syntax or an unknown name, with Slurm's text; by name, brackets with something beside them, which are not
        modelled.
    """
    if any(letter.isspace() for letter in text):
        raise SubmitError(BAD)  # no feature has a blank in its name
    tokens = _TOKEN.findall(text.replace(",", "&"))
    parser = _Parser(tokens, known)
    if "[" in tokens:
        if tokens[0] != "[" or tokens[-1] != "]":
            if tokens.count("[") != 1 or tokens.count("]") != 1:
                raise SubmitError(BAD)
            _check_names(tokens, known)
            raise SubmitError(f"slurmsim models [] in --constraint only around all of it: {text}")
        found = parser.bracket()
    elif "*" in tokens:
        found = parser.counted()
    else:
        found = Constraint(parser.either())
    if parser.tokens:
        raise SubmitError(BAD)
    return found


def _check_names(tokens: list[str], known: frozenset[str]) -> None:
    if any(token not in known and token not in "&|()[]*" and not is_number(token) for token in tokens):
        raise SubmitError(BAD)


def _any_node(_: frozenset[str]) -> bool:
    return True


class _Parser:
    """Recursive descent over the tokens still to read, first one last."""

    def __init__(self, tokens: list[str], known: frozenset[str]) -> None:
        self.tokens = tokens[::-1]
        self.known = known

    def _take(self, wanted: str) -> bool:
        if self.tokens and self.tokens[-1] == wanted:
            self.tokens.pop()
            return True
        return False

    def bracket(self) -> Constraint:
        """``[a*1&b*2]`` (all with a count) or ``[a|b]`` (none with one)."""
        self._take("[")
        tests, numbers = [self._term()], [self._count()]
        joint = self.tokens[-1] if self.tokens else ""
        while joint in ("&", "|") and self._take(joint):
            tests.append(self._term())
            numbers.append(self._count())
        if not self._take("]"):
            raise SubmitError(BAD)
        if joint == "|":
            if any(numbers):
                raise SubmitError(BAD)
            return Constraint(_any_node, kinds=tuple(tests))
        if len(tests) == 1 and not numbers[0]:
            return Constraint(tests[0])
        if not all(numbers):
            raise SubmitError(BAD)
        return Constraint(_any_node, counts=tuple(zip(tests, numbers, strict=True)), apart=True)

    def counted(self) -> Constraint:
        """``a&b*2``: terms joined by ``&``, some with a count; those without hold for every node."""
        every: list[Test] = []
        counts: list[tuple[Test, int]] = []
        while True:
            test, number = self._term(), self._count()
            if number:
                counts.append((test, number))
            else:
                every.append(test)
            if not self._take("&"):
                break
        return Constraint(lambda features: all(test(features) for test in every), counts=tuple(counts))

    def _count(self) -> int:
        """Return the number after ``*``, 0 when there is none."""
        if not self._take("*"):
            return 0
        number = self.tokens.pop() if self.tokens else ""
        if not is_number(number) or int(number) == 0:
            raise SubmitError(BAD)
        return int(number)

    def either(self) -> Test:
        parts = [self._both()]
        while self._take("|"):
            parts.append(self._both())
        return lambda features: any(part(features) for part in parts)

    def _both(self) -> Test:
        parts = [self._term()]
        while self._take("&"):
            parts.append(self._term())
        return lambda features: all(part(features) for part in parts)

    def _term(self) -> Test:
        if self._take("("):
            inner = self.either()
            if not self._take(")"):
                raise SubmitError(BAD)
            return inner
        name = self.tokens.pop() if self.tokens else ""
        if name not in self.known:
            raise SubmitError(BAD)
        return lambda features: name in features
