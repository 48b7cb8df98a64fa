"""Files that are no files, or have no end: each reader refuses them in one line, at once."""

from __future__ import annotations

import gzip
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slurmsim import input_file, parquet_file
from slurmsim.campaign.grid import read_grid
from slurmsim.cli import main
from slurmsim.cli.problem_file import read_problem
from slurmsim.config.accounting.load import read_draft
from slurmsim.config.groups import read_groups
from slurmsim.config.load import load_cluster, make_cluster
from slurmsim.errors import SlurmSimError, WorkloadError
from slurmsim.fidelity.recording import _load
from slurmsim.live.settings import Settings, make_folder
from slurmsim.sessions import session_file
from slurmsim.sim.node_events import read_node_events
from slurmsim.sim.reservation_file import read_reservations
from slurmsim.slurmctld.history.journal_file import whole_file
from slurmsim.slurmctld.snapshot import file as snapshot_file
from slurmsim.trace.jsonfile import read_json
from slurmsim.trace.staging import read_manifest
from slurmsim_workloads import files
from slurmsim_workloads.registry import read_workload

CONF = "ClusterName=c\nSlurmctldHost=h\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
NO_JOBS: Any = None
CLUSTER = make_cluster(1, 1)


def conf_with(line: str, folder: Path) -> Path:
    file = folder / "slurm.conf"
    file.write_text(CONF + line + "\n", "utf-8")
    return file


def beside(name: str) -> Callable[[Path], Any]:
    """A reader of a slurm.conf that has the file beside it under `name`."""

    def read(path: Path) -> Any:
        if path.exists():
            os.symlink(path, path.parent / name)
        return load_cluster(conf_with("", path.parent))

    return read


READERS: dict[str, Callable[[Path], Any]] = {
    "slurm.conf": load_cluster,
    "include": lambda path: load_cluster(conf_with(f"include {path}", path.parent)),
    "gres.conf": beside("gres.conf"),
    "topology.conf": beside("topology.conf"),
    "accounting": lambda path: read_draft([path], cluster="c"),
    "accounting.toml": lambda path: read_draft([path.rename(path.with_suffix(".toml"))], cluster="c"),
    "groups": lambda path: read_groups([str(path)]),
    "node events": lambda path: read_node_events(path, CLUSTER, NO_JOBS),
    "reservations": lambda path: read_reservations(path, CLUSTER, NO_JOBS),
    "problem": lambda path: read_problem(path, "keys"),
    "grid": lambda path: read_grid(path),
    "run.json": read_json,
    "recording": _load,
    "session": session_file.read,
    "snapshot": snapshot_file.read,
    "journal": whole_file,
    "live conf": lambda path: make_folder(_new(path.parent / "cluster"), Settings(conf=str(path))),
    **{
        f"log as {name}": lambda path, name=name: read_workload(path, name)  # type: ignore[misc]
        for name in (None, "swf", "sacct", "csv", "parquet", "streams")
    },
}


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def made(kind: str, path: Path) -> Path:
    """Something at `path` that is no regular file, or one that is far too large and has no bytes on the disk."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        os.symlink("/dev/zero", path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            here = os.getcwd()
            os.chdir(path.parent)
            one.bind(path.name)
            os.chdir(here)
    else:
        with open(path, "wb") as file:
            file.truncate(1 << 41)
    return path


SAID = {"pipe": "a named pipe", "device": "a device", "socket": "a socket", "huge": "more than"}


@pytest.mark.parametrize("kind", SAID)
@pytest.mark.parametrize("reader", READERS)
def test_refused_in_one_line(reader: str, kind: str, tmp_path: Path) -> None:
    path = made(kind, tmp_path / "strange")
    with pytest.raises((SlurmSimError, OSError)) as caught:
        READERS[reader](path)
    said = str(caught.value)
    right = [SAID[kind]]
    if path.is_symlink() and reader in ("snapshot", "journal"):
        right = ["symbolic links"]  # they are our own files, and never links
    if reader == "log as None" and kind == "huge":
        right = ["is like no format"]
    assert any(text in said for text in right), said
    assert "\n" not in said and len(said) < 400


def test_a_manifest_that_is_none_is_no_manifest(tmp_path: Path) -> None:
    made("pipe", tmp_path / "run.json")
    assert read_manifest(tmp_path) is None


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_the_command_line(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strange = made(kind, tmp_path / "strange")
    conf = conf_with(f"include {strange}", tmp_path)
    assert main(["check", str(conf)]) == 2
    assert f"{conf}:5: error: Include: cannot read '{strange}': not a regular file but a" in capsys.readouterr().out
    assert main(["run", "--nodes", "1", "--workload", str(strange), "--out", str(tmp_path / "out")]) == 2
    assert f"{strange}: cannot be read: not a regular file but a" in capsys.readouterr().err


def test_files_that_include_each_other_often(tmp_path: Path) -> None:
    """Ten deep and four times each is a million files."""
    conf = conf_with("include again\n" * 4, tmp_path)
    (tmp_path / "again").symlink_to(conf)
    with pytest.raises(SlurmSimError, match="nested more than 10 deep"):
        load_cluster(conf)
    (tmp_path / "again").unlink()
    (tmp_path / "again").write_text("include leaf\n" * 1001, "utf-8")
    (tmp_path / "leaf").write_text("# nothing\n", "utf-8")
    with pytest.raises(SlurmSimError, match="more than 1000 files are included"):
        load_cluster(conf)


# -- what unpacks ---------------------------------------------------------------------------------------------------


def bomb(path: Path, text: bytes, times: int) -> Path:
    """A gzip file of members that all say the same."""
    member = gzip.compress(text * (1 << 20), 9)
    path.write_bytes(member * times)
    return path


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.swf.gz", b";", "a line of more than 4 MiB"),
        ("a.swf.gz", b"\n", "unpacks to more than 200 times its size"),
        ("a.csv.gz", b"\n", "unpacks to more than 200 times its size"),
        ("a.txt.gz", b"\0", "unpacks to more than 200 times its size"),
    ],
)
def test_bombs(name: str, text: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 4 << 20)
    monkeypatch.setattr(files, "LEAST_PACKED", 8 << 20)
    form = {"a.csv.gz": "csv", "a.txt.gz": "sacct"}.get(name)
    with pytest.raises(WorkloadError, match=said):
        read_workload(bomb(tmp_path / name, text, 12), form)


def test_a_log_that_packs_well_is_no_bomb(tmp_path: Path) -> None:
    assert sum(map(len, files.read_blocks(bomb(tmp_path / "small.gz", b"\n", 20)))) == 20 << 20


def test_a_bound_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * (3 << 20))
    monkeypatch.setattr(input_file, "MOST_TEXT", 1 << 20)
    with pytest.raises(OSError, match=r"more than 1 MiB \(set SLURMSIM_INPUT_MIB"):
        input_file.read_bytes(file, input_file.MOST_TEXT)
    for text in ("2", "no", "9" * 30):
        monkeypatch.setenv(input_file.VARIABLE, text)
        with pytest.raises(OSError, match="more than"):
            input_file.read_bytes(file, input_file.MOST_TEXT)
    monkeypatch.setenv(input_file.VARIABLE, "3")
    assert len(input_file.read_bytes(file, input_file.MOST_TEXT)) == 3 << 20


def test_a_table_that_unpacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million equal rows have a few hundred bytes."""
    n = 1_000_000
    table = pa.table({name: pa.array([1], pa.int64()).take(pa.array([0] * n)) for name in ("submit", "run_time")})
    file = tmp_path / "log.parquet"
    pq.write_table(table, file, compression="zstd")
    assert file.stat().st_size < 20_000 and _unpacked(file) >= 16 * n
    monkeypatch.setattr(parquet_file, "MOST_TABLE", 8 << 20)
    with pytest.raises(WorkloadError, match="unpacks to more than 8 MiB"):
        read_workload(file)


