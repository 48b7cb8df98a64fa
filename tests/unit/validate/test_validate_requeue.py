"""Jobs that ran more than once, never, or left the queue by a cancel."""

from __future__ import annotations

import pytest
from made_runs import Made, Tables, made

from slurmsim.validate import ValidationReport, validate_schedule


def requeued() -> Tables:
    """Job 1 runs on n1-n2 from 0, loses n1 at 30, is requeued and runs again on n[3-4] from 160 to 200."""
    t = made([Made(1, 0, 160, 200, "n[3-4]", cpus=4), Made(2, 0, 40, 50, "n2", cpus=3)])
    t.add_event(0, "START", 1, "RUNNING", nodes="n[1-2]", partition="batch")
    t.add_event(30, "NODE", None, "DOWN", nodes="n1")
    t.add_event(30, "REQUEUE", 1, "PENDING", partition="batch")
    t.set(1, restarts=1, submit=30, eligible=151, wait_s=130)
    return t


def judge(t: Tables) -> ValidationReport:
    return validate_schedule(t.jobs, t.manifest["cluster"], events=t.events)


def test_requeue_is_legal_and_the_first_run_ends_there() -> None:
    report = judge(requeued())
    assert report.valid, report.to_text()
    assert report.check("cpus_not_overbooked").subjects == 5  # n1 n2, n3 n4, n2


def test_first_run_counts_at_least_a_cpu_a_node() -> None:
    t = made([Made(1, 0, 160, 200, "n[3-4]"), Made(2, 0, 40, 50, "n2", cpus=4)])
    t.add_event(0, "START", 1, "RUNNING", nodes="n[1-2]", partition="batch")
    t.add_event(45, "REQUEUE", 1, "PENDING", partition="batch")
    t.set(1, restarts=1)
    assert judge(t).check("cpus_not_overbooked").examples == ["n2 at 40: 5 CPUs in use of 4 (jobs 1, 2)"]


def test_first_run_may_not_go_on_on_a_dead_node() -> None:
    t = requeued()
    t.events["time"][t.event(None, "NODE")] = 29
    report = judge(t)
    assert "job 1 used n1 from 0 to 30, while it was down" in report.check("nodes_usable").examples


def test_requeue_of_a_pending_job_is_illegal() -> None:
    t = requeued()
    t.add_event(40, "REQUEUE", 1, "PENDING")
    t.set(1, restarts=2)
    assert judge(t).check("event_order").examples == ["job 1: REQUEUE at 40 while pending"]


def test_usage_rows_during_unknown_amounts_are_not_judged_by_cpus() -> None:
    t = requeued()
    usage = {
        "time": [0, 30, 40], "partition": ["", "", ""], "alloc_nodes": [2, 0, 1], "idle_nodes": [4, 5, 4],
        "down_nodes": [0, 1, 1], "alloc_cpus": [7, 0, 2], "alloc_gpus": [0, 0, 0], "alloc_mem_mib": [0, 0, 100],
        "running_jobs": [1, 0, 1], "pending_jobs": [1, 2, 1],
    }  # fmt: skip
    report = validate_schedule(t.jobs, t.manifest["cluster"], events=t.events, usage=usage)
    assert report.failed == ["usage_alloc_cpus"]
    check = report.check("usage_alloc_cpus")
    assert (check.subjects, check.examples) == (2, ["cluster at 40: alloc_cpus is 2, a recount gives 3"])


def gone(event: str) -> Tables:
    """Job 2 is cancelled at 20 while it waits; `event` tells of it."""
    t = made([Made(1, 0, 0, 50, "n1"), Made(2, 10, 50, 60, "n1")])
    t.drop_event(t.event(2, "START"))
    t.drop_event(t.event(2, "END"))
    t.add_event(20, event, 2, "CANCELLED")
    t.set(2, start=None, end=20, state="CANCELLED", node_list="", cpus_per_node="", mem_per_node_mib="",
          run_time_s=None, wait_s=None)  # fmt: skip
    return t


@pytest.mark.parametrize("event", ["END", "CANCEL"])
def test_cancel_while_pending(event: str) -> None:
    t = gone(event)
    usage = {
        "time": [10, 20], "partition": ["", ""], "alloc_nodes": [1, 1], "idle_nodes": [5, 5],
        "down_nodes": [0, 0], "alloc_cpus": [1, 1], "alloc_gpus": [0, 0], "alloc_mem_mib": [100, 100],
        "running_jobs": [1, 1], "pending_jobs": [1, 0],
    }  # fmt: skip
    report = validate_schedule(t.jobs, t.manifest["cluster"], events=t.events, usage=usage)
    assert report.valid, report.to_text()


def test_start_that_nobody_told() -> None:
    t = gone("END")
    t.set(2, start=15)
    assert "job 2 has start 15, no START at null" in judge(t).check("jobs_and_events_agree").examples


def test_run_stopped_with_jobs_running_and_pending() -> None:
    t = made([Made(1, 0, 0, 50, "n1", cpus=4), Made(2, 10, 50, 60, "n1")])
    t.drop_event(t.event(1, "END"))
    t.drop_event(t.event(2, "START"))
    t.drop_event(t.event(2, "END"))
    t.set(1, end=None, state="RUNNING", run_time_s=None)
    t.set(2, start=None, end=None, state="PENDING", node_list="", cpus_per_node="", mem_per_node_mib="",
          run_time_s=None, wait_s=None)  # fmt: skip
    assert judge(t).valid
    t.set(1, state="COMPLETED")
    assert judge(t).check("state_matches_times").examples == ["job 1 has state COMPLETED, but no end"]
