"""MaxMemPerCPU, MaxMemPerNode and what defaults have to do with them, as recorded with slurmctld 22.05.8.

Recordings mem-*: four nodes of 8 CPUs and 8000 MB; partitions with either limit, with and without sharing, with a
default of either kind beyond it. Every job's fate is compared with the recorded one: refused with the same words,
waiting with the same reason, or run with as many CPUs.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from golden.asked import Asked, load, replayed
from unit.core.world import World

from slurmsim.core.records.messages import AlterPartition

OVER = "MaxMemPerLimit"


def shown(w: World, name: str) -> dict[str, str]:
    """What scontrol shows of a job, as far as limits on memory change it."""
    job, fitted = w[name], w[name].request.memory
    return {
        "JobState": job.state, "Reason": job.reason, "NumCPUs": str(job.n_cpus),
        "MinCPUsNode": str(fitted.least_cpus), "CPUs/Task": str(fitted.cpus_per_task),
    }  # fmt: skip


def total_memory(w: World, name: str) -> int:
    """MiB the job held."""
    alloc = w[name].alloc
    assert alloc is not None
    return alloc.mem * alloc.n_nodes if isinstance(alloc.mem, int) else int(alloc.mem.sum())


def fates(asked: Asked) -> dict[str, dict[str, str]]:
    """Jobs of the last look that were not refused, arrays left out."""
    keys = ("JobState", "Reason", "NumCPUs", "MinCPUsNode", "CPUs/Task")
    _, rows = asked.looks[-1]
    return {name: {k: row[k] for k in keys} for name, row in rows.items() if row["JobState"] != "FAILED"}


@pytest.mark.parametrize("name", ["mem-limits", "mem-nodef", "mem-nocons"])
def test_every_job_meets_its_recorded_fate(name: str) -> None:
    asked = load(name)
    w = replayed(asked)
    w.until(400)
    assert w.refused == asked.refused
    expected = fates(asked)
    # in the order of its partitions a job of two is not always tried: where m3 runs is luck
    for job in ("b3", "m3"):
        expected.pop(job, None)
    assert len(expected) > 9
    assert {job: shown(w, job) for job in expected} == expected
    memory = {job: dict(item.split("=") for item in asked.looks[-1][1][job]["TRES"].split(",")).get("mem", "0M")
              for job in expected if expected[job]["JobState"] == "COMPLETED"}  # fmt: skip
    assert {job: f"{total_memory(w, job)}M" for job in memory} == memory


def test_enforced_limits_refuse_what_the_user_asked_for_and_defaults_later() -> None:
    asked = load("mem-enforce")
    w = replayed(asked)
    w.until(400)
    assert w.refused == asked.refused
    assert set(asked.refused.values()) == {
        "Memory required by task is not available", "Requested partition configuration not available now",
        "Requested node configuration is not available",
    }  # fmt: skip
    assert not [name for name, job in w.jobs.items() if job.reason == OVER]


def test_any_partition_is_enough_where_all_need_not_be() -> None:
    asked = load("mem-enforce")
    w = World(asked.conf.replace("EnforcePartLimits=ALL", "EnforcePartLimits=ANY"), "backfill")
    w.sbatch("-p pn,main -J m1 --mem=4001 -t 5", 20)
    w.sbatch("-p pn,pdn -J m2 --mem=4001 -t 5", 20)
    w.until(60)
    assert w.state("m1") == "COMPLETED"
    assert w["m1"].partition.name == "main"
    assert w.refused == {"m2": "Memory required by task is not available"}


def test_the_clusters_limit_and_a_partition_that_lifts_it_later() -> None:
    """MaxMemPerNode=3000 for all; from 8:01:21 on partition main has 8000 and what waited there starts."""
    asked = load("mem-global")
    w = replayed(asked)
    w.until(asked.looks[0][0])
    waiting = {name: row["Reason"] for name, row in asked.looks[0][1].items() if row["JobState"] == "PENDING"}
    assert waiting == {"g1": OVER, "g3": OVER, "g6": OVER, "h1": "JobHeldUser", "h2": "JobHeldUser"}
    assert w.reasons(" ".join(waiting)) == waiting
    changed = next(second for second, command in asked.others if "maxmempernode" in command)
    w.until(changed)
    w.tell(AlterPartition(replace(w.controller.state.cluster.by_name["main"].spec, max_mem_per_node_mib=8000)))
    w.until(400)
    expected = {name: fate for name, fate in fates(asked).items() if name != "h1"}  # which was changed and released
    assert {name: shown(w, name) for name in expected} == expected
    assert w.refused == asked.refused


def test_jobs_of_one_request_share_a_verdict_but_not_between_partitions() -> None:
    w = World(load("mem-limits").conf, "backfill")
    w.sbatch("-p pc -J a -n2 --mem-per-cpu=1500 -t 5", 20)
    w.sbatch("-p main -J b -n2 --mem-per-cpu=1500 -t 5", 20)
    w.until(10)
    assert [w[name].n_cpus for name in "ab"] == [4, 2]


def test_policies_of_the_literature_keep_to_the_limits() -> None:
    w = World(load("mem-limits").conf, "easy")
    w.sbatch("-p pn -J over --mem=4001 -t 5", 20)
    w.sbatch("-p pn -J inside --mem=4000 -t 5", 20)
    w.sbatch("-p pc -J more -n1 --mem=3000 -t 5", 20)
    w.until(60)
    assert w.reasons("over") == {"over": OVER}
    assert [w.state(name) for name in ("over", "inside", "more")] == ["PENDING", "COMPLETED", "COMPLETED"]
    assert w.shares("more") == "3"
