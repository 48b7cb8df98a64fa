"""Associations, default accounts and QOS, and partitions' lists of them, as recorded with slurmctld 22.05.8.

The database is that of tests/unit/config/accounting_data (its dump and tables are from the same recording); six
partitions over the same four nodes of 8 CPUs, clock rate 10. Times are seconds after the first submission.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.core.world import HEAD, World

from slurmsim.config.accounting.load import load_accounting
from slurmsim.core.accounting.accounts import INVALID_ACCOUNT, INVALID_QOS, PARTITION_ASSOCIATION
from slurmsim.model.accounting import Accounting

DATA = Path(__file__).parents[1] / "unit" / "config" / "accounting_data"
CONF = f"""{HEAD}SchedulerParameters=bf_interval=10,bf_resolution=60
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,qos
NodeName=n[1-4] Sockets=1 CoresPerSocket=8 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=aa Nodes=ALL AllowAccounts=sci,phys MaxTime=INFINITE
PartitionName=da Nodes=ALL DenyAccounts=phys MaxTime=INFINITE
PartitionName=aq Nodes=ALL AllowQos=high,normal MaxTime=INFINITE
PartitionName=dq Nodes=ALL DenyQos=high MaxTime=INFINITE
PartitionName=pp Nodes=ALL MaxTime=INFINITE
"""
ACCOUNT = "Job's account not permitted to use this partition "
QOS = "Job's QOS not permitted to use this partition "


@pytest.fixture(params=[("dump.cfg", "qos.txt"), ("assoc-tree.txt", "qos.txt", "users.txt"), ("commands.txt",)],
                ids=["dump", "tables", "commands"])  # fmt: skip
def accounting(request: pytest.FixtureRequest) -> Accounting:
    return load_accounting([DATA / name for name in request.param], cluster="oracle")


# job, user, options, what squeue showed once all had been looked at: account, QOS, partition, reason ("" = it ran)
LOOK = [
    ("a1", "alice", "", "phys", "low", "main", ""),
    ("a2", "alice", "-A chem", "chem", "low", "main", ""),
    ("a6", "alice", "-q HIGH", "phys", "high", "main", ""),
    ("a7", "alice", "-p aa -A phys", "phys", "low", "aa", ""),
    ("a8", "alice", "-p aa -A chem", "chem", "low", "aa", f"{ACCOUNT}(aa allows sci,phys not chem)"),
    ("a9", "alice", "-p da -A phys", "phys", "low", "da", f"{ACCOUNT}(da denies phys including phys)"),
    ("b1", "alice", "-p da -A chem", "chem", "low", "da", ""),
    ("b2", "alice", "-p aq -q high", "phys", "high", "aq", ""),
    ("b3", "alice", "-p aq -q low", "phys", "low", "aq", f"{QOS}(aq allows high,normal not low)"),
    ("b4", "alice", "-p dq -q high", "phys", "high", "dq", f"{QOS}(dq denies high including high)"),
    ("b5", "alice", "-p aa,main -A chem", "chem", "low", "main", ""),
    ("b6", "alice", "-p da,aa -A chem", "chem", "low", "da", ""),
    ("d1", "dave", "", "phys", "low", "main", ""),
    ("e1", "carol", "-p pp", "eng", "normal", "pp", ""),
    ("e4", "carol", "-p main,aq", "eng", "normal", "main", ""),
    ("e5", "carol", "-A ENG", "eng", "normal", "main", ""),
    ("r1", "root", "", "root", "normal", "main", ""),
]
REFUSED = [
    ("a3", "alice", "-A eng", INVALID_ACCOUNT),
    ("a4", "alice", "-A nosuch", INVALID_ACCOUNT),
    ("a5", "alice", "-q limited", INVALID_QOS),
    ("d2", "dave", "-q normal", INVALID_QOS),
    ("e2", "carol", "-p pp,main", PARTITION_ASSOCIATION),
    ("e3", "carol", "-p main,pp", PARTITION_ASSOCIATION),
]


def test_every_submission_is_taken_or_refused_as_recorded(accounting: Accounting) -> None:
    w = World(CONF, "backfill", accounting=accounting)
    for name, user, options, *_ in LOOK:
        w.sbatch(f"-J {name} {options} -t 30", 20, user=user)
    for name, user, options, _ in REFUSED:
        w.sbatch(f"-J {name} {options} -t 30", 20, user=user)
    w.until(15)
    shown = {
        name: (
            w[name].account,
            w[name].qos,
            w[name].partition.name,
            w.reason(name) if w.state(name) == "PENDING" else "",
        )
        for name in w.jobs
    }
    assert shown == {name: tuple(rest) for name, _, _, *rest in LOOK}
    assert w.refused == {name: text for name, _, _, text in REFUSED}


def test_later_looks(accounting: Accounting) -> None:
    """A minute on, those the lists keep out still wait. The account's list is no matter to backfill, which gives the
    job a planned start, the QOS's list is, and it gives none."""
    w = World(CONF, "backfill", plan_all=True, accounting=accounting)
    for name, user, options, *_ in LOOK:
        w.sbatch(f"-J {name} {options} -t 30", 20, user=user)
    w.sbatch("-J w1 -N4 --exclusive -t 1", 20, at=5)
    w.until(80)
    waiting = {name: w.planned(name)[0] is not None for name in w.jobs if w.state(name) == "PENDING"}
    assert waiting == {"a8": True, "a9": True, "b3": False, "b4": False}
    assert w.reasons("a8 a9 b3 b4") == {row[0]: row[6] for row in LOOK if row[6]}
    assert w.state("w1") == "COMPLETED", "it started when the nodes were free, past all of them"
