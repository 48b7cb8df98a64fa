"""The same run again, in a process of its own with another order of hashes: it must give the same tables.

What differs then comes from a policy or a predictor: one that draws without a seed, walks over a set, looks at a clock
or keeps something from run to run.
"""

from __future__ import annotations

import filecmp
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from slurmsim.errors import SlurmSimError
from slurmsim.json_text import loads
from slurmsim.replaying.options import RunOptions
from slurmsim.trace.schema import TABLES

_AGAIN = "from slurmsim.replaying.repeat import again; again()"
_HASH_SEEDS = ("1", "2")  # the second for a process that has the first


def check_repeat(options: RunOptions, folder: Path) -> None:
    """Make the run of `options` again and compare its tables with those in `folder`, byte by byte.

    Raises
    ------
    SlurmSimError
        They differ: the first table and row that do are named. Or the run could not be made again.
    """
    seed = _HASH_SEEDS[os.environ.get("PYTHONHASHSEED") == _HASH_SEEDS[0]]
    with tempfile.TemporaryDirectory(prefix="slurmsim-repeat-") as scratch:
        given = json.dumps({**asdict(options), "out": str(Path(scratch) / "trace"), "save_instances": None})
        done = subprocess.run(
            [sys.executable, "-P", "-c", _AGAIN], input=given, text=True, capture_output=True, check=False,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise SlurmSimError(f"the run could not be made again: {last}")
        for name in TABLES:
            file = f"{name}.parquet"
            one, two = folder / file, Path(scratch) / "trace" / file
            if one.exists() and not filecmp.cmp(one, two, shallow=False):
                where = _first_row(name, folder, two.parent)
                raise SlurmSimError(f"the same run again gave another result: {file} differs{where}; its policy or "
                                    "predictor depends on more than the run")  # fmt: skip


def again() -> None:
    """Make the run that standard input tells of, without a report."""
    from slurmsim.replaying.preparation import prepare
    from slurmsim.replaying.replay import execute

    given: dict[str, Any] = {key: _as_option(value) for key, value in loads(sys.stdin.read()).items()}
    try:
        execute(prepare(RunOptions(**given)), report=False)
    except SlurmSimError as error:
        sys.exit(str(error))


def _as_option(value: object) -> object:
    """Return a value of JSON as options have it: lists are tuples."""
    return tuple(map(_as_option, value)) if isinstance(value, list) else value


def _first_row(table: str, *folders: Path) -> str:
    """Return `` first in row N (job J)`` for a table of two traces."""
    from slurmsim.trace.reader import read_trace

    rows = [read_trace(folder).read(table, list(TABLES[table])).to_pylist() for folder in folders]
    for number, (a, b) in enumerate(zip(*rows, strict=False), 1):
        if a != b:
            return f" first in row {number} (job {a.get('job_id')})" if a.get("job_id") else f" first in row {number}"
    return f" in length: {len(rows[0]):,} and {len(rows[1]):,} rows"
