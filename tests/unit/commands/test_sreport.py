"""sreport beside real ones: an accounting day whose rows slurmdbd of three releases summed up, asked for in many ways.

``sreport/day.json.gz`` has the rows of its jobs and, by release, every command line with its exit code and output. The
day: node n05 is down for two hours, a course has n10 reserved, maintenance two nodes.
"""

from __future__ import annotations

import gzip
import io as streams
import json
import re
import shlex
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from engine_client import ROOT, Cluster, _Client

from slurmsim.commands.io import Io
from slurmsim.commands.sreport.sreport import run
from slurmsim.slurmctld.base.job_record import JobRecord

MIDNIGHT = 1_767_571_200  # 2026-01-05T00:00:00Z
RELEASES = ("22.05", "24.11", "26.05")
CONF = """\
ClusterName=oracle
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos,wckeys
AccountingStorageTRES=gres/gpu,license/matlab
TrackWCKey=yes
GresTypes=gpu
Licenses=matlab:4,fluent:10
NodeName=DEFAULT Sockets=2 CoresPerSocket=4 ThreadsPerCore=1
NodeName=n[01-12] RealMemory=16000
NodeName=n[13-14] RealMemory=64000
NodeName=n[15-16] RealMemory=32000 Gres=gpu:4
PartitionName=batch Nodes=n[01-14] Default=YES MaxTime=1-0 TRESBillingWeights="CPU=1.0,Mem=0.25G"
PartitionName=fast Nodes=n[15-16]
"""
ACCOUNTS = """\
add qos high Priority=100
add account science
add account physics Parent=science
add account theory Parent=physics
add account chem Parent=science
add account teaching
add user alice Account=physics,theory DefaultAccount=physics
add user bob Account=chem,teaching DefaultAccount=chem
add user carol Account=theory
add user dave Account=teaching
modify user where name=alice,bob set qos+=high
"""
OTHER = re.compile(r"help|--usage|ByQOS")
"""Not compared: texts in our own words; QOS of an account come in any order, MariaDB's."""


@cache
def day() -> dict[str, Any]:
    with gzip.open(Path(__file__).parent / "sreport" / "day.json.gz") as file:
        found: dict[str, Any] = json.load(file)
    return found


def record(row: list[Any]) -> JobRecord:
    """A row of the job table as slurmdbd had it."""
    number, account, user, wckey, partition, nodes, submit, eligible, start, end, cpus, tres, qos, resv = row
    uid = 2001 + ["alice", "bob", "carol", "dave"].index(user)
    at = {name: MIDNIGHT + value if value else 0
          for name, value in (("submit", submit), ("eligible", eligible), ("start", start), ("end", end))}  # fmt: skip
    return JobRecord(
        db_index=number, original_index=number, job_id=number, array_job_id=0, array_task_id=None, array_task_str=None,
        array_max_tasks=0, assoc_id=0, account=account, user=user, uid=uid, gid=uid, group=user, partition=partition,
        qos=qos, name="wrap", state="COMPLETED", exit_code=0, derived_ec=0, killed_by=None, suspended=0, time_limit=10,
        nodes=nodes if start else "", alloc_nodes=tres.get("node", 0), req_cpus=cpus, mem_cpu=None, mem_node=None,
        tres_req=tres, tres_alloc=tres, priority=0, flags=(), reason="", constraints=None, resv_name=resv, resv_id=0,
        restarts=0, asked={"wckey": wckey}, admin_comment=None, comment=None, first_cpus=cpus, first_mem=0, steps=[],
        **at,
    )  # fmt: skip


