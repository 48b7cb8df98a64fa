"""AllowGroups, RootOnly and ReqResv of partitions, as recorded with slurmctld 22.05.8 (recordings access*).

Every user's group has the user's name. Partition ga lets in the groups alice and dave, gb bob, ro only root, rr only
jobs in reservations.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from golden.asked import Asked, load, replayed
from unit.core.world import World

from slurmsim.core.accounting.partition_access import DENIED, NO_GROUP, NOT_AVAILABLE
from slurmsim.core.records.messages import AlterPartition, CreateReservation
from slurmsim.model.reservation import ReservationSpec


def world(name: str) -> tuple[Asked, World]:
    """Without the two jobs root submitted for others: whoever submits is the job's user here."""
    asked = load(name)
    asked.submitted = [entry for entry in asked.submitted if "--uid" not in entry[2]]
    for job in ("b4", "b5"):
        asked.refused.pop(job, None)
    w = replayed(asked)
    w.controller.access.groups_of = lambda user: (user,)
    created = next(second for second, command in asked.others if "create reservation" in command)
    spec = ReservationSpec("r1", created, created + 1800, ("n4",), users=("alice",))
    w.tell(CreateReservation(spec), created)
    return asked, w


def alter(w: World, name: str, **changes: object) -> None:
    w.tell(AlterPartition(replace(w.controller.state.cluster.by_name[name].spec, **changes)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["access", "access-enforce"])
def test_every_job_is_refused_waits_or_runs_as_recorded(name: str) -> None:
    asked, w = world(name)
    w.until(next(second for second, command in asked.others if "allowgroups" in command))
    alter(w, "gb", allow_groups=("alice",))
    alter(w, "main", req_resv=True)
    w.until(asked.looks[0][0])
    assert w.refused == asked.refused
    rows = {name: row for name, row in asked.looks[0][1].items() if row["JobState"] != "FAILED" and name in w.jobs}
    # two of bob's are held: releasing them was refused, which is no matter of ours
    shown = {
        name: (w.state(name), w.reason(name), w[name].partition.name if w.start(name) is not None else "")
        for name in rows if name not in ("d3", "d4")
    }  # fmt: skip
    assert shown == {
        name: (row["JobState"], row["Reason"], row["Partition"] if row["StartTime"] != "Unknown" else "")
        for name, row in rows.items() if name not in ("d3", "d4")
    }  # fmt: skip


def test_the_texts_of_refusals() -> None:
    """With several partitions and EnforcePartLimits=ANY slurmctld says so when an earlier one is open."""
    assert load("access").refused == {"a2": NO_GROUP, "b1": DENIED, "b5": NO_GROUP, "c1": DENIED, "c2": DENIED}
    enforced = load("access-enforce").refused
    assert enforced["a3"] == enforced["b3"] == enforced["c3"] == NOT_AVAILABLE
    assert enforced["a4"] == NO_GROUP


def test_a_first_partition_that_is_closed_spoils_the_others() -> None:
    """Job a4 names ga, which is closed to bob, and gb, which is not: it never starts, unless it limits its nodes."""
    asked, w = world("access")
    w.sbatch("-p ga,gb -N1 -J named -t 5", 20, user="bob", at=4)
    w.until(60)
    assert w.state("a4") == "PENDING"
    assert w.state("named") == "COMPLETED"
    assert w["named"].partition.name == "gb"
    last = asked.looks[-1][1]["a4"]
    assert (last["JobState"], last["Reason"]) == ("PENDING", "PartitionNodeLimit")


def test_a_partition_that_opens_lets_in_who_waited() -> None:
    _, w = world("access")
    alter(w, "main", req_resv=True)
    w.sbatch("-p main,gb -J late -t 5 -N1", 20, user="carol", at=1)
    w.until(100)
    assert w.reasons("late") == {"late": "PartitionConfig"}
    alter(w, "main", req_resv=False)
    w.until(140)
    assert w.state("late") == "COMPLETED"


def test_without_groups_everybody_is_let_in() -> None:
    _, w = world("access")
    w.controller.access.groups_of = None
    w.until(60)
    assert "a2" not in w.refused
    assert w.state("a2") == "COMPLETED"


@pytest.mark.parametrize("policy", ["easy", "fcfs"])
def test_policies_of_the_literature_keep_out_too(policy: str) -> None:
    w = World(load("access").conf, policy)
    w.controller.access.groups_of = lambda user: (user,)
    w.sbatch("-p ga -J a -t 5", 20, user="bob")
    w.sbatch("-p main,ga -J b -t 5", 20, user="bob")
    w.sbatch("-p ga -J c -t 5", 20, user="alice")
    w.until(60)
    assert w.refused == {"a": NO_GROUP}
    assert [w.state(name) for name in "bc"] == ["COMPLETED", "COMPLETED"]
