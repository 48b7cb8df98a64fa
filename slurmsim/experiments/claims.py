"""A published number beside ours, and what that means; the same words in every experiment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

REPRODUCED, DIRECTION, NOT, MISSING = (
    "reproduced", "direction only", "not reproduced", "not attempted (data missing)",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Claim:
    """A number of a paper, ours, their ratio as text, and the verdict."""

    what: str
    paper: str
    ours: str
    ratio: str
    verdict: str


CLAIM_TITLES = ("claim", "paper", "ours", "ratio", "verdict")


def claims_table(claims: Iterable[Claim], title: str = CLAIM_TITLES[0]) -> list[list[str]]:
    """Return a row a claim; the first row is a header."""
    return [[title, *CLAIM_TITLES[1:]], *([*astuple(claim)] for claim in claims)]


def verdict(good: bool, direction: bool = False) -> str:
    """Return the word for a claim that holds, or holds in its direction alone."""
    return REPRODUCED if good else DIRECTION if direction else NOT
