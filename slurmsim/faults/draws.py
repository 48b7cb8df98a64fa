"""Seeded chance: the k-th draw of a rule is the same in every run, however many other rules there are."""

from hashlib import blake2b

_BITS = 53


def draw(seed: int, rule: int, k: int, purpose: str) -> float:
    """Return a number of [0, 1), uniform over (seed, rule, k, purpose).

    >>> draw(0, 1, 1, "strike") == draw(0, 1, 1, "strike") != draw(1, 1, 1, "strike")
    True
    """
    digest = blake2b(f"{seed}:{rule}:{k}:{purpose}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> (64 - _BITS)) / (1 << _BITS)