class _Day:
    """A cluster after that day."""

    def __init__(self, folder: Path, release: str) -> None:
        self.cluster = Cluster(folder, conf=CONF, release=release, start=MIDNIGHT,
                               users=("alice", "bob", "carol", "dave"))  # fmt: skip
        for words in ACCOUNTS.splitlines():
            code, out, error = self.cluster.run(f"sacctmgr -i {words}")
            assert code == 0, (words, out, error)
        for words in (
            "reservationname=course nodes=n10 users=bob starttime=2026-01-05T16:00 duration=120",
            "reservationname=maint nodes=n[11-12] users=root starttime=2026-01-05T20:00 duration=90 flags=maint",
        ):
            assert self.cluster.run(f"scontrol create reservation {words}")[0] == 0
        for at, state in ((12 * 3600 + 100, "down reason=disk"), (14 * 3600 + 200, "resume")):
            self.cluster.now = MIDNIGHT + at
            assert self.cluster.run(f"scontrol update nodename=n05 state={state}")[0] == 0
        self.cluster.now = MIDNIGHT + day()[release]["now"]
        self.cluster.text("sinfo")
        for row in day()[release]["jobs"]:
            self.cluster.engine.storage.store.add(record(row))

    def ask(self, line: str) -> tuple[int, str, str]:
        """One command line, its exit code, output and errors."""
        typed, pipe, _ = line.partition(" | ")
        text = typed.split("'")[1].replace("\\n", "\n") if pipe else ""
        words = ["sreport"] if pipe else shlex.split(line)
        environ = dict(words.pop(0).split("=", 1) for _ in range(words.index("sreport")))
        client: Any = _Client(self.cluster, ROOT)
        out, error = streams.StringIO(), streams.StringIO()
        world = Io(client, stdin=streams.StringIO(text), stdout=out, stderr=error, environ=environ, cwd="/",
                   now=lambda: self.cluster.now)  # fmt: skip
        return run(words[1:], world), out.getvalue(), error.getvalue()


@pytest.fixture(scope="module", params=RELEASES)
def after(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, _Day]:
    return request.param, _Day(tmp_path_factory.mktemp("day"), request.param)


def test_every_report_is_what_real_slurm_printed(after: tuple[str, _Day], monkeypatch: pytest.MonkeyPatch) -> None:
    release, made = after
    wrong = []
    for line, *expected in day()[release]["commands"]:
        if OTHER.search(line):
            continue
        with monkeypatch.context() as patch:
            if line.startswith("TZ="):
                patch.setenv("TZ", line.split()[0].partition("=")[2])
                time.tzset()
            found = list(made.ask(line))
        time.tzset()
        if found != expected:
            wrong.append(f"$ {line}\n--- real {expected[0]}\n{expected[1]}{expected[2]}--- ours {found[0]}\n"
                         f"{found[1]}{found[2]}")  # fmt: skip
    assert not wrong, f"{len(wrong)} of {len(day()[release]['commands'])}\n" + "\n".join(wrong)


def test_usage_of_qos_is_told_where_slurm_tells_it(after: tuple[str, _Day]) -> None:
    release, made = after
    for line, *expected in day()[release]["commands"]:
        if "ByQOS" in line:
            found = list(made.ask(line))
            assert sorted(found[1].splitlines()) == sorted(expected[1].splitlines())
            assert (found[0], found[2]) == (expected[0], expected[2])


def test_help_is_printed(after: tuple[str, _Day]) -> None:
    _, made = after
    assert [made.ask(f"sreport {word}")[0] for word in ("help", "--help", "help me")] == [0, 0, 1]


def test_rows_of_the_past_are_in_the_snapshot_and_the_journal(after: tuple[str, _Day]) -> None:
    _, made = after
    cluster = made.cluster
    shown = "sreport reservation utilization start=2026-01-05 end=2026-01-06"
    before, engine = made.ask(shown), cluster.engine
    try:
        cluster.engine = cluster.again()
        assert cluster.engine.storage.history.outages == engine.storage.history.outages
        lines = [line for line in made.ask(shown)[1].splitlines() if "maint" in line]
        assert lines and set(lines) <= set(before[1].splitlines())
    finally:
        cluster.engine = engine
