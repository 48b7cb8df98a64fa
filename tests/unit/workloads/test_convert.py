"""``slurmsim convert`` and the registry of formats."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from workload_helpers import assert_equal, texts

from slurmsim.cli import build_parser
from slurmsim.errors import ConfigError, OutputError, SlurmSimError, WorkloadError
from slurmsim.workload import QualityReport, Workload
from slurmsim_workloads import format_quality, formats, read_workload, registry, write_workload
from slurmsim_workloads.traces import TRACES

SWF = (
    "; MaxProcs: 8\n1 0 0 10 4 -1 -1 4 20 -1 1 12 3 1 1 1 -1 -1\n"
    "2 3 0 30 4 -1 -1 4 20 -1 1 14 3 1 1 1 -1 -1\n3 4 0 0 4 -1 -1 4 20 -1 1 12 3 1 1 1 -1 -1\n"
)  # fmt: skip


def run(*words: str | Path) -> int:
    parser = build_parser("convert")
    args = parser.parse_args(["convert", *map(str, words)])
    return int(args.func(args))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    path.write_text(SWF)
    return path


def test_it_converts_and_says_what_it_did(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.parquet"
    assert run(log, out) == 0
    assert capsys.readouterr().out == (
        f"{log}: 3 records: 2 jobs kept, 1 records dropped\n"
        "  dropped   1  run time zero  [line 4: job 3]\n"
        "  repaired  1  run time longer than requested, cut to the requested time  [line 3: job 2]\n"
        f"{out}: 2 jobs written\n"
    )
    assert_equal(read_workload(log), read_workload(out))
    back = tmp_path / "back.swf.gz"
    assert run(out, back, "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert_equal(read_workload(log), read_workload(back))


def test_formats_by_name_and_options(log: Path, tmp_path: Path) -> None:
    strange = tmp_path / "strange.name"
    run(log, strange, "--to", "parquet", "--option", "overrun=keep", "--quiet")
    assert read_workload(strange, "parquet").ints["run_time"].tolist() == [10, 30]


def test_anonymous_output(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    run(log, out, "--anonymize-all", "--seed", "5", "--shift-time", "-1000", "--quiet")
    w = read_workload(out)
    assert w.ints["submit"].tolist() == [1000, 1003] and set(texts(w, "account")) == {"account1"}


def test_what_swf_cannot_hold_is_refused_or_left_out_aloud(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    w = read_workload(log)
    w.ints["nodes"] = np.full(len(w), 2)
    rich, out = tmp_path / "rich.parquet", tmp_path / "out.swf"
    write_workload(w, rich)
    with pytest.raises(WorkloadError, match=r"SWF cannot hold nodes \(2 jobs\) \(expected parquet, or --lossy"):
        run(rich, out)
    assert not out.exists()
    run(rich, out, "--lossy")
    assert "  left out  nodes (2 jobs)\n" in capsys.readouterr().out


def test_an_error_leaves_the_previous_result(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    run(log, out, "--quiet")
    before = out.read_bytes()
    log.write_text(SWF + "broken\n")
    with pytest.raises(WorkloadError, match=r"log\.swf:5: 1 columns \(expected 18\)$"):
        run(log, out)
    assert out.read_bytes() == before and sorted(p.name for p in tmp_path.iterdir()) == ["log.swf", "out.parquet"]


def test_outputs_that_cannot_be_written(log: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot be written: No such file or directory$"):
        run(log, tmp_path / "missing" / "out.parquet")
    folder = tmp_path / "folder.parquet"
    folder.mkdir()
    with pytest.raises(OutputError, match=r"folder\.parquet: cannot be written: not a regular file$"):
        run(log, folder)
    with pytest.raises(WorkloadError, match=r"out\.sacct: sacct dumps can be read only"):
        run(log, tmp_path / "out.sacct")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["out"], "out: the file name tells no format (expected a suffix such as "),
        (["out.swf", "--option", "overrun"], "--option: 'overrun' is not KEY=VALUE"),
        (["out.swf", "--option", "ids=keep", "--option", "ids=keep"], "--option: ids is given twice"),
        (["out.swf", "--shift-time", "5"], "--shift-time: only goes with --anonymize"),
        (["out.swf", "--anonymize", "--shift-time", "5"], "--shift-time: 5 is after the first submit time 0"),
        (["out.swf", "--seed", "-1"], "--seed: -1 is negative (expected a whole number >= 0)"),
        (["out.swf", "--from", "pbs"], "no workload format 'pbs' (expected one of: csv, dlrm2025, "),
    ],
)
def test_wrong_usage(log: Path, words: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run(log, *words)
    assert str(caught.value).startswith(message)


class OneJob:
    """A stranger's format."""

    name = "one"
    suffixes: tuple[str, ...] = (".one",)

    def sniff(self, head: bytes) -> bool:
        return head.startswith(b"ONE")

    def read(self, path: Path, options: object) -> Workload:
        return Workload({"job_id": np.array([int(path.read_text()[3:])])}, {})

    def write(self, workload: Workload, path: Path) -> None:
        path.write_text(f"ONE{workload.ints['job_id'][0]}")


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    real = registry.entry_points(group=registry.GROUP)
    mine = EntryPoint("one", f"{__name__}:OneJob", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [*real, mine])


def test_a_strangers_format_is_found_like_ours(stranger: None, log: Path, tmp_path: Path) -> None:
    assert [name for name in formats() if name not in TRACES] == ["csv", "one", "parquet", "sacct", "streams", "swf"]
    run(log, tmp_path / "a.one", "--quiet")
    assert (tmp_path / "a.one").read_text() == "ONE1"
    (tmp_path / "b").write_text("ONE7")
    for path in ("a.one", "b"):
        assert len(read_workload(tmp_path / path)) == 1
    assert write_workload(read_workload(log), tmp_path / "c.one", lossy=True) == []


def test_a_format_that_does_not_load_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("bad", "no_such_module:X", group)])
    with pytest.raises(SlurmSimError, match=r"workload format 'bad' \(no_such_module:X\) cannot be loaded: "):
        formats()


def test_a_suffix_is_confirmed_by_the_content(tmp_path: Path) -> None:
    path = tmp_path / "really_swf.txt"
    path.write_text(SWF)
    assert read_workload(path).header.format == "swf"


def test_the_report_puts_the_most_frequent_first() -> None:
    report = QualityReport(records=1200, jobs=1190)
    report.repair("b", 2, "line 1")
    report.repair("a", 2)
    report.repair("c", 1000, "line 2")
    report.drop("gone", 10)
    assert format_quality(report) == (
        "1,200 records: 1,190 jobs kept, 10 records dropped\n"
        "  dropped      10  gone\n"
        "  repaired  1,000  c  [line 2]\n"
        "  repaired      2  a\n"
        "  repaired      2  b  [line 1]"
    )
