"""What sbatch of two releases makes of one job script: nothing is run, and there is no cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError
from slurmsim.upgrade.dry_calls import Submission, dry_call

_ASIDE = frozenset({"script", "environment", "argv", "command", "submit_line", "spank_job_env"})
_MOST = 200  # characters of a value


def submit(script: Path, release: str) -> Submission:
    """Submit `script` with its own options alone, as sbatch of `release` would.

    Raises
    ------
    ConfigError
        There is no such file.
    """
    if not script.is_file():
        raise ConfigError("cannot be read", file=str(script), field="--script", expected="a job script")
    return dry_call("sbatch", [str(script.resolve())], release, script.resolve().parent)


def compared(old: Submission, new: Submission) -> list[str]:
    """Return what differs, a line each, refusals first."""
    found = []
    if new.code and not old.code:
        found.append(f"refused: {_last_line(new.said)}")
    elif old.code and not new.code:
        found.append(f"no longer refused: {_last_line(old.said)}")
    elif old.said != new.said:
        found.append(f"sbatch says {_last_line(new.said)!r}; it said {_last_line(old.said)!r}")
    for number, (before, after) in enumerate(zip(old.jobs, new.jobs, strict=False)):
        part = f"component {number}: " if len(new.jobs) > 1 else ""
        for name in sorted({*before, *after} - _ASIDE):
            was, now = before.get(name), after.get(name)
            if was != now:
                found.append(f"{part}{name}: {_shown(was)} -> {_shown(now)}")
    return found


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def _shown(value: Any) -> str:
    return "not set" if value is None else str(value)[:_MOST]
