"""Brackets 100,000 deep, numbers of 5,000 digits and times beyond all bounds: each reader says so in one line."""

from __future__ import annotations

import ast
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parsed_sources import below

from slurmsim import json_text, wire_json
from slurmsim.campaign.grid import read_grid
from slurmsim.cli import main
from slurmsim.cli.problem_file import read_problem
from slurmsim.config.accounting.load import read_draft
from slurmsim.config.load import make_cluster
from slurmsim.errors import SlurmSimError
from slurmsim.fidelity.recording import _load
from slurmsim.replaying.until import parse_moment
from slurmsim.sessions import session_file
from slurmsim.sim.node_events import read_node_events
from slurmsim.sim.reservation_file import read_reservations
from slurmsim.slurmctld.history.journal_file import read_contents
from slurmsim.slurmctld.snapshot import file as snapshot_file
from slurmsim.trace.jsonfile import read_json
from slurmsim.trace.staging import read_manifest
from slurmsim.workload import Workload
from slurmsim_workloads import read_workload

ROOT = Path(__file__).parents[2]
DEEP = "[" * 100_000
LONG = "9" * 5_000
CLUSTER = make_cluster(2, 2)
NO_JOBS = Workload(ints={name: np.zeros(0, np.int64) for name in ("job_id", "submit", "run_time")}, texts={})


def parquet(path: Path, text: str) -> None:
    table = pa.table({"submit": pa.array([0], pa.int64()), "run_time": pa.array([1], pa.int64())})
    pq.write_table(table.replace_schema_metadata({"slurmsim.workload": text}), path)


def checked(path: Path, text: str) -> None:
    """A line as a snapshot has it, with a right checksum."""
    line = text.encode()
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(line), line))


def plain(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


Writer = Callable[[Path, str], None]
READERS: dict[str, tuple[str, Writer, Callable[[Path], Any]]] = {
    "run.json": ("a.json", plain, read_json),
    "recording": ("a.json", plain, _load),
    "problem.json": ("a.json", plain, lambda path: read_problem(path, "keys")),
    "problem.toml": ("a.toml", lambda path, text: plain(path, f"a = {text}"), lambda path: read_problem(path, "keys")),
    "session": ("a", plain, session_file.read),
    "snapshot": ("a", checked, snapshot_file.read),
    "metadata": ("a.parquet", parquet, read_workload),
    "grid": ("a.toml", lambda path, text: plain(path, f"a = {text}"), read_grid),
    "streams": ("a.toml", lambda path, text: plain(path, f"a = {text}"), lambda path: read_workload(path, "streams")),
    "accounts": ("a.toml", lambda path, text: plain(path, f"a = {text}"), lambda path: read_draft([path], cluster="c")),
    "reservations": ("a.toml", lambda path, text: plain(path, f"a = {text}"),
                     lambda path: read_reservations(path, CLUSTER, NO_JOBS)),
}  # fmt: skip


@pytest.mark.parametrize("text", [DEEP, LONG, '{"a":' * 100_000, "-" + LONG], ids=["deep", "long", "objects", "minus"])
@pytest.mark.parametrize("reader", READERS)
def test_refused_in_one_line(reader: str, text: str, tmp_path: Path) -> None:
    name, write, read = READERS[reader]
    write(tmp_path / name, text)
    with pytest.raises(SlurmSimError) as caught:
        read(tmp_path / name)
    assert name in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 1500


def test_a_manifest_and_a_journal(tmp_path: Path) -> None:
    plain(tmp_path / "run.json", DEEP)
    assert read_manifest(tmp_path) is None
    for text in (DEEP, LONG):
        assert read_contents(text.encode() + b"\n", "journal").problem


def test_the_loaders() -> None:
    for loads in (json_text.loads, wire_json.loads):
        assert loads(' {"a": [1, 2.5, null, "é"]} ') == {"a": [1, 2.5, None, "é"]}
        for text in (DEEP, LONG, "", "{", "[1] 2"):
            with pytest.raises(ValueError):
                loads(text)


FAR = ("9" * 18, "9" * 19, LONG, "-" + "9" * 18, "1e400", "nan", "+9999999999-0", "+" + "9" * 18,
       "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00", "99999-01-01", "now+9999999999999999days", "²",
       "")  # fmt: skip


@pytest.mark.parametrize("text", FAR)
def test_far_times(text: str, tmp_path: Path) -> None:
    """Taken, or refused in a line."""
    try:
        assert abs(parse_moment(text, NO_JOBS)) < 1 << 62
    except SlurmSimError as error:
        assert len(str(error)) < 1000
    file = tmp_path / "events.csv"
    file.write_text(f"time,action,nodes\n{text},down,n1\n", "utf-8")
    try:
        read_node_events(file, CLUSTER, NO_JOBS)
    except SlurmSimError as error:
        assert str(error).startswith(f"{file}:2: ")


@pytest.mark.parametrize("key", ["MaxTime", "DefaultTime", "GraceTime", "PriorityTier", "MaxNodes"])
@pytest.mark.parametrize("text", ["9" * 18, "9" * 30, LONG, "9999999999-0", "1e400"])
def test_far_numbers_of_a_partition(key: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf, log = tmp_path / "slurm.conf", tmp_path / "w.csv"
    conf.write_text(f"ClusterName=c\nSlurmctldHost=h\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=ALL {key}={text}\n")
    log.write_text("job_id,submit,run_time,nodes\n1,0,10,1\n")
    words = ["run", "--conf", str(conf), "--workload", str(log), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(words) in (0, 2)
    assert len("".join(capsys.readouterr())) < 3000


OWN = {
    "slurmsim/json_text.py": "the one place for files",
    "slurmsim/wire_json.py": "the one place for the socket",
    "slurmsim/rest/body_text.py": "the one place for bodies of requests",
    "slurmsim/rest/commands.py": "what a command of ours printed",
    "slurmsim/pytest_plugin.py": "an option of the user's own pytest.ini",
    "slurmsim/slurmd/supervisor.py": "written by the daemon, in its folder",
    "slurmsim/slurmctld/__main__.py": "an argument of the process that starts it",
    "slurmsim/slurmctld/processes/solver.py": "an answer of our own process",
    "slurmsim/slurmctld/processes/solver_worker.py": "a question of the daemon",
    "slurmsim/core/scheduling/solves.py": "a question of a policy, and the answer to it",
    "slurmsim/replaying/instances.py": "a question of a policy",
    "slurmsim/sim/solving.py": "a question of a policy",
    "slurmsim/experiments/runs.py": "what it has just written",
    "slurmsim/papers/titan/run.py": "what it has just written",
    "slurmsim/papers/pcp20/cells.py": "an instance of the benchmark",
}


def test_json_of_files_is_read_in_one_place() -> None:
    found = set()
    for room in ("slurmsim", "policies", "workloads"):
        for file, tree in below(ROOT / room).items():
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    if (node.value.id, node.attr) in (("json", "loads"), ("json", "load")):
                        found.add(file.relative_to(ROOT).as_posix())
                    assert (node.value.id, node.attr) != ("tomllib", "loads") or file.name == "toml_file.py", file
    assert found == set(OWN)
