"""The validator on files: good traces, partial ones, and folders that are none; the command's exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_runs import sound

from slurmsim.cli import build_parser
from slurmsim.errors import WorkloadError
from slurmsim.validate import validate_trace


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return sound().write(tmp_path / "out")


def run(*args: str) -> int:
    parser = build_parser("validate")
    parsed = parser.parse_args(["validate", *args])
    return int(parsed.func(parsed))


def test_sound_trace(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(trace)) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"{trace}: valid, 33 of 33 checks passed"


def test_invalid_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = sound()
    tables.set(3, time_limit_s=99)
    tables.write(tmp_path / "out")
    assert run(str(tmp_path / "out")) == 1
    out = capsys.readouterr().out
    assert "within_time_limit       1 violation (7 checked)\n    job 3 ran 100 s with a limit of 99 s\n" in out
    assert out.endswith("INVALID, 32 of 33 checks passed\n")


def test_json(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(trace), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] is True
    by_name = {check["name"]: check for check in found["checks"]}
    assert by_name["cpus_not_overbooked"] == {
        "name": "cpus_not_overbooked", "status": "ok", "subjects": 14, "violations": 0, "examples": []
    }  # fmt: skip
    assert by_name["nodes_not_shared"]["status"] == "skipped"


def test_text_says_how_many_more(tmp_path: Path) -> None:
    tables = sound()
    tables.jobs["wait_s"] = [w + 1 for w in tables.jobs["wait_s"]]
    text = validate_trace(tables.write(tmp_path / "out")).to_text()
    assert "7 violations (7 checked)" in text and "    … and 2 more" in text


def test_interrupted_run(tmp_path: Path) -> None:
    """The last rows of each table may be missing, and the summary."""
    tables = sound()
    tables.add_event(700, "SUBMIT", 8, "PENDING")
    assert "jobs_and_events_agree" in validate_trace(tables.write(tmp_path / "whole")).failed
    tables.manifest["partial"] = True
    folder = tables.write(tmp_path / "partial")
    (folder / "summary.json").unlink()
    report = validate_trace(folder)
    assert report.failed == ["usage_pending_jobs"]
    assert report.check("summary").skipped


def no_folder(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def no_manifest(folder: Path) -> None:
    (folder / "run.json").unlink()


def no_jobs(folder: Path) -> None:
    (folder / "jobs.parquet").unlink()


def cut_off(folder: Path) -> None:
    file = folder / "events.parquet"
    file.write_bytes(file.read_bytes()[:-20])


def no_summary(folder: Path) -> None:
    (folder / "summary.json").unlink()


def broken_json(folder: Path) -> None:
    (folder / "run.json").write_text("{")


def list_for_manifest(folder: Path) -> None:
    (folder / "run.json").write_text("[]")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (no_folder, "no such folder"),
        (no_manifest, "not a slurmsim trace: run.json is missing"),
        (no_jobs, "jobs.parquet: missing from the trace"),
        (cut_off, "events.parquet: not a readable Parquet file"),
        (no_summary, "summary.json: cannot read"),
        (broken_json, "run.json: not valid JSON"),
        (list_for_manifest, "run.json: not a JSON object"),
    ],
)
def test_not_a_trace(trace: Path, damage: Any, message: str) -> None:
    damage(trace)
    with pytest.raises(WorkloadError) as error:
        validate_trace(trace)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


CLUSTER_DAMAGE: list[tuple[Any, str]] = [
    (lambda m: m.pop("trace_schema"), "trace_schema: schema version None (expected version 3 to 8)"),
    (lambda m: m.pop("cluster"), "cluster: missing (expected an object with nodes and partitions)"),
    (lambda m: m.update(limit_allowance_s=-1), "limit_allowance_s: -1 (expected seconds, or null)"),
    (lambda m: m["cluster"].update(nodes=[]), "cluster.nodes: []"),
    (lambda m: m["cluster"].update(nodes=[["n[1-", 1, 1, {}]]), "cluster.nodes[0]: "),
    (lambda m: m["cluster"].update(nodes=[["n1"]]), "cluster.nodes[0]: ['n1']"),
    (lambda m: m["cluster"].update(nodes=[["n1", 1, -1, {}]]), "expected whole numbers"),
    (lambda m: m["cluster"].update(nodes=[["n1", 1, 1, 3]]), "expected whole numbers"),
    (lambda m: m["cluster"].update(nodes=[["n[1-2]", 1, 1], ["n2", 1, 1]]), "a node is listed twice"),
    (lambda m: m["cluster"].update(partitions=[]), "cluster.partitions: [] (expected an object)"),
    (lambda m: m["cluster"].update(partitions={"p": {}}), "cluster.partitions.p: {}"),
    (lambda m: m["cluster"].update(partitions={"p": {"nodes": "n9"}}), "partitions.p.nodes: unknown node n9"),
    (lambda m: m["cluster"].update(partitions={"p": {"nodes": "n["}}), "partitions.p.nodes: "),
    (lambda m: m["cluster"].update(partitions={"p": {"nodes": "n1", "max_time_s": "1"}}), "p.max_time_s: '1'"),
    (lambda m: m["cluster"].update(whole_nodes="yes"), "cluster.whole_nodes: 'yes' (expected true or false)"),
]


@pytest.mark.parametrize(("damage", "message"), CLUSTER_DAMAGE)
def test_bad_manifest(tmp_path: Path, damage: Any, message: str) -> None:
    tables = sound()
    tables.manifest = json.loads(json.dumps(tables.manifest))
    damage(tables.manifest)
    with pytest.raises(WorkloadError) as error:
        validate_trace(tables.write(tmp_path / "out"))
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "out" / "run.json"))


def test_bad_columns(tmp_path: Path) -> None:
    tables = sound()
    del tables.jobs["node_list"]
    with pytest.raises(WorkloadError, match=r"jobs\.parquet: node_list: column is missing"):
        validate_trace(tables.write(tmp_path / "a"))
    tables = sound()
    tables.jobs["submit"][0] = None
    with pytest.raises(WorkloadError, match=r"jobs\.parquet: submit: 1 nulls"):
        validate_trace(tables.write(tmp_path / "b"))
