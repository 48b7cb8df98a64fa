"""A wild world: all files of one run as values, and the folder from which ``slurmsim run`` makes it again."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slurmsim.replaying.options import RunOptions
from slurmsim.workload import INT_COLUMNS

Row = Mapping[str, int | str]
EVENT_COLUMNS = ("time", "action", "nodes", "until", "reason", "command")
# option of a run -> the file it names, and the field of a world that file is made from
_FILES = {
    "accounting": ("accounts.txt", "accounts"), "node_events": ("events.csv", "events"),
    "reservations": ("reservations.toml", "reservations"),
}  # fmt: skip
_TEXTS = {"slurm.conf": "conf", "topology.conf": "topology", "accounts.txt": "accounts", "bins.toml": "bins",
          "watts.csv": "watts"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class World:
    """One run: lines of its files, rows of its jobs and events, options.

    Attributes
    ----------
    reservations
        Tables of ``reservations.toml``, one text each.
    options
        Keywords of `slurmsim.run` beside the files; text ``@bins.toml`` stands for a file of the folder.
    release
        The Slurm release that is imitated.
    """

    seed: int
    conf: tuple[str, ...]
    jobs: tuple[Row, ...]
    topology: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    events: tuple[tuple[str, ...], ...] = ()
    reservations: tuple[str, ...] = ()
    bins: tuple[str, ...] = ()
    watts: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    release: str = "22.05"

    @property
    def policy(self) -> str:
        """The policy that is named, ``backfill`` where none is."""
        return str(self.options.get("policy", "backfill"))

    def run_options(self, folder: Path | str, out: Path | str, **more: Any) -> RunOptions:
        """The options of a run of the files in `folder`."""
        given: dict[str, Any] = {key: self._placed(value, folder) for key, value in {**self.options, **more}.items()}
        for option, (name, source) in _FILES.items():
            if getattr(self, source):
                given[option] = _in(folder, name)
        return RunOptions.of(_in(folder, "jobs.csv"), out, conf=_in(folder, "slurm.conf"), **given)

    @staticmethod
    def _placed(value: Any, folder: Path | str) -> Any:
        prefix = f"{folder}/" if str(folder) else ""
        return value.replace("@", prefix) if isinstance(value, str) else value

    def command(self) -> str:
        """The shell line that runs it inside its folder."""
        return self.run_options("", "out").command() + " --quiet"

    def write(self, folder: Path) -> Path:
        """Write all files into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, source in _TEXTS.items():
            if lines := getattr(self, source):
                (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
        if self.events:
            _write_rows(folder / "events.csv", EVENT_COLUMNS, self.events)
        if self.reservations:
            (folder / "reservations.toml").write_text("\n\n".join(self.reservations) + "\n", "utf-8")
        columns = list(dict.fromkeys(["job_id", "submit", *(name for job in self.jobs for name in job)]))
        _write_rows(folder / "jobs.csv", columns, [[job.get(name, "") for name in columns] for job in self.jobs])
        facts = {"seed": self.seed, "release": self.release, "options": dict(self.options)}
        (folder / "world.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
        (folder / "cmd").write_text(self.command() + "\n", "utf-8")
        return folder


def read(folder: Path) -> World:
    """The world `World.write` left in `folder`."""
    facts = json.loads((folder / "world.json").read_text("utf-8"))
    texts = {source: _lines(folder / name) for name, source in _TEXTS.items()}
    reservations = folder / "reservations.toml"
    tables = reservations.read_text("utf-8").strip().split("\n\n") if reservations.exists() else []
    with (folder / "jobs.csv").open(newline="", encoding="utf-8") as file:
        jobs = tuple({name: _cell(name, text) for name, text in row.items() if text} for row in csv.DictReader(file))
    events: tuple[tuple[str, ...], ...] = ()
    if (folder / "events.csv").exists():
        with (folder / "events.csv").open(newline="", encoding="utf-8") as file:
            events = tuple(tuple(row) for row in csv.reader(file))[1:]
    return World(
        facts["seed"], jobs=jobs, events=events, reservations=tuple(tables), options=facts["options"],
        release=facts["release"], **texts,
    )  # fmt: skip


def _cell(name: str, text: str) -> int | str:
    return int(text) if name in INT_COLUMNS else text


def _lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text("utf-8").splitlines()) if path.exists() else ()


def _in(folder: Path | str, name: str) -> str:
    return f"{folder}/{name}" if str(folder) else name


def _write_rows(path: Path, columns: Any, rows: Any) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
