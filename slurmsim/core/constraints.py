"""``--constraint``: feature names joined by ``&``, ``|`` and brackets, as a test on a node's features."""

from __future__ import annotations

import re
from collections.abc import Callable

from slurmsim.errors import SubmitError

BAD = "Invalid feature specification"
Test = Callable[[frozenset[str]], bool]
_TOKEN = re.compile(r"\s*([&|()]|[^&|()\s]+)")


def parse_constraint(text: str, known: frozenset[str]) -> Test:
    """The test `text` stands for; all names must be among `known`. ``&`` binds tighter than ``|``.

    Raises
    ------
    SubmitError
        Bad syntax or an unknown name, with Slurm's text; by name, counts (``a*2``) and matching-or (``[a|b]``), which
        are not modelled yet.
    """
    if "*" in text or "[" in text:
        raise SubmitError(f"slurmsim does not model counts or [] in --constraint yet: {text}")
    parser = _Parser(_TOKEN.findall(text), known)
    test = parser.either()
    if parser.tokens:
        raise SubmitError(BAD)
    return test


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
