"""Logs that name users, accounts and QOS the accounting data do not know."""

from __future__ import annotations

import numpy as np
import pytest

from slurmsim.core.records.associations import AssociationTree
from slurmsim.core.records.enforcement import Enforcement
from slurmsim.errors import WorkloadError
from slurmsim.model.accounting import Accounting, Association, Qos
from slurmsim.sim.unknown_accounts import settle_unknown
from slurmsim.workload import TextColumn, Workload, WorkloadHeader

DATA = Accounting(
    (
        Association("root", qos=("normal",)),
        Association("root", "root", is_default=True),
        Association("sci", parent="root"),
        Association("sci", "alice", qos=("normal", "high")),
    ),
    (Qos("normal"), Qos("high")),
)
ALL = Enforcement.parse(["all"])
NOTHING = Enforcement()


def log(*rows: tuple[str, str, str]) -> Workload:
    """A log of jobs by (user, account, QOS)."""
    columns = list(zip(*rows, strict=True)) if rows else [[], [], []]
    texts = {name: TextColumn.from_list(list(c)) for name, c in zip(("user", "account", "qos"), columns, strict=True)}
    n = len(rows)
    return Workload({"job_id": np.arange(1, n + 1), "submit": np.zeros(n, np.int64)}, texts, WorkloadHeader("log.txt"))


KNOWN = [("alice", "sci", "high"), ("alice", "", ""), ("alice", "SCI", "High"), ("root", "root", "normal")]
STRANGE = [*KNOWN, ("zed", "sci", ""), ("alice", "old", ""), ("zed", "", "normal"), ("alice", "sci", "gold"),
           ("zed", "sci", "")]  # fmt: skip


@pytest.mark.parametrize("choice", ["stop", "refuse", "add"])
@pytest.mark.parametrize("rows", [KNOWN, []], ids=["known", "empty"])
def test_a_log_that_fits_is_left_alone(choice: str, rows: list[tuple[str, str, str]]) -> None:
    workload = log(*rows)
    assert settle_unknown(workload, DATA, ALL, choice) is DATA
    assert workload.quality.repaired == {}


def test_stop_names_the_first_job_and_how_many() -> None:
    with pytest.raises(WorkloadError) as caught:
        settle_unknown(log(*STRANGE), DATA, ALL, "stop")
    assert str(caught.value) == (
        "log.txt: account: job 5: user 'zed' in account 'sci' is unknown to the accounting data, as with 4 of 9 jobs, "
        "which Slurm would refuse (expected --unknown-accounts add or refuse)"
    )
    with pytest.raises(WorkloadError, match="qos: job 1: QOS 'gold' is unknown to the accounting data, as with 1 of 1"):
        settle_unknown(log(("alice", "sci", "gold")), DATA, ALL, "stop")


def test_refuse_leaves_it_to_slurm() -> None:
    workload = log(*STRANGE)
    assert settle_unknown(workload, DATA, ALL, "refuse") is DATA
    assert workload.quality.repaired == {}, "refused submissions are counted when they are refused"


@pytest.mark.parametrize("choice", ["stop", "refuse"])
def test_where_nothing_is_enforced_they_run_and_are_counted(choice: str) -> None:
    workload = log(*STRANGE)
    assert settle_unknown(workload, DATA, NOTHING, choice) is DATA
    assert workload.quality.repaired == {
        "account unknown to the accounting data: without association": 4,
        "QOS unknown to the accounting data: without QOS": 1,
    }


def test_add() -> None:
    workload = log(*STRANGE)
    added = settle_unknown(workload, DATA, ALL, "add")
    assert [a.qos for a in added.associations[:4]] == [
        ("normal", "gold"), None, None, ("normal", "high", "gold"),
    ]  # fmt: skip
    assert [(a.account, a.user, a.parent) for a in added.associations[4:]] == [
        ("sci", "zed", ""), ("old", "", "root"), ("old", "alice", ""), ("unassigned", "", "root"),
        ("unassigned", "zed", ""),
    ]  # fmt: skip
    assert [q.name for q in added.qos] == ["normal", "high", "gold"]
    assert workload.quality.repaired == {
        "account unknown to the accounting data: added": 4, "QOS unknown to the accounting data: added": 1,
    }  # fmt: skip
    assert workload.quality.examples["account unknown to the accounting data: added"] == ["job 5", "job 6", "job 7"]
    tree = AssociationTree(added)
    assert all("gold" in (b.qos_names() or ()) for b in tree.branches)
    assert settle_unknown(log(*STRANGE), added, ALL, "stop") is added, "nothing is unknown any more"
