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
