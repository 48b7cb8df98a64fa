"""What sbatch of two releases makes of one job script: nothing is run, and there is no cluster."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from slurmsim.commands.io import Io
from slurmsim.commands.submit import sbatch
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.protocol import Unreachable
from slurmsim.releases import VERSION_VARIABLE

_ASIDE = frozenset({"script", "environment", "argv", "command", "submit_line", "spank_job_env"})
_MOST = 200  # characters of a value


@dataclass(frozen=True, slots=True)
class Submission:
    """What came of it: exit code, what was said, and what would be asked of slurmctld, a mapping a component."""

    code: int
    said: str
    jobs: list[dict[str, Any]]


class _Submitted(Exception):
    """sbatch has said what it wants: the call ends there."""

    def __init__(self, jobs: list[dict[str, Any]]) -> None:
        super().__init__()
        self.jobs = jobs


class _Taker:
    """A daemon that takes every submission and knows nothing else."""

    folder = "/nowhere"
    patience_s = 0.0

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Raise _Submitted with what is submitted; all else is not answered."""
        if name != "submit":
            raise Unreachable("no cluster")
        raise _Submitted([arguments["job"], *arguments.get("components", ())])


def submit(script: Path, release: str) -> Submission:
    """Submit `script` with its own options alone, as sbatch of `release` would.

    Raises
    ------
    ConfigError
        There is no such file.
    """
    if not script.is_file():
        raise ConfigError("cannot be read", file=str(script), field="--script", expected="a job script")
    return sbatch_call([str(script.resolve())], release, script.resolve().parent)


def sbatch_call(words: list[str], release: str, folder: Path) -> Submission:
    """Return what sbatch of `release` makes of a command line in a folder, without a cluster."""
    said, jobs = io.StringIO(), list[dict[str, Any]]()
    world = Io(
        _Taker(),  # type: ignore[arg-type]
        stdin=io.StringIO(), stdout=io.StringIO(), stderr=said,
        environ={VERSION_VARIABLE: release, "PATH": "/usr/bin:/bin"}, cwd=str(folder), now=lambda: 0.0,
    )  # fmt: skip
    try:
        code = sbatch.run(words, world)
    except _Submitted as taken:
        code, jobs = 0, taken.jobs
    return Submission(code, said.getvalue(), jobs)


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