def test_a_text_that_many_rows_share_is_held_once(tmp_path: Path) -> None:
    """A dictionary of one text of a megabyte, which 100,000 rows name: 100 GB, if each row had its own."""
    n = 100_000
    file = tmp_path / "log.parquet"
    numbers = {name: pa.array(range(1, n + 1), pa.int64()) for name in ("job_id", "submit", "run_time")}
    names = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array(["x" * (1 << 20)]))
    pq.write_table(pa.table({**numbers, "name": names}), file, compression="zstd", store_schema=False)
    assert file.stat().st_size < 2 << 20 and pq.read_schema(file).field("name").type == pa.string()
    with parquet_file.open_parquet(file) as parquet:
        assert parquet.read().nbytes < 10 << 20
    found = read_workload(file).texts["name"]
    assert len(found.codes) == n and {len(text) for text in found.values} <= {0, 1 << 20}


def _unpacked(path: Path) -> int:
    with path.open("rb") as file:
        return parquet_file.unpacked_bytes(file, pq.read_metadata(path))


def test_texts_that_differ_from_the_text_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With DELTA_BYTE_ARRAY a row that repeats a long text takes no bytes in the file, but its length in memory."""
    n = 1_000
    file = tmp_path / "log.parquet"
    numbers = {name: pa.array(range(1, n + 1), pa.int64()) for name in ("job_id", "submit", "run_time")}
    table = pa.table({**numbers, "name": ["x" * 100_000] * n})
    pq.write_table(table, file, use_dictionary=False, column_encoding={
        "name": "DELTA_BYTE_ARRAY", **dict.fromkeys(numbers, "PLAIN")})  # fmt: skip
    assert file.stat().st_size < 200_000 and _unpacked(file) >= table.nbytes
    monkeypatch.setattr(parquet_file, "MOST_TABLE", 8 << 20)
    with pytest.raises(WorkloadError, match="unpacks to more than 8 MiB"):
        read_workload(file)
