"""Single limits: names of reasons, time limits they give, what hides what, ending of jobs, who accrues age."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.core.world import HEAD, World

from slurmsim.core.accounting.limit_columns import MOST, LimitColumns
from slurmsim.core.accounting.limit_reasons import LIMIT_REASONS, tres_reason
from slurmsim.core.accounting.limit_rules import UNLIMITED_MIN, Demand, Rules
from slurmsim.core.accounting.usage_counters import TrackedTres, UsageCounters
from slurmsim.core.records.messages import Hold, JobEnded, Launch, Release, Requeue, SetTimeLimit, Submit
from slurmsim.fidelity.copies import Original
from slurmsim.model.accounting import Accounting, Association, Limits, Qos

CONF = f"""{HEAD}AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
OverTimeLimit=UNLIMITED
{{more}}
NodeName=n[1-4] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
PartitionName=pq Nodes=ALL QOS=part MaxTime=UNLIMITED
"""
BASIC = "PriorityType=priority/basic"


def world(
    user: Limits | None = None, account: Limits | None = None, *qos: Qos, more: str = BASIC, policy: str = "backfill"
) -> World:
    found = [Association("root"), Association("acc", parent="root", limits=account or Limits())]
    found += [Association("acc", user=name, limits=user or Limits(), is_default=True) for name in ("alice", "bob")]
    known = {q.name: q for q in (Qos("normal"), Qos("part"), *qos)}
    accounting = Accounting(tuple(found), tuple(known.values()))
    return World(CONF.format(more=more), policy, accounting=accounting)


@pytest.mark.parametrize(
    ("kind", "tres", "reason"),
    [
        ("AssocGrp", "mem", "AssocGrpMemLimit"), ("AssocGrpMinutes", "mem", "AssocGrpMemMinutes"),
        ("AssocGrpRunMinutes", "cpu", "AssocGrpCPURunMinutesLimit"), ("QOSMaxPerUser", "mem", "QOSMaxMemoryPerUser"),
        ("QOSGrp", "gres/gpu:a100", "QOSGrpGRES"), ("QOSMin", "gres/gpu", "QOSMinGRES"),
        ("AssocMaxPerNode", "node", "AssocMaxUnknownPerNode"), ("MaxPerAccount", "billing", "MaxBillingPerAccount"),
        ("AssocMaxMinutesPerJob", "license/x", "AssocMaxLicenseMinutesPerJob"),
        ("QOSMin", "cpu", "QOSMinCpuNotSatisfied"), ("QOSMaxMinutesPerJob", "bb/x", "AssocMaxBBMinutesPerJob"),
    ],
)  # fmt: skip
def test_names_of_reasons(kind: str, tres: str, reason: str) -> None:
    assert tres_reason(kind, tres) == reason
    assert reason in LIMIT_REASONS


def test_numbers_beyond_64_bits_are_the_most_there_is() -> None:
    tracked = TrackedTres(("mem",))
    rules = Rules(tracked, safe=True)
    demand = Demand(UNLIMITED_MIN, False, [1 << 40])  # minutes of a job without limit, and memory in MiB
    limited = rules.minutes("QOSMaxMinutesPerJob", {"mem": 1000}) + rules.owed(
        "QOSGrpRunMinutes", {"mem": 1 << 73}, UsageCounters(tracked), free=False
    )
    first, second = (LimitColumns().rows([rule], demand) for rule in limited)
    assert (first[1], second[1], second[2]) == (MOST, MOST, MOST)
    assert [rule.broken(demand) for rule in limited] == [first[1] > first[2], second[1] > second[2]] == [True, False]


def test_a_partition_refuses_before_a_limit_of_the_association_does() -> None:
    w = world(Limits(max_submit_jobs=1), more=f"{BASIC}\nEnforcePartLimits=ALL")
    w.sbatch("-J a -n1", 10, at=0)
    w.sbatch("-J b -n500", 10, at=0)
    w.sbatch("-J c -n1", 10, at=0)
    w.until(5)
    assert w.refused["b"] == "More processors requested than permitted"
    assert w.refused["c"].startswith("AssocMaxSubmitJobLimit")


def test_a_job_without_limit_gets_the_shortest_wall_limit() -> None:
    w = world(Limits(max_wall_s=1800), Limits(grp_wall_s=1200))
    w.sbatch("-J a -n1", 10, at=0)
    w.sbatch("-J b -n1 -t 40", 10, at=0)
    w.until(5)
    assert w["a"].time_limit_s == 1200 and w.state("a") == "RUNNING"
    assert w.reason("b") == "AssocMaxWallDurationPerJobLimit"
    w.tell(SetTimeLimit(w.id("b"), 1800), 6)
    w.until(75)
    assert w.state("b") == "COMPLETED"


def test_a_qos_hides_the_same_limit_of_the_association_only() -> None:
    wide = Qos("wide", limits=Limits(grp_jobs=9), max_jobs_pa=9)
    w = world(Limits(max_jobs=1, max_tres={"cpu": 2}), Limits(grp_jobs=1), wide)
    w.sbatch("-J a -n1 -t 5", 100, at=0)
    w.sbatch("-J b -n1 -t 5", 100, at=0)
    w.sbatch("--qos wide -J c -n1 -t 5", 100, at=0)
    w.sbatch("--qos wide -J d -n3 -t 5", 100, at=0)
    w.until(9)
    assert [w.state(n) for n in "abcd"] == ["RUNNING", "PENDING", "RUNNING", "PENDING"]
    assert w.reasons("b d") == {"b": "AssocMaxJobsLimit", "d": "AssocMaxCpuPerJobLimit"}


def test_nodes_of_a_group_count_once_and_cap_what_a_job_takes() -> None:
    w = world(None, Limits(grp_tres={"node": 2}))
    w.sbatch("-J a -N1-4 -n4 -t 5", 100, at=0)  # would take four nodes
    w.sbatch("-J b -n1 -t 5", 100, at=1)
    w.sbatch("-J c -N3 -t 5", 100, at=1)
    w.sbatch("-J d -n8 -t 5", 100, at=1)
    w.until(9)
    assert w.nodes("a") == "n[1-2]" and w.nodes("b") == "n1"
    assert w.reasons("c d") == {"c": "AssocGrpNodeLimit", "d": "AssocGrpNodeLimit"}


def test_usage_factor_safe_and_limit_factor() -> None:
    half = Qos("half", flags=frozenset({"UsageFactorSafe"}), usage_factor=0.5)
    double = Qos("double", limit_factor=2.0)
    w = world(Limits(max_tres={"cpu": 4}, max_tres_mins={"cpu": 40}), None, half, double)
    w.sbatch("--qos half -J a -n4 -t 20", 10, at=0)
    w.sbatch("-J b -n4 -t 11", 10, at=0)
    w.sbatch("--qos double -J c -n8 -t 5", 10, at=0)
    w.sbatch("--qos double -J d -n9 -t 1", 10, at=0)
    w.until(9)
    assert [w.state(n) for n in "abcd"] == ["RUNNING", "PENDING", "RUNNING", "PENDING"]
    assert w.reasons("b d") == {"b": "AssocMaxCpuMinutesPerJobLimit", "d": "AssocMaxCpuPerJobLimit"}


def test_a_running_job_over_its_own_minutes_is_ended_by_the_scan() -> None:
    w = world(Limits(max_tres_mins={"cpu": 8}))
    w.sbatch("-J a -n4 -t 2", 1000, at=5)  # OverTimeLimit would let it go on
    w.sbatch("-J b -n1 -t 8", 470, at=5)
    w.until(1000)
    assert (w.state("a"), w.reason("a"), w["a"].end_time) == ("TIMEOUT", "TimeLimit", 150)  # 5 + 120, next of 30 s
    assert w.state("b") == "COMPLETED"


def test_a_changed_time_limit_changes_what_is_owed() -> None:
    w = world(None, Limits(grp_tres_run_mins={"cpu": 40}))
    w.sbatch("-J a -n4 -t 10", 500, at=0)
    w.sbatch("-J b -n1 -t 10", 10, at=0)
    w.until(5)
    assert w.reason("b") == "AssocGrpCPURunMinutesLimit"
    w.tell(SetTimeLimit(w.id("a"), 420), 6)
    w.until(75)
    assert w.state("b") == "COMPLETED"


def test_submitted_to_several_partitions_counts_in_the_qos_of_all_until_it_runs() -> None:
    w = world(None, None, Qos("part", limits=Limits(grp_submit_jobs=1)))
    w.sbatch("-p main,pq -J a -n16 -t 5", 300, at=0)
    w.sbatch("-p pq -J b -n1 -t 5", 50, at=1)
    w.sbatch("-p pq -J c -n1 -t 5", None, at=5)
    w.until(6)
    assert w["a"].partition.name == "main" and "b" in w.refused and "c" not in w.refused
    w.scancel("c", 7)
    w.tell(Requeue(w.id("a")), 8)
    w.sbatch("-p pq -J d -n1 -t 5", 50, at=9)
    w.until(10)
    assert w.refused["d"].startswith("QOSGrpSubmitJobsLimit")


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_a_limited_job_holds_up_nobody_under_the_literatures_policies(policy: str) -> None:
    w = world(Limits(max_jobs=1), policy=policy)
    w.sbatch("-J a -n4 -t 5", 100, at=0)
    w.sbatch("-J b -n16 -t 5", 100, at=1)
    w.sbatch("-J c -n4 -t 5", 50, at=1, user="bob")
    w.until(50)
    assert (w.start("c"), w.state("b"), w.reason("b")) == (1, "PENDING", "AssocMaxJobsLimit")
    w.until(1000)
    assert w.start("b") == 100  # in the instant the limit is free


def test_held_while_a_limit_keeps_it_out_of_sight() -> None:
    w = world(Limits(max_jobs=1), policy="fcfs")
    w.sbatch("-J a -n4 -t 5", 100, at=0)
    w.sbatch("-J b -n4 -t 5", 100, at=0)
    w.tell(Hold(w.id("b")), 10)
    w.until(200)
    assert (w.state("b"), w.reason("b")) == ("PENDING", "JobHeldUser")
    w.tell(Release(w.id("b")), 210)
    w.until(400)
    assert w.start("b") == 210


def test_a_copy_of_the_controller_has_limits_of_its_own() -> None:
    w = world(account=Limits(grp_tres={"cpu": 4}))
    w.sbatch("-J a -n4 -t 10", 100)
    w.sbatch("-J b -n4 -t 10", 100)
    w.until(20)
    assert w.reason("b") == "AssocGrpCpuLimit"
    fork, _ = Original(w.controller, None).copy()
    fork.note(21, [JobEnded(w.id("a"), "COMPLETED", "0:0", 0)])
    assert [action.job.id for action in fork.run_pass(21, backfill=False) if isinstance(action, Launch)] == [w.id("b")]
    assert not w.controller.run_pass(21, backfill=False)


def test_a_copy_of_the_controller_finds_requests_that_were_compiled() -> None:
    """They are kept by the identity of what was asked for: a copy of that would be compiled anew, or meet another."""
    w = world()
    w.sbatch("-J a -n4 -t 10", 100)
    w.until(20)
    fork, _ = Original(w.controller, None).copy()
    job, before = fork.state.jobs[w.id("a")], fork.state.cluster.n_compiled
    fork.note(21, [Submit(replace(job.sub, job_id=99))])
    assert fork.state.jobs[99].request is job.request
    assert fork.state.cluster.n_compiled == before
