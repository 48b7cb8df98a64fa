"""The readers through the command line: an exit code and one line, within 10 s and 1 GB, whatever the file is."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mutations import mutate
from readers import READERS, Reader
from seeds import CONF_OF_A_RUN, GRES, JOBS, TOPOLOGY

COUNT = int(os.environ.get("SLURMSIM_COMMAND_FILES", "1"))
"""Files a reader; 500 in `make nightly`."""
SEED = int(os.environ.get("SLURMSIM_FUZZ_SEED", "0"))
MOST_S, MOST_MB = 10, 1024
# A run costs seconds; where the suite has to be short there is one.
BY_COMMAND = [
    name for name, reader in READERS.items()
    if reader.command and (COUNT > 1 or reader.command[0] != "run" or name == "events")
]  # fmt: skip
Run = Callable[[list[str], Path], dict[str, Any]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs one command of slurmsim in a fork."""
    server = Path(__file__).with_name("fork_commands.py")
    with subprocess.Popen(
        [sys.executable, server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def ask(argv: list[str], folder: Path) -> dict[str, Any]:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps([argv, str(folder)]) + "\n")
            process.stdin.flush()
            found: dict[str, Any] = json.loads(process.stdout.readline())
            return found

        yield ask
        process.stdin.close()


def arguments(reader: Reader, folder: Path) -> list[str]:
    """The command that reads the file, with a slurm.conf beside it."""
    if reader.name != "slurm.conf":
        (folder / "slurm.conf").write_text(CONF_OF_A_RUN)
        for name, text in (("topology.conf", TOPOLOGY), ("gres.conf", GRES), ("jobs.csv", JOBS)):
            if name != reader.name:
                (folder / name).write_bytes(text)
    shutil.rmtree(folder / "run", ignore_errors=True)
    return [word.replace("{conf}", "slurm.conf").replace("{}", reader.name) for word in reader.command]


def judge(found: dict[str, Any], what: str) -> None:
    said = found["said"]
    assert "Traceback" not in said and "RuntimeWarning" not in said, f"{what}\n{said[-3000:]}"
    assert 0 <= found["rc"] <= 3, f"{what}\n{found}"
    assert found["cpu_s"] <= MOST_S and found["rss_mb"] <= MOST_MB, f"{what}\n{found}"


@pytest.mark.parametrize("name", BY_COMMAND)
def test_odd_files(tmp_path: Path, run: Run, name: str) -> None:
    reader = READERS[name]
    rng = random.Random(f"command {name} {SEED}")
    good = reader.seed()
    for number in range(COUNT):
        data = good if number == 0 else (reader.grammar if rng.random() < 0.5 else mutate)(good, rng)
        (tmp_path / reader.name).write_bytes(data)
        found = run(arguments(reader, tmp_path), tmp_path)
        judge(found, f"file {number} of seed {SEED}: {data[:2000]!r}")
        if number == 0:
            assert found["rc"] == 0, found["said"]


SHAPES: dict[str, Callable[[Path, bytes], object]] = {
    "folder": lambda path, good: path.mkdir(),
    "pipe": lambda path, good: os.mkfifo(path),
    "endless": lambda path, good: path.symlink_to("/dev/zero"),
    "loop": lambda path, good: path.symlink_to(path.name),
    "missing": lambda path, good: None,
    "empty": lambda path, good: path.write_bytes(b""),
    "zeros": lambda path, good: path.write_bytes(bytes(1 << 20)),
    "one line": lambda path, good: path.write_bytes(b"x" * (1 << 22)),
    "many lines": lambda path, good: path.write_bytes(b"a=b\n" * (1 << 16)),
    "brackets": lambda path, good: path.write_bytes(b"a = " + b"[" * 200_000),
    "objects": lambda path, good: path.write_bytes(b'{"jobs":[' + b'{"a":' * 200_000),
    "gzip": lambda path, good: path.write_bytes(gzip.compress(good)),
    "gzip cut": lambda path, good: path.write_bytes(gzip.compress(good)[:-9]),
    "gzip bomb": lambda path, good: path.write_bytes(gzip.compress(bytes(1 << 28), 9)),
    "utf-16": lambda path, good: path.write_bytes(good.decode("utf-8", "replace").encode("utf-16")),
    "bom": lambda path, good: path.write_bytes(b"\xef\xbb\xbf" + good),
    "crlf": lambda path, good: path.write_bytes(good.replace(b"\n", b"\r\n")),
    "cr": lambda path, good: path.write_bytes(good.replace(b"\n", b"\r")),
    "grown": lambda path, good: path.write_bytes(good * (1 + (1 << 20) // max(1, len(good)))),
}
IN_DEFAULT = frozenset({"pipe", "endless", "brackets", "gzip bomb"})


@pytest.mark.parametrize("name", BY_COMMAND)
def test_files_of_every_shape(tmp_path: Path, run: Run, name: str) -> None:
    """Special files, archives, depth and size; a few of them where the suite has to be short."""
    reader = READERS[name]
    good = reader.seed()
    shapes = [shape for shape in SHAPES if COUNT > 10 or (shape in IN_DEFAULT and name in ("conf", "sacct"))]
    for shape in shapes:
        folder = tmp_path / shape.replace(" ", "_")
        folder.mkdir()
        SHAPES[shape](folder / reader.name, good)
        judge(run(arguments(reader, folder), folder), shape)
    assert len(shapes) in (0, len(IN_DEFAULT), len(SHAPES))
