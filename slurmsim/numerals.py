"""Numbers as users type and read them."""

from __future__ import annotations

from itertools import takewhile

TYPE_CHECKING = False  # commands load no collections for a name
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_DIGITS = 18  # digits of a number that surely fits Slurm's 64 bits


def is_number(text: str) -> bool:
    """Return True if `text` is a whole number: ASCII digits, and no more of them than 64 bits hold.

    `str.isdigit` alone also takes ``²`` and 5,000 digits, of which `int` makes errors.

    >>> is_number("12"), is_number(""), is_number("²"), is_number("-1"), is_number("9" * 19)
    (True, False, False, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def counted(n: int, what: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "node"), counted(2_999, "job")
    ('1 node', '2,999 jobs')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def leading_number(text: str) -> int:
    """Return the number `text` begins with, as C's strtol reads it; 0 for none.

    >>> leading_number("5x"), leading_number("-4"), leading_number("x"), leading_number(" 12:30")
    (5, -4, 0, 12)
    """
    rest = text.lstrip()
    sign = rest[:1] if rest[:1] in ("-", "+") else ""
    digits = "".join(takewhile(is_number, rest[len(sign) :]))[:MOST_DIGITS]
    return int(sign + digits) if digits else 0


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as text, those that follow each other as a range.

    >>> ranges([0, 1, 2, 5]), ranges([])
    ('0-2,5', '')
    """
    parts: list[str] = []
    k = 0
    while k < len(numbers):
        last = k
        while last + 1 < len(numbers) and numbers[last + 1] == numbers[last] + 1:
            last += 1
        parts.append(str(numbers[k]) if last == k else f"{numbers[k]}-{numbers[last]}")
        k = last + 1
    return ",".join(parts)
