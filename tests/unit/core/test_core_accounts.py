"""Who may submit where: enforcement, association, account and QOS of a job, partitions that do not take it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.core.world import World, simple

from slurmsim.core.accounting.accounts import INVALID_ACCOUNT, INVALID_QOS, PARTITION_ASSOCIATION
from slurmsim.core.accounting.partition_access import NO_ROOT
from slurmsim.core.records.enforcement import Enforcement
from slurmsim.core.records.messages import AlterPartition
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting, Association, Qos

DATA = Accounting(
    (
        Association("root", qos=("normal",)),
        Association("root", "root", is_default=True),
        Association("sci", parent="root", qos=("normal", "high"), default_qos="high"),
        Association("sci", "alice"),
        Association("sci", "bob", qos=("low",)),
        Association("eng", parent="root"),
        Association("eng", "alice", is_default=True),
        Association("eng", "carol"),
        Association("eng", "carol", partition="own"),
    ),
    (Qos("normal"), Qos("high", priority=10), Qos("low")),
)
OWN = "PartitionName=own Nodes=ALL\nPartitionName=other Nodes=ALL\n"


def world(enforce: str = "associations,limits,qos", more: str = "", policy: str = "backfill") -> World:
    line = f"AccountingStorageEnforce={enforce}" if enforce else ""
    return World(simple(4, 4, line) + OWN + more, policy, accounting=DATA)


@pytest.mark.parametrize(
    ("words", "means"),
    [
        ("", ""),
        ("none", ""),
        ("associations", "associations"),
        ("1", "associations"),
        ("limits", "associations limits"),
        ("2", "associations limits"),
        ("QOS", "associations qos"),
        ("safe", "associations limits safe"),
        ("wckeys", "associations wckeys"),
        ("nosteps", "nosteps"),
        ("nojobs", "nosteps nojobs"),
        ("all", "associations limits qos safe wckeys"),
        ("all,nojobs", "associations limits qos safe wckeys nosteps nojobs"),
        ("limits,qos", "associations limits qos"),
    ],
)
def test_enforcement(words: str, means: str) -> None:
    found = Enforcement.parse([w for w in words.split(",") if w])
    assert {name for name in Enforcement.__dataclass_fields__ if getattr(found, name)} == set(means.split())


@pytest.mark.parametrize(
    ("line", "user", "account", "qos"),
    [
        ("", "alice", "eng", "normal"),  # her default account; normal for want of a default QOS
        ("-A sci", "alice", "sci", "high"),  # the account's default QOS
        ("-A SCI -q NORMAL", "alice", "sci", "normal"),
        ("", "bob", "sci", "low"),  # the default is not allowed to him; the only one that is
        ("-p own", "carol", "eng", "normal"),
        ("", "root", "root", "normal"),
    ],
)
def test_account_and_qos_of_a_job(line: str, user: str, account: str, qos: str) -> None:
    w = world()
    w.sbatch(f"-J j {line}", 10, user=user)
    w.until(5)
    job = w["j"]
    assert (job.account, job.qos) == (account, qos)
    assert job.branch is not None and (job.branch.spec.account, job.branch.spec.user) == (account, user)
    assert job.branch.spec.partition == ("own" if line == "-p own" else "")
    assert job.qos_spec is not None and job.qos_spec.name == qos
    assert job.part_qos is None and job.bars is None


@pytest.mark.parametrize(
    ("line", "user", "says"),
    [
        ("", "zed", INVALID_ACCOUNT),
        ("-A none", "alice", INVALID_ACCOUNT),
        ("-A eng", "bob", INVALID_ACCOUNT),  # not one of his
        ("-q fast", "alice", INVALID_QOS),  # unknown
        ("-q high", "carol", INVALID_QOS),  # not allowed
        ("-p own,other", "carol", PARTITION_ASSOCIATION),
        ("-p other,own", "carol", PARTITION_ASSOCIATION),
    ],
)
def test_refusals(line: str, user: str, says: str) -> None:
    w = world()
    w.sbatch(f"-J j {line}", 10, user=user)
    w.sbatch("-J ok -p other,main", 10, user="carol")
    w.until(5)
    assert w.refused == {"j": says}
    assert list(w.jobs) == ["ok"], "a refused submission is no job"


def test_only_associations_enforced() -> None:
    w = world("associations")
    w.sbatch("-J a -q high", 10, user="carol")
    w.sbatch("-J b -q fast", 10, user="carol")
    w.until(5)
    assert w.refused == {}
    assert w["a"].qos_spec is not None and w["a"].qos_spec.name == "high"
    assert (w["b"].qos_spec, w["b"].qos) == (None, "fast")


def test_nothing_enforced() -> None:
    w = world("")
    w.sbatch("-J a -A none", 10, user="alice")  # better her default account than one nobody knows
    w.sbatch("-J b -A none -q fast", 10, user="zed")
    w.until(5)
    assert (w["a"].account, w["b"].account) == ("eng", "none")
    assert (w["b"].branch, w["b"].qos_spec) == (None, None)
    assert w["b"].state == "RUNNING"


def test_without_accounting_data_anything_goes() -> None:
    conf = simple(4, 4, "AccountingStorageEnforce=all") + "PartitionName=p Nodes=ALL AllowAccounts=sci QOS=x\n"
    w = World(conf, "backfill")
    w.sbatch("-J a -p p -A none -q fast", 10, user="zed")
    w.until(5)
    assert (w["a"].account, w["a"].qos, w["a"].branch, w["a"].qos_spec) == ("none", "fast", None, None)
    assert w["a"].state == "RUNNING"


def test_qos_of_a_partition() -> None:
    w = world(more="PartitionName=q Nodes=ALL QOS=High\n")
    w.sbatch("-J a -p q", 10)
    w.until(5)
    assert w["a"].part_qos is not None and w["a"].part_qos.name == "high"
    with pytest.raises(ConfigError, match="PartitionName=q QOS: the accounting data have no QOS 'fast'"):
        world(more="PartitionName=q Nodes=ALL QOS=fast\n")


LISTS = """PartitionName=aa Nodes=ALL AllowAccounts=sci
PartitionName=da Nodes=ALL DenyAccounts=eng
PartitionName=aq Nodes=ALL AllowQos=normal
PartitionName=dq Nodes=ALL DenyQos=high
"""
BARRED = {
    "-p aa": "Job's account not permitted to use this partition (aa allows sci not eng)",
    "-p da": "Job's account not permitted to use this partition (da denies eng including eng)",
    "-p aq -A sci": "Job's QOS not permitted to use this partition (aq allows normal not high)",
    "-p dq -A sci": "Job's QOS not permitted to use this partition (dq denies high including high)",
}


def _also_in_main(line: str) -> str:
    first, partition, *rest = line.split()
    return " ".join([first, f"{partition},main", *rest])


@pytest.mark.parametrize("policy", ["backfill", "builtin", "easy", "conservative", "fcfs"])
@pytest.mark.parametrize("line", BARRED)
def test_a_partition_that_does_not_take_a_job(line: str, policy: str) -> None:
    """It waits with the reason and keeps nobody from starting; in another partition it may run."""
    w = world(more=LISTS, policy=policy)
    w.sbatch(f"-J j {line} -N4 --exclusive -t 100", 10)
    w.sbatch(f"-J two {_also_in_main(line)} -t 1", 10)
    w.sbatch("-J also -p main -N4 --exclusive -t 200", 10)
    w.until(2000)
    assert (w.state("j"), w.reason("j")) == ("PENDING", BARRED[line])
    assert (w.state("two"), w["two"].partition.name) == ("COMPLETED", "main")
    assert w.state("also") == "COMPLETED"


@pytest.mark.parametrize("line", BARRED)
@pytest.mark.parametrize(("mode", "refused"), [("ALL", "alone two"), ("ANY", "alone")])
def test_enforce_part_limits_refuses(line: str, mode: str, refused: str) -> None:
    w = World(
        simple(4, 4, f"AccountingStorageEnforce=qos\nEnforcePartLimits={mode}") + OWN + LISTS,
        "backfill",
        accounting=DATA,
    )
    w.sbatch(f"-J alone {line}", 10)
    w.sbatch(f"-J two {_also_in_main(line)}", 10)
    w.until(5)
    says = INVALID_QOS if "QOS" in BARRED[line] else INVALID_ACCOUNT
    assert w.refused == dict.fromkeys(refused.split(), says)


def test_any_lets_a_job_run_where_it_is_taken() -> None:
    w = World(simple(4, 4, "AccountingStorageEnforce=qos\nEnforcePartLimits=ANY") + LISTS, "backfill", accounting=DATA)
    w.sbatch("-J busy -N4 --exclusive -t 5", 100)
    w.sbatch("-J j -p aa,main", 10, at=10)
    w.until(1000)
    assert (w.refused, w.state("j"), w["j"].partition.name) == ({}, "COMPLETED", "main")


def test_account_that_is_not_known() -> None:
    """Nothing enforced and no association: an AllowAccounts list has no match, a DenyAccounts list no objection."""
    w = world("", more=LISTS)
    w.sbatch("-J a -p aa", 10, user="zed")
    w.sbatch("-J d -p da", 10, user="zed")
    w.until(100)
    assert w.reason("a") == "Job's account not known, so it can't use this partition (aa allows sci)"
    assert w.state("d") == "COMPLETED"


def test_disable_root_jobs() -> None:
    """Root is refused before its request is looked at; a partition's own setting goes before the cluster's."""
    w = World(simple(2, 4, "DisableRootJobs=yes") + "PartitionName=own Nodes=ALL DisableRootJobs=no\n")
    w.sbatch("-J a -N9 -t 5", 20, user="root")
    w.sbatch("-J b -p own -t 5", 20, user="root")
    w.sbatch("-J c -t 5", 20, user="alice")
    w.until(1)
    assert w.refused == {"a": NO_ROOT}
    w.tell(AlterPartition(replace(w.controller.state.cluster.by_name["own"].spec, disable_root_jobs=True)), 2)
    w.sbatch("-J d -p own -t 5", 20, user="root", at=3)
    w.until(60)
    assert w.refused == {"a": NO_ROOT, "d": NO_ROOT}
    assert [w.state(name) for name in "bc"] == ["COMPLETED", "COMPLETED"]


NESTED = Accounting(
    (*DATA.associations, Association("lab", parent="sci"), Association("lab", "dave", is_default=True)), DATA.qos
)


def newer(user: str, line: str, enforce: str = "associations") -> World:
    """A job under LISTS in a newer release, half a minute on."""
    more = f"AccountingStorageEnforce={enforce}" if enforce else ""
    w = World(simple(4, 4, more) + OWN + LISTS, "backfill", accounting=NESTED, release="26.05")
    w.sbatch(f"-J j {line} -t 5", 300, user=user)
    w.until(30)
    return w


@pytest.mark.parametrize(("user", "line", "starts"), [
    ("dave", "-p aa", True),  # lab is below sci
    ("dave", "-p da", True),
    ("carol", "-p aa", False),
    ("carol", "-p da", False),
])  # fmt: skip
def test_lists_of_accounts_are_of_associations_since_24_11(user: str, line: str, starts: bool) -> None:
    w = newer(user, line)
    assert (w.start("j") is not None, w.reason("j")) == (starts, "None" if starts else "PartitionConfig")


def test_who_enforces_no_associations_lets_everybody_in_since_24_11() -> None:
    assert newer("zed", "-p aa", "").start("j") is not None


def test_only_the_submission_says_that_an_account_is_kept_out_since_24_11() -> None:
    conf = simple(4, 4, "AccountingStorageEnforce=associations") + LISTS
    w = World(conf, "backfill", accounting=DATA, release="26.05")
    w.sbatch("-J first -p aa,main -N4 --exclusive -t 5", 40, user="carol")
    w.sbatch("-J late -p aa -d afterany:1 -t 5", 40, user="carol", at=1)
    w.sbatch("-J both -p aa -t 5", 40, user="carol", at=1)
    w.until(100)
    assert w.reasons("late both") == {"late": "None", "both": "PartitionConfig"}
