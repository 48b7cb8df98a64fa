"""One thing a doctor has to say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on the data.

    Attributes
    ----------
    severity
        ``warning`` (a replay is less faithful for it) or ``note``.
    text
        A sentence.
    count
        Of how many records, lines or jobs; None where that means nothing.
    """

    severity: str
    text: str
    count: int | None = None

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"
