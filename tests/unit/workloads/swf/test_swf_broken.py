"""Broken SWF logs: one clear line each, naming file, line and field."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from slurmsim.errors import ConfigError, SlurmSimError, WorkloadError
from slurmsim.workload import TextColumn
from slurmsim_workloads import read_workload, write_workload

GOOD = "1 0 0 10 4 -1 -1 4 20 -1 1 1 1 1 1 1 -1 -1\n"
SECOND = "2 0 0 10 4 -1 -1 4 20 -1 1 1 1 1 1 1 -1 -1\n"

CASES = [
    (GOOD + "2 0 0 10 4\n", {}, ":2: 5 columns (expected 18)"),
    (
        GOOD + SECOND.strip() + " 9" * 256 + "\n",
        {},
        ":2: 274 columns (expected 18; option extra=ignore leaves out the surplus)",
    ),
    (GOOD + " 9" * 256 + "\n", {}, ":2: 256 columns (expected 18; option extra=ignore leaves out the surplus)"),
    (GOOD + SECOND.strip() + " 9\n", {}, ":2: 19 columns (expected 18; option extra=ignore leaves out the surplus)"),
    (
        "; c\n" + GOOD + SECOND.replace("2 0 0 10", "2 0 0 ten"),
        {},
        ":3: column 4 (run time): 'ten' is not a number (expected a whole number, -1 for unknown)",
    ),
    (
        GOOD + SECOND.replace("2 0 0 10", "2 nan 0 10"),
        {},
        ":2: column 2 (submit time): 'nan' is not a number (expected a whole number, -1 for unknown)",
    ),
    (GOOD.replace("10 4 ", "10 4.5 "), {}, ":1: column 5 (allocated processors): '4.5' is not a whole number"),
    (
        GOOD.replace("1 0 0 10", "1 0 0 99999999999999999999"),
        {},
        ":1: column 4 (run time): '99999999999999999999' is not a number (expected a whole number, -1 for unknown)",
    ),
    (
        GOOD.replace(" 4 20", " -4 20"),
        {},
        ":1: column 8 (requested processors): negative size -4 (expected a number > 0, or -1 for unknown)",
    ),
    (
        GOOD.replace("1 0 0 10", "1 -7 0 10"),
        {},
        ":1: column 2 (submit time): negative time -7 (expected seconds >= 0)",
    ),
    (
        GOOD + SECOND + GOOD,
        {},
        ":3: column 1 (job number): job 1 is already on line 1"
        " (expected each job once; option duplicates=first or duplicates=last picks one)",
    ),
    (
        GOOD.replace("1 0 0 10", "0 0 0 10"),
        {},
        ":1: column 1 (job number): 0 is not a job number (expected a number > 0; option ids=renumber gives new ones)",
    ),
    (
        GOOD.replace("-1 -1\n", "2 5\n") + SECOND.replace("-1 -1\n", "1 5\n"),
        {},
        ":1: column 17 (preceding job): job 1 waits for itself through job 2"
        " (expected no circular dependencies; option dependencies=no ignores them)",
    ),
    (
        GOOD,
        {"partitions": "queue", "map": "3:debug"},
        ":1: column 15 (queue): queue 1 is not in the option map=3:debug",
    ),
    ("; only a header\n", {}, ": holds no job (expected lines of 18 columns)"),
    ("", {}, ": holds no job (expected lines of 18 columns)"),
    (GOOD.replace("0 10 4", "0 0 4"), {}, ": no job is left of 1 records (run time zero: 1)"),
]


@pytest.mark.parametrize(("text", "options", "message"), CASES, ids=range(len(CASES)))
def test_broken_logs(tmp_path: Path, text: str, options: dict[str, str], message: str) -> None:
    path = tmp_path / "log.swf"
    path.write_text(text)
    with pytest.raises(WorkloadError) as caught:
        read_workload(path, options=options)
    assert str(caught.value) == f"{path}{message}"


def test_the_bad_line_is_found_in_a_later_block(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    lines = [f"{i} 0 0 10 4 -1 -1 4 20 -1 1 1 1 1 1 1 -1 -1" for i in range(1, 120_001)]
    lines[110_000] = "oops"
    path.write_text("\n".join(lines))
    with pytest.raises(WorkloadError, match=r"log\.swf:110001: 1 columns \(expected 18\)$"):
        read_workload(path)


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(b"".join(b"%d" % i + GOOD[1:].encode() for i in range(1, 5000)))[:-500])
    with pytest.raises(WorkloadError) as caught:
        read_workload(path)
    assert str(caught.value) == (
        f"{path}: the gzip data end too early, the file is truncated (expected a complete .gz file)"
    )


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    data = bytearray(gzip.compress(GOOD.encode() * 1000))
    data[-6] ^= 255
    path.write_bytes(data)
    with pytest.raises(WorkloadError, match="the gzip data are damaged") as caught:
        read_workload(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"overrrun": "cap"}, "the swf format has no option 'overrrun' (expected one of: procs, overrun, "),
        ({"overrun": "cut"}, "overrun: 'cut' is not a value of this option of the swf format (expected cap or extend"),
        ({"max_procs": "-3"}, "max_procs: '-3' is not a number (expected a whole number >= 0)"),
        ({"partitions": "queue", "map": "x"}, "map: 'x' is not NUMBER:NAME (expected for instance 1:debug,2:batch)"),
        ({"map": "1:a"}, "map: needs to know which column to map (expected option partitions=queue too)"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, str], message: str) -> None:
    path = tmp_path / "log.swf"
    path.write_text(GOOD)
    with pytest.raises(ConfigError) as caught:
        read_workload(path, options=options)
    assert str(caught.value).startswith(message)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"nowhere\.swf: cannot be read: No such file or directory$"):
        read_workload(tmp_path / "nowhere.swf")
    with pytest.raises(WorkloadError, match=r"cannot be read: Is a directory$"):
        read_workload(tmp_path)


def test_unknown_content_and_format(tmp_path: Path) -> None:
    path = tmp_path / "what.ever"
    path.write_text("hello\n")
    with pytest.raises(
        WorkloadError, match=r"format not recognised: its content is like no format \(expected --format"
    ):
        read_workload(path)
    with pytest.raises(ConfigError, match="no workload format 'pbs'"):
        read_workload(path, format="pbs")


def test_swf_refuses_what_it_cannot_hold(tmp_path: Path) -> None:
    path, out = tmp_path / "log.swf", tmp_path / "out.swf"
    path.write_text(GOOD + SECOND)
    w = read_workload(path)
    w.texts["gres"] = TextColumn.from_list(["gpu:1", ""])
    w.ints["mem_per_node"] = np.full(len(w), 100)
    out.write_text("older result")
    with pytest.raises(SlurmSimError) as caught:
        write_workload(w, out)
    assert str(caught.value) == (
        f"{out}: SWF cannot hold mem_per_node (2 jobs), gres (1 job) (expected parquet, or --lossy to leave it out)"
    )
    assert out.read_text() == "older result"
    assert write_workload(w, out, lossy=True) == ["mem_per_node (2 jobs)", "gres (1 job)"]
    assert len(read_workload(out)) == 2
