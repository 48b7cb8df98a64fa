"""CPUs a test found for a job that could not start: they count in its size and against limits from then on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.core.world import World, simple

from slurmsim.core.records.messages import AlterJob, AlterPartition, Hold, Requeue
from slurmsim.model.accounting import Accounting, Association, Limits, Qos

SIZES = """PriorityType=priority/multifactor
PriorityWeightJobSize=1000
PriorityCalcPeriod=1
AccountingStorageType=accounting_storage/slurmdbd
"""
LIMITED = SIZES + "AccountingStorageEnforce=associations,limits\n"


def world(policy: str, more: str, cpus: int | None = None) -> World:
    limits = Limits(grp_tres={"cpu": cpus}) if cpus is not None else Limits()
    people = (
        Association("root"), Association("acc", parent="root", limits=limits), Association("free", parent="root"),
        Association("acc", "alice", is_default=True), Association("free", "bob", is_default=True),
    )  # fmt: skip
    return World(simple(4, 4, more), policy, accounting=Accounting(people, (Qos("normal"),)))


@pytest.mark.parametrize("policy", ["backfill", "builtin"])
def test_whole_nodes_count_with_all_their_cpus_once_a_start_was_worked_out(policy: str) -> None:
    """(2/4 + 8/16)/2 for (2/4 + 2/16)/2, when the priority thread runs next; not before the plugin's first turn."""
    w = world(policy, SIZES)
    w.sbatch("-J a -N4 --exclusive -t 10", run=500)
    w.sbatch("-J b -N2 --exclusive -t 10", run=100)
    w.sbatch("-J c -N2 --exclusive -t 10", run=100, at=55)
    w.until(59)
    assert (w["b"].priority, w["c"].priority) == (312, 312)
    w.until(61)
    assert (w["b"].priority, w["c"].priority) == (500, 312)
    w.until(121)
    assert w["c"].priority == 500


def test_what_each_node_has_to_give_counts() -> None:
    w = world("backfill", SIZES)
    w.sbatch("-J a -N4 --exclusive -t 10", run=500)
    w.sbatch("-J b -n1 -t 10", run=100)
    w.until(61)
    assert w["b"].tried_cpus == 1
    w.tell(AlterJob(w.id("b"), replace(w["b"].sub, request=replace(w["b"].sub.request, min_cpus_per_node=3))))
    w.until(121)
    assert w["b"].tried_cpus == 3


def test_of_a_range_of_whole_nodes_those_of_its_latest_plan_count() -> None:
    w = World(simple(4, 4, SETTLED), "backfill", plan_all=True)
    w.sbatch("-J a -N1 --exclusive -t 100", run=5000)
    w.sbatch("-J d -N3 --exclusive -t 10", run=600, at=5)
    w.sbatch("-J b -N3-4 --exclusive -t 10", run=100, at=10)
    w.until(61)
    assert w["b"].tried_cpus == 12
    w.scancel("a")
    w.until(121)
    assert (w.start("b"), w["b"].tried_cpus) == (None, 16)


def test_builtin_looks_at_the_first_jobs_only() -> None:
    w = world("builtin", SIZES + "SchedulerParameters=bf_max_job_test=1,bf_interval=10\n")
    w.sbatch("-J a -N4 --exclusive -t 10", run=500)
    for name in ("b", "c", "d"):
        w.sbatch(f"-J {name} -N2 --exclusive -t 10", run=100)
    w.until(61)
    assert [w[name].priority for name in ("b", "c", "d")] == [500, 500, 312]


def test_what_is_found_for_a_task_counts_for_all_that_are_one_record_with_it() -> None:
    w = world("builtin", SIZES + "SchedulerParameters=bf_max_job_test=1,bf_interval=10\n")
    w.sbatch("-J full -N4 --exclusive -t 10", run=500)
    w.sbatch("-J a -N2 --exclusive -t 10 -a 0-3", run=100)
    w.until(1)
    w.tell(Hold(w.id("a_3")))  # has a record of its own
    w.until(61)
    assert [w[f"a_{task}"].priority for task in range(3)] == [500, 500, 500]
    assert w["a_3"].tried_cpus == 0


def test_a_requeued_job_is_as_new() -> None:
    w = world("backfill", SIZES)
    w.sbatch("-J a -N4 --exclusive -t 10", run=40)
    w.sbatch("-J b -N2 --exclusive -t 10", run=1000)
    w.until(100)
    assert w.state("b") == "RUNNING" and w["b"].tried_cpus == 8
    w.tell(Requeue(w.id("b")))
    w.until(101)
    assert w["b"].tried_cpus == 0


def test_where_no_nodes_are_free_limits_go_by_what_was_found() -> None:
    w = world("backfill", LIMITED, cpus=7)
    w.sbatch("-J a -N4 --exclusive -t 10", run=500, user="bob")
    w.sbatch("-J b -N2 --exclusive -t 10", run=100)  # two CPUs asked for, eight with the nodes
    w.until(20)
    assert w.reason("b") == "Resources"
    w.until(61)
    assert w.reason("b") == "AssocGrpCpuLimit"
    w.until(2000)
    assert w.start("b") is None


SETTLED = "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\n"  # no database: no priority thread


def test_a_changed_partition_works_no_priority_out_anew() -> None:
    """What was found meanwhile counts from the next update on, and sprio goes on showing what counts."""
    w = World(simple(4, 4, SETTLED), "backfill")
    w.sbatch("-J a -N4 --exclusive -t 10", run=500)
    w.sbatch("-J b -N2 --exclusive -t 10", run=100)
    w.until(61)
    assert (w["b"].tried_cpus, w["b"].priority) == (8, 312)
    w.tell(AlterPartition(replace(w.controller.state.partitions[0].spec, max_time_s=7200)))
    w.until(62)
    assert (w["b"].priority, w.controller.found_cpus.counted(w["b"])) == (312, 0)
    assert [record.priority for record in w.controller.state.queue.jobs[w.id("b")]] == [312]
    w.tell(AlterJob(w.id("b"), w["b"].sub))
    w.until(63)
    assert (w["b"].priority, w.controller.found_cpus.counted(w["b"])) == (500, 8)


def test_an_update_counts_the_cpus_found_before_until_the_next_test() -> None:
    w = World(simple(4, 4, SETTLED), "backfill")
    w.sbatch("-J a -N4 --exclusive -t 10", run=500)
    w.sbatch("-J b -n2 -t 10", run=100)
    w.until(61)
    job = w["b"]
    assert (job.tried_cpus, job.priority) == (2, 187)
    w.tell(AlterJob(job.id, replace(job.sub, request=replace(job.sub.request, n_tasks=4))))
    w.until(62)
    assert (job.tried_cpus, job.priority) == (2, 187)
    w.until(200)
    assert (job.tried_cpus, job.priority) == (4, 187)
    w.tell(AlterJob(job.id, job.sub))
    w.until(201)
    assert job.priority == 250
