"""What AccountingStorageEnforce says."""

from __future__ import annotations

from collections.abc import Iterable

from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Enforcement(Value):
    """AccountingStorageEnforce: what is enforced. `limits`, `qos`, `safe` and `wckeys` imply `associations`."""

    associations: bool = False
    limits: bool = False
    qos: bool = False
    safe: bool = False
    wckeys: bool = False
    nosteps: bool = False
    nojobs: bool = False

    @classmethod
    def parse(cls, words: Iterable[str]) -> Enforcement:
        """From the words of slurm.conf, which the reader of slurm.conf has checked; ``all`` but nosteps and nojobs."""
        given = {{"1": "associations", "2": "limits"}.get(word, word) for word in map(str.lower, words)}
        everything = "all" in given
        safe = everything or "safe" in given
        limits = safe or "limits" in given
        qos, wckeys = everything or "qos" in given, everything or "wckeys" in given
        nojobs = "nojobs" in given
        return cls(
            associations=limits or qos or wckeys or "associations" in given, limits=limits, qos=qos, safe=safe,
            wckeys=wckeys, nosteps=nojobs or "nosteps" in given, nojobs=nojobs,
        )  # fmt: skip
