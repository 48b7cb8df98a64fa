"""The folder of a campaign: results of cells by their keys, and nothing in it that is not whole.

::

    cells/ab/ab12….json       figures of a cell, and what it took; beside it .parquet, its jobs, where they were wanted
    logs/ab12….log            what it printed
    scratch/                  of the workers; cleared at every start
    summaries.parquet  jobs.parquet  times.parquet  sweep.json  ranking.txt  ranking.json
    lock                      marks the folder, and keeps two sweeps out of one
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slurmsim.errors import OutputError
from slurmsim.input_file import read_text
from slurmsim.json_text import loads
from slurmsim.trace.staging import lock_file, output_errors

LOCK = "lock"


class Store:
    """Results of cells below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder, keep others out of it, and clear what killed workers left.

        Raises OutputError: it cannot be written, holds something else, or another sweep is writing there.
        """
        with output_errors(self.folder):
            there = sorted(p.name for p in self.folder.iterdir()) if self.folder.is_dir() else []
            if there and LOCK not in there:
                raise OutputError(f"{self.folder}: the folder holds files that are no sweep (such as {there[0]})")
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = open(self.folder / LOCK, "wb")  # noqa: SIM115 - closed right below
        with lock:
            try:
                lock_file(lock)
            except BlockingIOError:
                raise OutputError(f"{self.folder}: another sweep is writing to this folder") from None
            with output_errors(self.folder):
                for name in ("cells", "logs", "scratch"):
                    (self.folder / name).mkdir(exist_ok=True)
                self.clear()
            try:
                yield
            finally:
                self.clear()

    def clear(self) -> None:
        """Empty the workers' folder; also what a worker that was killed a moment ago has left."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(exist_ok=True)

    def file(self, key: str) -> Path:
        """Where the results of a cell are."""
        return self.folder / "cells" / key[:2] / f"{key}.json"

    def jobs(self, key: str) -> Path:
        """Where its jobs are."""
        return self.file(key).with_suffix(".parquet")

    def log(self, key: str) -> Path:
        """Where what it printed is."""
        return self.folder / "logs" / f"{key}.log"

    def has(self, key: str, *, per_job: bool) -> bool:
        """Return True if the cell has been run."""
        return self.file(key).is_file() and (not per_job or self.jobs(key).is_file())

    def read(self, key: str) -> dict[str, Any]:
        """Return the cell's ``figures`` and what it ``spent``. Raises OutputError for a damaged file."""
        try:
            found = loads(read_text(self.file(key)))
            return {"figures": dict(found["figures"]), "spent": dict(found["spent"])}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise OutputError(f"{self.file(key)}: cannot be read ({type(error).__name__}); remove it and the cell runs "
                              "again") from None  # fmt: skip
