"""Columns of names that models make up: users, accounts and services by their number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slurmsim.workload import TextColumn


def numbered(codes: npt.NDArray[np.integer], prefix: str, n: int) -> TextColumn:
    """Return the text ``prefix1`` for code 0, up to ``prefixN`` for n - 1.

    >>> numbered(np.array([0, 2]), "user", 3).values
    ['', 'user1', 'user2', 'user3']
    """
    return TextColumn((codes + 1).astype(np.int32), ["", *(f"{prefix}{i + 1}" for i in range(n))])
