"""SLUIDs: ids of runs that are never used again, as 14 letters (since 24.11)."""

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_DIGITS = 13
_CLUSTER_BIT, _TIME_BIT = 52, 10


def made(cluster: int, milliseconds: int) -> int:
    """Return the number of a run that began to exist then; `cluster` is 2 to 4095."""
    return cluster << _CLUSTER_BIT | milliseconds << _TIME_BIT


def text(number: int) -> str:
    """As people see it.

    >>> text(made(2396, 1795199140323))
    's9BHM7X3A0F300'
    """
    return "s" + "".join(_LETTERS[number >> 5 * at & 31] for at in reversed(range(_DIGITS)))


def number_of(word: str) -> int | None:
    """Return the number of a SLUID, in letters of either case; None for what is none.

    >>> number_of("s9BHM7X3A0F300") == number_of("s9bhm7x3a0f300") == made(2396, 1795199140323)
    True
    >>> number_of("s0000000000000"), number_of("s9BHM"), number_of("12")
    (None, None, None)
    """
    letters = word[1:].upper()
    if word[:1] != "s" or len(letters) != _DIGITS or any(letter not in _LETTERS for letter in letters):
        return None
    found = 0
    for letter in letters:
        found = found << 5 | _LETTERS.index(letter)
    return found or None
