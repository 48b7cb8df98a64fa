"""scancel: which ids it sends as they are, and which it looks for itself first and misses (_verify_job_ids)."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.commands.engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=4
PartitionName=batch Nodes=ALL Default=YES
"""
MISSED = "scancel: error: Kill job error on {}: Invalid job id specified\n"
DENIED = "scancel: error: Kill job error on {}: Access/permission denied\n"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Job 1 is over, 2 runs, 3 is an array whose tasks 0 and 1 run as 4 and 5."""
    made = Cluster(tmp_path, CONF)
    made.submit(seconds=1)
    made.now += 10
    made.submit()
    made.submit(array_inx="0-3", num_tasks=3, min_cpus=3)
    made.now += 60
    made.text("squeue")
    return made


@pytest.mark.parametrize(
    ("command", "code", "error"),
    [
        ("scancel 1 77", 0, ""),
        ("scancel -s USR1 1", 1, MISSED.format("job id 1")),
        ("scancel -s KILL -b 77", 1, MISSED.format("job id 77")),
        ("scancel -Q -s USR1 1", 1, ""),
        ("scancel -u alice 77", 1, MISSED.format("job id 77")),
        ("scancel 77.0", 1, MISSED.format("job step id 77.0")),
    ],
)
def test_a_signal_a_filter_or_a_step_makes_an_unknown_id_an_error(
    cluster: Cluster, command: str, code: int, error: str
) -> None:
    assert cluster.run(command) == (code, "", error)


def test_what_is_named_by_the_id_a_task_took_is_told_by_its_task(cluster: Cluster) -> None:
    assert cluster.run("scancel -b 4", "bob")[2] == DENIED.format("job id 3_0")
    assert cluster.run("scancel 4", "bob")[2] == DENIED.format("job id 4")


@pytest.mark.parametrize(("options", "ended"), [("--ctld", True), ("", False)])
@pytest.mark.parametrize("runs", [True, False])
def test_slurmctld_knows_each_reservation_of_a_list(tmp_path: Path, options: str, ended: bool, runs: bool) -> None:
    """As Slurm's own suite has it of 26.05: scancel itself compares the whole list."""
    cluster = Cluster(tmp_path, CONF, release="26.05")
    for name, node in (("one", "n1"), ("two", "n2")):
        made = f"scontrol create reservationname={name} starttime=now duration=60 users=alice nodes={node}"
        assert cluster.run(made, "root")[0] == 0
    cluster.submit(reservation="one,two", hold=not runs)
    cluster.now += 5
    assert cluster.text("squeue -h -o %T").strip() == ("RUNNING" if runs else "PENDING")
    used = cluster.text("squeue -h -o %N").strip()
    name = {"n1": "one", "n2": "two"}.get(used, "two")
    if runs:
        other = {"one": "two", "two": "one"}[name]
        cluster.run(f"scancel {options} -R {other}", "alice")
        assert cluster.text("squeue -h -o %T").strip() == "RUNNING"
    cluster.run(f"scancel {options} -R {name}", "alice")
    cluster.now += 5
    assert (cluster.text("squeue -h -o %T").strip() == "") == ended


@pytest.mark.parametrize(("options", "states"), [("--ctld", ["PENDING", "CANCELLED"]), ("", ["PENDING", "PENDING"])])
def test_slurmctld_ends_one_component_that_waits(tmp_path: Path, options: str, states: list[str]) -> None:
    """As Slurm's own suite has it of 26.05."""
    cluster = Cluster(tmp_path, CONF, release="26.05")
    cluster.run("scontrol create reservationname=one starttime=now duration=60 users=alice nodes=n1", "root")
    line = "sbatch --parsable --hold -n1 : -n1 --reservation=one --wrap true"
    code, job, error = cluster.run(line, "alice")
    assert (code, error) == (0, "")
    cluster.run(f"scancel {options} -R one", "alice")
    cluster.now += 5
    first = int(job)
    text = cluster.text(f"squeue -h -t all -o '%A %T' -j {first},{first + 1}")
    assert [line.split()[1] for line in sorted(text.splitlines())] == states


def test_who_may_cancel_is_asked_before_it_is_seen_that_the_id_is_a_tasks(cluster: Cluster) -> None:
    assert cluster.run("scancel 4_[0-1]", "bob")[2] == DENIED.format("job id 4_[0-1]")
    assert cluster.run("scancel 4_1", "alice") == (0, "", "")


def test_a_step_of_an_array_whose_own_record_waits_is_none_of_its_running_tasks(cluster: Cluster) -> None:
    assert cluster.run("scancel 3.0") == (0, "", "")


def test_a_step_that_the_job_has_not_is_told_by_its_job(cluster: Cluster) -> None:
    cluster.run("scancel 3")
    assert cluster.run("scancel 2.7") == (225, "", MISSED.format("job step id 2"))


def test_ids_that_wait_come_first(cluster: Cluster) -> None:
    waits = cluster.submit(num_tasks=8, min_cpus=8)
    code, _, error = cluster.run(f"scancel -b 2 {waits}", "bob")
    assert error == DENIED.format(f"job id {waits}") + DENIED.format("job id 2")
    assert code


def test_tasks_told_to_try_later_are_asked_again_at_one_time(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of an array cannot hear a signal, and its running tasks are told so: 5 s, 6 s … 14 s for all of them."""
    pauses: list[int] = []
    monkeypatch.setattr("slurmsim.commands.scancel.scancel._pause", lambda io, seconds: pauses.append(seconds))
    code, _, error = cluster.run("scancel -s USR1 3")
    assert (code, error.count("try again later")) == (2020 & 0xFF, 3)
    assert pauses == [*range(5, 15)]


def test_a_signal_is_tried_again_only_until_the_job_has_it(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[int] = []
    first = cluster.submit(num_tasks=8, min_cpus=8)
    waits = cluster.submit(dependency=f"afterany:{first}")

    def pause(io: object, seconds: int) -> None:
        pauses.append(seconds)
        cluster.run(f"scancel {first}")
        cluster.now += 60

    monkeypatch.setattr("slurmsim.commands.scancel.scancel._pause", pause)
    code, _, error = cluster.run(f"scancel -s TERM {waits}")
    assert (code, error, pauses) == (0, "", [5])
