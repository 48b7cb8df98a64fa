"""A kit that tests a reader of job logs, ours or a stranger's: records are kept or counted, bad input is refused.

``from slurmsim_workloads.kit import check_reader`` and ``assert check_reader("pbs", "sample.log") == []`` in a test.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from slurmsim.errors import SlurmSimError, WorkloadError
from slurmsim.input_file import open_input
from slurmsim.workload import Workload
from slurmsim_workloads.parquet import digest
from slurmsim_workloads.registry import read_workload, write_workload

CUTS = (0.25, 0.5, 0.9)
"""How much of a sample is left when it is cut off."""


def check_reader(format: str, sample: str | Path, options: Mapping[str, str] | None = None) -> list[str]:
    """Return what is wrong with the reader of `format`, one sentence each; nothing if all is well.

    Parameters
    ----------
    format
        Its name (the entry point).
    sample
        A file it reads, a few megabytes at most: it is read some ten times.
    options
        Options it is read with.

    Raises
    ------
    WorkloadError, ConfigError
        The sample itself cannot be read, or there is no such format.
    """
    path = Path(sample)
    workload = read_workload(path, format, options)
    found = [*_of_report(workload), *_of_columns(workload)]
    if digest(read_workload(path, format, options)) != digest(workload):
        found.append("a second reading gives other jobs")
    with tempfile.TemporaryDirectory() as folder:
        found += _of_copies(path, workload, Path(folder), format, options)
    return found


def _of_report(workload: Workload) -> Iterator[str]:
    quality, n = workload.quality, len(workload)
    dropped = sum(quality.dropped.values())
    if quality.jobs != n:
        yield f"the report says {quality.jobs} jobs were kept, there are {n}"
    if quality.records != n + dropped:
        yield f"{quality.records} records are not {n} jobs kept and {dropped} dropped"
    for reason, count in [*quality.dropped.items(), *quality.repaired.items()]:
        if count < 1 or not reason.strip() or "\n" in reason:
            yield f"the report counts {count} of {reason!r}"


def _of_columns(workload: Workload) -> Iterator[str]:
    ints = workload.ints
    if len(np.unique(ints["job_id"])) < len(workload) or (ints["job_id"] < 1).any():
        yield "numbers of jobs are not unique and above 0"
    if len(workload.sorted()) != len(workload) or workload.sorted() is not workload:
        yield "jobs are not in order of submission, then number"
    ran = ints["log_start"] >= 0
    if (ints["log_start"][ran] < ints["submit"][ran]).any():
        yield "a recorded start is before its submission"
    ended = ran & (ints["log_end"] >= 0)
    if (ints["log_end"][ended] < ints["log_start"][ended]).any():
        yield "a recorded end is before its start"


def _of_copies(
    path: Path, workload: Workload, folder: Path, format: str, options: Mapping[str, str] | None
) -> Iterator[str]:
    with open_input(path) as file:
        content = file.read()
    packed = content[:2] == b"\x1f\x8b"
    copy = folder / path.name
    if not packed and content[:4] != b"PAR1":
        copy.write_bytes(gzip.compress(content))
        found, problem = _read(copy, format, options)
        if problem:
            yield f"compressed, {problem}"
        elif found is not None and digest(found) != digest(workload):
            yield "a compressed copy gives other jobs"
    write_workload(workload, folder / "log.parquet", "parquet")
    if digest(read_workload(folder / "log.parquet")) != digest(workload):
        yield "written as Parquet and read again there are other jobs"
    for cut in CUTS:
        copy.write_bytes(content[: int(len(content) * cut)])
        _, problem = _read(copy, format, options)
        if problem:
            yield f"cut off at {cut:.0%}, {problem}"


def _read(copy: Path, format: str, options: Mapping[str, str] | None) -> tuple[Workload | None, str]:
    """Return the workload, or None if it is refused; and what is wrong with how it is refused."""
    try:
        return read_workload(copy, format, options), ""
    except WorkloadError as error:
        return None, "" if error.file == str(copy) else f"the error names {error.file!r} and not the file"
    except SlurmSimError:
        return None, ""
    except Exception as error:
        return None, f"it raises {type(error).__name__} and no WorkloadError"
