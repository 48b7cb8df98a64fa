"""Reservations from a file: TOML, what scontrol prints, and what is wrong in one line."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from slurmsim.config.load import parse_cluster
from slurmsim.core.records.messages import CreateReservation, DeleteReservation, UpdateReservation
from slurmsim.errors import ConfigError
from slurmsim.model.reservation import ReservationSpec
from slurmsim.sim.claims import NO_LICENSE, NO_RESERVATION, drop_unknown_claims
from slurmsim.sim.reservation_file import read_reservations
from slurmsim.sim.simulation import Timed
from slurmsim.workload import TextColumn, Workload

CONF = """ClusterName=c
SlurmctldHost=h
Licenses=mat:3
NodeName=n[1-8] Sockets=1 CoresPerSocket=4
PartitionName=all Nodes=ALL Default=YES
PartitionName=half Nodes=n[1-4]
"""
CLUSTER = parse_cluster(CONF)[0]
FIRST = 1_767_600_000  # 2026-01-05 08:00:00 UTC
WORKLOAD = Workload({"job_id": np.array([1, 2]), "submit": np.array([FIRST, FIRST + 9000])}, {})
BASE = {"name": "r", "start": '"+1:00:00"', "duration": '"60"', "nodes": '"n[1-2]"', "users": '["bob"]'}


def read(tmp_path: Path, text: str, until: int | None = None) -> list[Timed]:
    path = tmp_path / "r.toml"
    path.write_text(text)
    return read_reservations(path, CLUSTER, WORKLOAD, until)


def entry(**changes: str | None) -> str:
    values = {**BASE, **changes}
    values["name"] = f'"{values["name"]}"'
    return "[[reservation]]\n" + "\n".join(f"{k} = {v}" for k, v in values.items() if v is not None) + "\n"


def test_toml(tmp_path: Path) -> None:
    text = entry() + entry(
        name="m", start="2026-01-06T08:00:00", end='"2026-01-07"', duration=None, nodes='"ALL"', users='"root"',
        flags='["maint", "ignore_jobs"]',
    )  # fmt: skip
    text += entry(
        name="c", created='"+0:10:00"', nodes=None, node_count="[2, 1]", partition='"half"', licenses='"mat:2"'
    )
    text += entry(name="l", nodes=None, licenses='"mat"', accounts='"-chem,-bio"', users=None, purge_comp="10")
    text += '[[update]]\ntime = "+0:30:00"\nname = "r"\nduration = 120\nset_flags = "FLEX"\n'
    text += f'[[delete]]\ntime = {FIRST + 2000}\nname = "c"\n'
    facts = read(tmp_path, text)
    r = ReservationSpec("r", FIRST + 3600, FIRST + 7200, ("n1", "n2"), users=("bob",))
    m = ReservationSpec("m", FIRST + 86_400, FIRST + 144_000, ("ALL",), users=("root",),
                        flags=frozenset({"MAINT", "IGNORE_JOBS"}))  # fmt: skip
    c = ReservationSpec(
        "c", r.start, r.end, node_counts=(2, 1), partition="half", users=("bob",), licenses=(("mat", 2),)
    )
    kept = ReservationSpec("l", r.start, r.end, licenses=(("mat", 1),), accounts=("-chem", "-bio"),
                           flags=frozenset({"ANY_NODES"}), purge_comp_s=600)  # fmt: skip
    assert [(t.time - FIRST, t.fact) for t in facts] == [
        (0, CreateReservation(r, restored=True)), (0, CreateReservation(m, restored=True)),
        (0, CreateReservation(kept, restored=True)), (600, CreateReservation(c)),
        (1800, UpdateReservation("r", duration_s=7200, set_flags=frozenset({"FLEX"}))),
        (2000, DeleteReservation("c")),
    ]  # fmt: skip


SHOWN = """ReservationName=r1 StartTime=2026-01-05T08:03:07 EndTime=2026-01-05T08:08:07 Duration=00:05:00 Nodes=n[1-2] \
NodeCnt=2 CoreCnt=8 Features=(null) PartitionName=(null) Flags=SPEC_NODES TRES=cpu=8 Users=bob Groups=(null) \
Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)
ReservationName=rc StartTime=2026-01-05T07:00:00 EndTime=2026-01-05T09:00:00 Duration=02:00:00
   Nodes=n[1-2] NodeCnt=2 CoreCnt=4 Features=(null) PartitionName=all Flags=DAILY,PURGE_COMP=00:10:00
     NodeName=n1 CoreIDs=0-1
     NodeName=n2 CoreIDs=0-1
   TRES=cpu=4
   Users=(null) Groups=(null) Accounts=phys,chem Licenses=mat:1 State=ACTIVE BurstBuffer=(null) Watts=n/a
