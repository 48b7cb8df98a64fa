"""A twin in a folder of its own that goes when the question is answered."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slurmsim.live.waiting.past import keep
from slurmsim.twin.build import build
from slurmsim.twin.dump import read_dump
from slurmsim.twin.folder import write
from slurmsim.twin.past import known, read_past
from slurmsim.twin.run_times import RunTimes
from slurmsim.twin.twin import Twin


@contextmanager
def opened(path: Path, release: str = "", run_times: RunTimes | None = None) -> Iterator[tuple[Path, Twin]]:
    """Yield the folder of the twin of the dump at `path`, and the twin. Raises SlurmSimError."""
    with tempfile.TemporaryDirectory(prefix="slurmsim-twin-") as name:
        scratch, folder = Path(name) / "scratch", Path(name) / "cluster"
        scratch.mkdir()
        folder.mkdir(mode=0o700)
        yield folder, make(path, folder, scratch, release, run_times)


def make(path: Path, folder: Path, scratch: Path, release: str = "", run_times: RunTimes | None = None) -> Twin:
    """Make the twin of the dump at `path` in `folder`; return it. Raises SlurmSimError."""
    dump = read_dump(path)
    twin = build(dump, scratch, release=release, run_times=run_times)
    twin.past = read_past(dump, scratch, twin.findings)
    write(twin, folder)
    if twin.past is not None:
        keep(folder, known(twin.past))
    return twin
