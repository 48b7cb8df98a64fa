"""Scenarios: a cluster, commands in order, and the releases they hold for.

A scenario's text has a line a step::

    alice$ sbatch -H --wrap true        a command of that user, whose answer is compared
    root#  scontrol update …            the same, but it only sets the scene
    until 'R n1': alice$ squeue …       asked again each second of the cluster until the pattern is in its output
    wait 5                              seconds of the cluster

`{job}` is the last job that was submitted, `{job1}` the first; `{each}` is a value of the scenario's list `each`,
`{run}` a number of this run, for names of files. What `scene` says is done once, before the first of those values, and
stays for all of them.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_ASKED = re.compile(r"(?:until '(?P<until>[^']+)': )?(?P<user>[a-z]+)(?P<mark>[$#]) +(?P<command>\S.*)")
_WAIT = re.compile(r"wait (\d{1,4})")
_KEYS = {"name", "cluster", "since", "before", "each", "scene", "run", "exact"}


class FormatError(Exception):
    """A scenario, an answer or a target's file that cannot be read; its text is one line."""


@dataclass(frozen=True)
class Step:
    """One line of a scenario."""

    user: str = ""  # who asks; empty: seconds go by
    command: str = ""
    compared: bool = False
    until: str = ""  # a pattern to wait for in its output
    seconds: int = 0  # of the cluster's clock, where nothing is asked


@dataclass(frozen=True)
class Scenario:
    """What is asked of one cluster."""

    area: str
    name: str  # unique in its area
    cluster: str
    steps: tuple[Step, ...]
    since: tuple[int, int] = (0, 0)  # the first release it holds for
    before: tuple[int, int] = (99, 99)  # the first release it holds for no more
    exact: bool = False  # whether blanks count too
    row: str = ""  # its name without the value; scenarios of one row share their scene
    scene: tuple[Step, ...] = ()

    @property
    def key(self) -> str:
        """Return the name in reports and answers."""
        return f"{self.area}: {self.name}"

    def holds_for(self, release: str) -> bool:
        """Return True if the scenario says something about that release."""
        return self.since <= release_number(release) < self.before


def release_number(release: str) -> tuple[int, int]:
    """Return `release`, as 24.11, as a number that can be compared. Raises FormatError."""
    found = re.fullmatch(r"(\d\d)\.(\d\d)", release)
    if found is None:
        raise FormatError(f"release {release!r}: expected one like 24.11")
    return int(found[1]), int(found[2])


def read_all(folder: Path = HERE / "scenarios") -> list[Scenario]:
    """Return the scenarios of all files of `folder`, in the order of the files. Raises FormatError."""
    found = [one for path in sorted(folder.glob("*.toml")) for one in read(path)]
    names = [one.key for one in found]
    for name in names:
        if names.count(name) > 1:
            raise FormatError(f"{name}: there are two of that name")
    return found


def read(path: Path) -> list[Scenario]:
    """Return the scenarios of one file. Raises FormatError."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(f"{path.name}: {error}") from None
    cluster = str(table.get("cluster", ""))
    return [one for row in table.get("scenario", []) for one in _scenarios(path, row, cluster)]


def _scenarios(path: Path, row: dict[str, Any], cluster: str) -> Iterator[Scenario]:
    name = str(row.get("name", ""))
    wrong = [key for key in row if key not in _KEYS]
    if not name or wrong or not isinstance(row.get("run"), str):
        raise FormatError(f"{path.name}: {name or 'a scenario'}: {wrong or 'no name or run'}: expected {sorted(_KEYS)}")
    since, before = str(row.get("since", "00.00")), str(row.get("before", "99.99"))
    each = row.get("each", [None])
    for value in each:
        label = name if value is None else f"{name} [{value}]"
        text = row["run"] if value is None else row["run"].replace("{each}", str(value))
        where = f"{path.name}: {label}"
        yield Scenario(path.stem, label, str(row.get("cluster", cluster)), _steps(text, where), release_number(since),
                       release_number(before), bool(row.get("exact", False)), name,
                       _steps(str(row.get("scene", "")), where))  # fmt: skip


def _steps(text: str, where: str) -> tuple[Step, ...]:
    return tuple(_step(line.strip(), where) for line in text.splitlines() if line.strip())


def _step(line: str, where: str) -> Step:
    if waiting := _WAIT.fullmatch(line):
        return Step(seconds=int(waiting[1]))
    asked = _ASKED.fullmatch(line)
    if asked is None:
        raise FormatError(f"{where}: {line!r}: expected USER$ COMMAND, USER# COMMAND or wait SECONDS")
    return Step(asked["user"], asked["command"], asked["mark"] == "$", asked["until"] or "")
