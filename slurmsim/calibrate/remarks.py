"""One thing a doctor has to say."""

from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on the data."""

    severity: str  # ``warning`` (a replay is less faithful for it) or ``note``
    text: str  # a sentence
    count: int | None = None  # of how many records, lines or jobs; None where that means nothing

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"
