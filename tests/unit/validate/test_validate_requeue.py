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
    t.set(1, restarts=1, last_submit=30, begin=151, eligible=151)
    return t


def recorded() -> Tables:
    """The same with a row of the first run, which had four CPUs of each node, and a summary of both."""
    t = requeued()
    t.add_requeued(1, 0, 30, "n[1-2]", state="NODE_FAIL")
    t.summary |= {"requeues": 1, "requeued_cpu_s": 8 * 30}
    return t


def judge(t: Tables) -> ValidationReport:
    return validate_schedule(t.jobs, t.manifest["cluster"], events=t.events)


def judge_all(t: Tables) -> ValidationReport:
    return validate_schedule(t.jobs, t.manifest["cluster"], requeued=t.requeued, events=t.events, summary=t.summary)


def test_requeue_is_legal_and_the_first_run_ends_there() -> None:
    report = judge(requeued())
    assert report.valid, report.to_text()
    assert report.check("cpus_not_overbooked").subjects == 5  # n1 n2, n3 n4, n2


def test_recorded_runs_are_counted_with_their_amounts() -> None:
    t = recorded()
    report = judge_all(t)
    assert report.valid, report.to_text()
    assert report.check("requeued_runs_agree").subjects == 1
    assert report.check("allocation_adds_up").subjects == 3
    assert report.check("within_time_limit").subjects == 3
    t.drop_event(t.event(1, "REQUEUE"))  # the first run still has all of n2 when job 2 starts there
    t.add_event(45, "REQUEUE", 1, "PENDING", partition="batch")
    t.requeued["end"][0], t.requeued["run_time_s"][0] = 45, 45
    t.set(1, last_submit=45)
    t.summary["requeued_cpu_s"] = 8 * 45
    report = judge_all(t)
    assert set(report.failed) == {"cpus_not_overbooked", "nodes_usable"}
    assert report.check("cpus_not_overbooked").examples == ["n2 at 40: 7 CPUs in use of 4 (jobs 1, 2)"]


@pytest.mark.parametrize(
    ("damage", "check", "text"),
    [
        ({"end": 31, "run_time_s": 31}, "requeued_runs_agree", "job 1, run from 0: end is 31, its events say 30"),
        ({"node_list": "n[1,3]"}, "requeued_runs_agree", "node_list is n[1,3], its events say n[1-2]"),
        ({"partition": "all"}, "requeued_runs_agree", "partition is all, its events say batch"),
        (
            {"start": 1, "run_time_s": 29, "wait_s": 1},
            "requeued_runs_agree",
            "job 1, run from 0: start is 1, its events say 0",
        ),
        ({"job_id": 2}, "requeued_runs_agree", "job 2 has a requeued run from 0 that no event tells of"),
        ({"state": "COMPLETED"}, "state_matches_times", "COMPLETED, no state of a run that ends in a requeue"),
        ({"time_limit_s": 29}, "within_time_limit", "job 1 ran 30 s with a limit of 29 s"),
        ({"cpus": 7}, "allocation_adds_up", "job 1 has cpus 7, but 8 CPUs on its nodes"),
        ({"req_nodes": 3}, "request_met", "job 1 got 2 nodes, it asked for 3"),
        ({"wait_s": 2}, "derived_times", "job 1 has wait_s 2, not 0"),
    ],
)
def test_damage_to_a_recorded_run_is_found(damage: dict[str, object], check: str, text: str) -> None:
    t = recorded()
    for name, value in damage.items():
        t.requeued[name][0] = value
    report = judge_all(t)
    assert any(text in example for example in report.check(check).examples), report.to_text()


def test_a_wait_counts_from_the_first_submission() -> None:
    t = recorded()
    t.set(1, submit=30, wait_s=130)
    assert "job 1 has submit 30, SUBMIT or REFUSE at 0" in judge_all(t).check("jobs_and_events_agree").examples
    t = recorded()
    t.set(1, last_submit=0)
    assert "job 1 has last_submit 0, SUBMIT or last REQUEUE at 30" in (
        judge_all(t).check("jobs_and_events_agree").examples
    )


def test_first_run_counts_at_least_a_cpu_a_node() -> None:
    t = made([Made(1, 0, 160, 200, "n[3-4]"), Made(2, 0, 40, 50, "n2", cpus=4)])
    t.add_event(0, "START", 1, "RUNNING", nodes="n[1-2]", partition="batch")
    t.add_event(45, "REQUEUE", 1, "PENDING", partition="batch")
    t.set(1, restarts=1, last_submit=45)
    assert judge(t).check("cpus_not_overbooked").examples == ["n2 at 40: 5 CPUs in use of 4 (jobs 1, 2)"]


def test_first_run_may_not_go_on_on_a_dead_node() -> None:
    t = requeued()
    t.events["time"][t.event(None, "NODE")] = 29
    report = judge(t)
    assert "job 1 used n1 from 0 to 30, while it was down" in report.check("nodes_usable").examples


def test_requeue_of_a_pending_job_is_illegal() -> None:
    t = requeued()
    t.add_event(40, "REQUEUE", 1, "PENDING")
    t.set(1, restarts=2, last_submit=40)
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


@pytest.mark.parametrize(("told", "valid"), [(159, False), (160, True)])
def test_a_drain_in_the_second_of_a_start_may_come_after_it(told: int, valid: bool) -> None:
    t = requeued()
    t.add_event(told, "NODE", None, "DRAIN", nodes="n3")
    t.events["time"] = [
        160 if state == "DRAIN" else at for at, state in zip(t.events["time"], t.events["state"], strict=True)
    ]
    assert judge(t).valid == valid


def test_a_job_may_lose_nodes_and_be_requeued_in_one_second() -> None:
    t = made([Made(1, 0, 160, 200, "n[3-4]", cpus=4)])
    t.add_event(0, "START", 1, "RUNNING", nodes="n[1-2]", partition="batch")
    t.add_event(30, "RESIZE", 1, "RUNNING", nodes="n1", partition="batch")
    t.add_event(30, "RESIZE", 1, "RUNNING", nodes="n1", partition="batch")
    t.add_event(30, "REQUEUE", 1, "PENDING", partition="batch")
    t.set(1, restarts=1, last_submit=30, begin=151, eligible=151)
    t.add_requeued(1, 0, 30, "n[1-2]", state="RESIZING")
    t.add_requeued(1, 30, 30, "n1", state="RESIZING")
    t.add_requeued(1, 30, 30, "n1")
    report = validate_schedule(t.jobs, t.manifest["cluster"], requeued=t.requeued, events=t.events)
    assert report.valid, report.to_text()


def test_a_job_whose_limit_is_cut_below_what_it_has_run() -> None:
    t = made([Made(1, 0, 0, 400, "n1", limit=100, state="TIMEOUT")])
    assert judge(t).failed == ["within_time_limit"]
    t.add_event(399, "LIMIT", 1, "RUNNING", value=100)
    assert validate_schedule(t.jobs, t.manifest["cluster"], events=t.events, limit_allowance_s=1).valid
