"""What reading a configuration found worth saying, and the collector the readers report to."""

from collections.abc import Iterable, Sequence

from slurmsim.config.option import OLDEST, Option
from slurmsim.data_classes import dataclass, field
from slurmsim.errors import MOST_EXPECTED, MOST_FIELD, ConfigError, clipped

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark on a configuration."""

    # "error" (the configuration is refused), "warning" (the schedule may differ from real Slurm's) or "note"
    severity: str
    # file, line: where the key is set; None for an override or a key that is missing
    file: str | None
    line: int | None
    # key, value: the key as slurm.conf spells it and the value as written
    key: str
    value: str
    message: str  # what is wrong or what is not modelled, and what happens instead
    expected: str = ""  # for errors: what would have been right, in a few words; "" when the message says it
    log: tuple[str, ...] = ()  # for errors: the lines slurmctld logs as it ends; () where they are not known

    def __str__(self) -> str:
        """One line for a user: ``slurm.conf:7: warning: PreemptType=preempt/qos: …``."""
        where = f"{self.file}:{self.line}: " if self.line is not None else f"{self.file}: " if self.file else ""
        setting = clipped(f"{self.key}={self.value}" if self.value else self.key, MOST_FIELD)
        tail = f" (expected {clipped(self.expected, MOST_EXPECTED)})" if self.expected else ""
        return f"{where}{self.severity}: {setting}: {clipped(self.message)}{tail}"

    def as_error(self) -> ConfigError:
        """Return the finding as the exception a caller sees."""
        return ConfigError(self.message, file=self.file, line=self.line, field=self.key, expected=self.expected or None,
                           log=self.log)  # fmt: skip


def warnings_among(findings: Iterable[Finding]) -> list[str]:
    """Return the warnings, a line each; those that say the same of one key of one file are one line."""
    alike: dict[tuple[str | None, str, str], list[Finding]] = {}
    for one in findings:
        if one.severity == "warning":
            alike.setdefault((one.file, one.key, one.message), []).append(one)
    return [f"{first}{_more_lines(rest)}" for first, *rest in alike.values()]


def _more_lines(rest: Sequence[Finding]) -> str:
    return f" (and {len(rest):,} more of {rest[0].key})" if rest else ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a setting stands: a line of a file, or nowhere (an override, a default)."""

    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A key the configuration sets, with its row of the tables; `group` is "" for scalars, else the line type."""

    place: Place
    group: str
    key: str
    value: str
    option: Option


@dataclass(slots=True)
class Report:
    """Collects findings while a configuration is read; `strict` turns what real daemons refuse into errors.

    `seen` lists every key that is set and known, in file order, for ``slurmsim check``.
    """

    strict: bool = False
    release: str = OLDEST
    findings: list[Finding] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def error(
        self, place: Place, key: str, value: str, message: str, expected: str = "", log: tuple[str, ...] = ()
    ) -> None:
        """Add an error: the configuration is refused because of it; `log` is what slurmctld logs as it ends."""
        self.findings.append(Finding("error", place.file, place.line, key, value, message, expected, log))

    def warning(self, place: Place, key: str, value: str, message: str) -> None:
        """Add a warning: the configuration is accepted, but a part of it does not count as written."""
        self.findings.append(Finding("warning", place.file, place.line, key, value, message))

    def note(self, place: Place, key: str, value: str, message: str) -> None:
        """Worth knowing, no difference to the schedule."""
        self.findings.append(Finding("note", place.file, place.line, key, value, message))

    def fatal_in_strict(self, place: Place, key: str, value: str, message: str, expected: str = "") -> None:
        """Real Slurm refuses this; slurmsim does so in strict mode and otherwise warns."""
        if self.strict:
            self.error(place, key, value, message, expected)
        else:
            self.warning(place, key, value, message)

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity == "error"]

    def raise_first_error(self) -> None:
        """Raise the first error found as ConfigError."""
        for finding in self.errors:
            raise finding.as_error()