"""


def test_what_scontrol_prints(tmp_path: Path) -> None:
    facts = read(tmp_path, SHOWN)
    r1 = ReservationSpec("r1", FIRST + 187, FIRST + 487, ("n1", "n2"), users=("bob",), flags=frozenset({"SPEC_NODES"}))
    rc = ReservationSpec(
        "rc", FIRST - 3600, FIRST + 3600, ("n1", "n2"), core_counts=(2, 2), partition="all", licenses=(("mat", 1),),
        accounts=("phys", "chem"), flags=frozenset({"DAILY", "PURGE_COMP"}), purge_comp_s=600,
    )  # fmt: skip
    assert [t.fact for t in facts] == [CreateReservation(r1, restored=True), CreateReservation(rc, restored=True)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = ", "r.toml: --reservations: is no TOML: Invalid value"),
        ("[[maint]]\n", "maint: unknown table (expected [[reservation]], [[update]], [[delete]])"),
        ("reservation = [1]\n", "reservation: '1' is no table (expected [[reservation]])"),
        ("a = " + "[" * 5000, "r.toml: --reservations: is no TOML: nested too deeply"),
        (entry(colour="3"), "colour: reservation r: unknown key"),
        (entry(start='"noon"'), "start: reservation r: 'noon' is no time"),
        (entry(start=None), "start: reservation r: is missing"),
        (entry(duration=None), "end: reservation r: is missing"),
        (entry(duration='"long"'), "duration: reservation r: 'long' is no duration"),
        (entry(duration=None, end='"+0:30:00"'), "end: reservation r: ends at"),
        (entry(nodes='"n[1-9]"'), "nodes: reservation r: unknown node 'n9' (expected nodes of the cluster)"),
        (entry(nodes='"n[1"'), "nodes: reservation r: "),
        (entry(nodes=None), "nodes: reservation r: reserves nothing"),
        (entry(nodes=None, node_count="0"), "node_count: reservation r: 0"),
        (entry(nodes=None, node_count="9"), "node_count: reservation r: 9 nodes, the cluster has 8"),
        (entry(users="[]"), "users: reservation r: no user may use it"),
        (entry(users='["-a", "b"]'), "users: reservation r: ['-a', 'b'] (expected names, or names that all begin"),
        (entry(partition='"x"'), "partition: reservation r: unknown partition 'x' (expected all, half)"),
        (entry(licenses='"mat:4"'), "licenses: reservation r: mat:4, the cluster has 3"),
        (entry(licenses='"mat:x"'), "licenses: reservation r: 'mat:x' is no license and count"),
        (entry(flags='"SOON"'), "flags: reservation r: unknown reservation flag 'SOON'"),
        (entry(flags='"TIME_FLOAT"'), "flags: reservation r: TIME_FLOAT is not modelled"),
        (entry(start='"2026-01-01"'), "end: reservation r: ends at 1767229200, before the first job is submitted"),
        (entry(created='"2026-01-05"'), "created: reservation r: '2026-01-05' is before the first job is submitted"),
        ('[[delete]]\ntime = 5\n', "name: delete 1: is missing"),
        (SHOWN.replace("BurstBuffer=(null)", "BurstBuffer=x", 1), "BurstBuffer: reservation r1: x is not modelled"),
        ("ReservationName=\n", "start: reservation : is missing"),
        (SHOWN.replace("CoreCnt=4", "CoreCnt=many"), "CoreCnt: reservation rc: 'many' (expected a number of cores)"),
        (SHOWN.replace("Nodes=n[1-2] NodeCnt=2 CoreCnt=8", "Nodes=n[1"), "nodes: reservation r1: "),
        (SHOWN.replace("CoreCnt=4", "CoreCnt=3"), "CoreCnt: reservation rc: 3 cores on 2 nodes"),
        (SHOWN.replace("Nodes=n[1-2] NodeCnt=2 CoreCnt=8", "Nodes=x1"), "nodes: reservation r1: unknown node 'x1'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text)
    assert said in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "r.toml")) and "\n" not in str(error.value)


def test_a_reservation_after_the_end_of_the_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"start: reservation r: starts at .* after the end of the run"):
        read(tmp_path, entry(), until=FIRST + 100)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--reservations: cannot be read: No such file"):
        read_reservations(tmp_path / "none", CLUSTER, WORKLOAD)


def test_claims_nobody_can_meet_are_left_out_and_counted(tmp_path: Path) -> None:
    texts = {
        "reservation": TextColumn.from_list(["r", "old", "old,r", ""]),
        "licenses": TextColumn.from_list(["mat:2", "idl", "mat,idl:3", "a|b"]),
    }
    workload = Workload({"job_id": np.arange(1, 5), "submit": np.zeros(4, np.int64)}, texts)
    timed = [Timed(0, CreateReservation(ReservationSpec("r", 0, 10, ("n1",), users=("a",))))]
    drop_unknown_claims(workload, timed, CLUSTER)
    assert [workload.texts["reservation"][i] for i in range(4)] == ["r", "", "r", ""]
    assert [workload.texts["licenses"][i] for i in range(4)] == ["mat:2", "", "mat:1", ""]
    assert workload.quality.repaired == {NO_RESERVATION: 2, NO_LICENSE: 3}


def test_claims_of_layers_are_asked_by_their_resource() -> None:
    pytest.importorskip("yaml", reason="NOT TESTED: resources.yaml: PyYAML is not installed")
    layers = '[{nodes: "n[1-4]", count: 9}, {nodes: "n[1-8]", count: 9}]'
    more = f"- {{resource: r, mode: MODE_1, layers: {layers}, variables: [{{name: few, value: 3}}]}}\n"
    cluster = parse_cluster(CONF, resources_yaml=more, release="26.05")[0]
    texts = {"reservation": TextColumn.from_list([""] * 3),
             "licenses": TextColumn.from_list(["r(n[1,3]):2,mat", "r:few", "r:many"])}  # fmt: skip
    workload = Workload({"job_id": np.arange(1, 4), "submit": np.zeros(3, np.int64)}, texts)
    drop_unknown_claims(workload, [], cluster)
    assert [workload.texts["licenses"][i] for i in range(3)] == ["r:2,mat:1", "r:3", ""]


@pytest.mark.parametrize("part", ["9", "\n", " \n"])
def test_long_runs_of_one_sign_take_no_time(tmp_path: Path, part: str) -> None:
    """300,000 of them; a search that began anew at each took minutes. They are refused or read."""
    path = tmp_path / "r.txt"
    path.write_text(f"ReservationName=r StartTime=2026-01-05T10:00:00 {part * 300_000}x")
    began = time.process_time()
    with suppress(ConfigError):
        read_reservations(path, CLUSTER, WORKLOAD)
    assert time.process_time() - began < 5
