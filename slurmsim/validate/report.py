"""What the validator found: one `Check` a rule, all of them in a `ValidationReport`."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from slurmsim.data_classes import dataclass, field

MAX_EXAMPLES = 5  # violations described in words per check; the count is always complete


@dataclass(slots=True)
class Check:
    """One rule and how the trace fared."""

    name: str  # stable name, listed in ``docs/validation.md``
    subjects: int = 0  # how many things (jobs, rows, events, intervals) were looked at
    violations: int = 0  # how many of them break the rule
    examples: list[str] = field(default_factory=list)  # at most `MAX_EXAMPLES` of the violations, one line each
    skipped: str | None = None  # why the rule could not be applied; None when it was

    @property
    def ok(self) -> bool:
        """No violation. A skipped check is not a failed one."""
        return self.violations == 0

    def add(self, example: str, count: int = 1) -> None:
        """Count `count` violations, the first of them described by `example`."""
        self.violations += count
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(example)

    def flag(self, count: int, examples: Iterable[str]) -> None:
        """Count `count` violations; take as many of `examples` as there is room for, at once."""
        self.violations += count
        self.examples += islice(examples, MAX_EXAMPLES - len(self.examples))


@dataclass(slots=True)
class ValidationReport:
    """The verdict on one run."""

    trace: str = ""  # name of the folder as the caller gave it, empty for a schedule that was never written
    checks: list[Check] = field(default_factory=list)  # in the order they were made

    @property
    def valid(self) -> bool:
        """True if no check found a violation."""
        return all(check.ok for check in self.checks)

    @property
    def failed(self) -> list[str]:
        """Names of the checks that found violations."""
        return [check.name for check in self.checks if not check.ok]

    def check(self, name: str) -> Check:
        """Return the check called `name`. Raises KeyError when it was not made."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def new(self, name: str, subjects: int = 0) -> Check:
        """Start a check over `subjects` things."""
        check = Check(name, subjects)
        self.checks.append(check)
        return check

    def skip(self, name: str, why: str) -> None:
        """Record that a rule was not applied, and why."""
        self.checks.append(Check(name, skipped=why))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        return {
            "trace": self.trace,
            "valid": self.valid,
            "checks": [
                {
                    "name": c.name,
                    "status": "skipped" if c.skipped is not None else "ok" if c.ok else "violated",
                    "subjects": c.subjects,
                    "violations": c.violations,
                    "examples": c.examples,
                    **({"why": c.skipped} if c.skipped is not None else {}),
                }
                for c in self.checks
            ],
        }

    def to_text(self) -> str:
        """Return the report as a table for people, the verdict in its last line."""
        width = max([len(c.name) for c in self.checks], default=0)
        lines: list[str] = []
        for c in self.checks:
            if c.skipped is not None:
                lines.append(f"{c.name:<{width}}  not checked: {c.skipped}")
                continue
            verdict = "ok" if c.ok else f"{c.violations:,} violation{'s' if c.violations > 1 else ''}"
            lines.append(f"{c.name:<{width}}  {verdict} ({c.subjects:,} checked)")
            lines += [f"    {example}" for example in c.examples]
            if c.violations > len(c.examples) > 0:
                lines.append(f"    … and {c.violations - len(c.examples):,} more")
        made = sum(c.skipped is None for c in self.checks)
        bad = len(self.failed)
        name = f"{self.trace}: " if self.trace else ""
        lines.append(f"{name}{'valid' if not bad else 'INVALID'}, {made - bad} of {made} checks passed")
        return "\n".join(lines)
