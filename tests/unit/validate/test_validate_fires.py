"""Each check fires on the damage it is for, with an example that names the culprit, and no other check does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from made_runs import CLUSTER, Made, Tables, made, sound

from slurmsim.validate import ValidationReport, validate_schedule


def judge(t: Tables, **more: Any) -> ValidationReport:
    allowance = t.manifest.get("limit_allowance_s", 0)
    return validate_schedule(
        t.jobs, t.manifest["cluster"], requeued=t.requeued, events=t.events, usage=t.usage, summary=t.summary,
        limit_allowance_s=allowance, **more,
    )  # fmt: skip


def test_a_sound_run_is_valid() -> None:
    report = judge(sound())
    assert report.valid, report.to_text()
    skipped = {c.name for c in report.checks if c.skipped}
    assert skipped == {
        "nodes_not_shared",
        "reservations_kept",
        "licenses_not_overused",
        "layouts_fit",
        "inputs_unchanged",
        "decisions_kept",
    }


# -- the jobs table ----------------------------------------------------------------------------------------------------


def duplicate_row(t: Tables) -> None:
    for column in t.jobs.values():
        column.append(column[0])


def shift(t: Tables, job_id: int, start: int, end: int) -> None:
    """Another start and end, told by all of the job's own cells and events."""
    row = t.row(job_id)
    submit = t.jobs["submit"][row]
    t.set(job_id, start=start, end=end, run_time_s=end - start, wait_s=start - submit)
    for event, time in (("START", start), ("END", end)):
        at = t.event(job_id, event)
        cells = {name: column[at] for name, column in t.events.items()}
        t.drop_event(at)
        t.add_event(**{**cells, "time": time})


def before_submit(t: Tables) -> None:
    shift(t, 2, -5, 50)
    t.set(2, eligible=-5)


def before_eligible(t: Tables) -> None:
    t.set(3, eligible=11)


def before_begin(t: Tables) -> None:
    t.set(4, begin=101)


def before_it_came(t: Tables) -> None:
    """Job 4 is of a stream that came to it after it was submitted."""
    t.set(4, arrived=t.jobs["submit"][t.row(4)] + 3)
    t.summary["mean_buffer_s"] = -3.0


def wrong_time_in_the_buffer(t: Tables) -> None:
    t.set(4, arrived=t.jobs["submit"][t.row(4)] - 2)
    t.summary["mean_buffer_s"] = 3.0


def less_than_asked(column: str) -> Callable[[Tables], None]:
    def damage(t: Tables) -> None:
        t.jobs[column][t.row(5)] += 1

    damage.__name__ = f"less_than_{column}"
    return damage


def refused(t: Tables) -> None:
    """Job 8 is refused at 40, in both tables; the summary says so."""
    row = t.row(2)
    for name, column in t.jobs.items():
        empty = None if name in ("start", "end", "eligible", "run_time_s", "wait_s") else column[row]
        column.append(empty)
    t.jobs["job_id"][-1] = 8
    t.set(8, submit=40, last_submit=40, state="REFUSED", node_list="", cpus_per_node="", mem_per_node_mib="")
    t.add_event(40, "REFUSE", 8, "REFUSED")
    t.summary["refused"] = 1


def refused_but_counted(t: Tables) -> None:
    refused(t)
    t.summary["jobs"] += 1
    t.summary["refused"] = 0


def refused_and_started(t: Tables) -> None:
    refused(t)
    t.set(8, start=50)


def refused_in_one_table(t: Tables) -> None:
    refused(t)
    t.events["event"][t.event(8, "REFUSE")] = "SUBMIT"


def refused_and_pending(t: Tables) -> None:
    refused(t)
    t.add_event(41, "REASON", 8, "PENDING")


def ends_before_start(t: Tables) -> None:
    shift(t, 7, 600, 599)


def wrong_wait(t: Tables) -> None:
    t.set(4, wait_s=81)


def over_limit(t: Tables) -> None:
    t.set(3, time_limit_s=99)


def early_timeout(t: Tables) -> None:
    t.set(4, time_limit_s=501)


def invented_state(t: Tables) -> None:
    t.set(2, state="DONE")
    t.events["state"][t.event(2, "END")] = "DONE"


def over_partition_limit(t: Tables) -> None:
    t.set(1, time_limit_s=1001)


def unlimited_in_limited_partition(t: Tables) -> None:
    t.set(1, time_limit_s=None)


def unknown_node(t: Tables) -> None:
    nodes(t, 7, "n4,g9")


def nodes(t: Tables, job_id: int, names: str) -> None:
    t.set(job_id, node_list=names)
    t.events["nodes"][t.event(job_id, "START")] = names


def wrong_partition(t: Tables) -> None:
    t.set(7, partition="gpu")


def invented_partition(t: Tables) -> None:
    t.set(7, partition="debug")


def miscounted_nodes(t: Tables) -> None:
    t.set(1, nodes=3)


def miscounted_cpus(t: Tables) -> None:
    t.set(1, cpus=7)


def malformed_cpus(t: Tables) -> None:
    t.set(2, cpus_per_node="two")


def cpus_for_other_nodes(t: Tables) -> None:
    t.set(3, cpus_per_node="2(x3)")


def miscounted_memory(t: Tables) -> None:
    t.set(2, mem_mib=1)


def miscounted_gpus(t: Tables) -> None:
    t.set(5, gpus=1)


ROWS: list[tuple[Callable[[Tables], None], dict[str, str]]] = [
    (duplicate_row, {"one_row_per_job": "job 1 has more than one row", "cpus_not_overbooked": "jobs 1, 1",
                     "memory_not_overbooked": ""}),
    (before_submit, {"start_after_submit": "job 2 starts at -5, before its submit time 0",
                     "event_order": "job 2: START"}),
    (before_eligible, {"start_after_eligible": "job 3 starts at 10, before its eligible time 11"}),
    (before_begin, {"start_after_begin": "job 4 starts at 100, before its begin time 101"}),
    (before_it_came, {"submit_after_arrival": "job 4 is submitted at 20, before it came at 23"}),
    (wrong_time_in_the_buffer, {"summary": "mean_buffer_s is 3.0, recomputed 2.0"}),
    (less_than_asked("req_nodes"), {"request_met": "job 5 got 1 nodes, it asked for 2"}),
    (less_than_asked("req_cpus"), {"request_met": "job 5 got 8 cpus, it asked for 9"}),
    (less_than_asked("req_gpus"), {"request_met": "job 5 got 2 gpus, it asked for 3"}),
    (less_than_asked("req_mem_mib"), {"request_met": "job 5 got 100 mem_mib, it asked for 101"}),
    (refused_but_counted, {"summary": "jobs is 8, recomputed 7"}),
    (refused_and_started, {"state_matches_times": "job 8 has state REFUSED, but a start or an end",
                           "known_nodes": "job 8 ran on no node", "jobs_and_events_agree": "",
                           "allocation_adds_up": "", "derived_times": ""}),
    (refused_in_one_table, {"jobs_and_events_agree": "job 8 is REFUSED in one table only"}),
    (refused_and_pending, {"event_order": "job 8: REASON at 41 while refused"}),
    (ends_before_start, {"end_after_start": "job 7 ends at 599, before its start 600",
                         "event_order": "job 7: START at 600 while finished"}),
    (wrong_wait, {"derived_times": "job 4 has wait_s 81, not 80"}),
    (over_limit, {"within_time_limit": "job 3 ran 100 s with a limit of 99 s"}),
    (early_timeout, {"timeout_at_limit": "job 4 is TIMEOUT after 500 s, its limit is 501"}),
    (invented_state, {"state_matches_times": "job 2 has state DONE, no state of a job", "summary": "completed is 5"}),
    (over_partition_limit, {"within_partition_limit": "limit of 1001 in partition batch (MaxTime 1000 s)"}),
    (unlimited_in_limited_partition, {"within_partition_limit": "limit of null"}),
    (unknown_node, {"known_nodes": "job 7: unknown node g9"}),
    (wrong_partition, {"nodes_in_partition": "job 7 of partition gpu ran on n4, which is not in it"}),
    (invented_partition, {"nodes_in_partition": "job 7 ran in unknown partition 'debug'"}),
    (miscounted_nodes, {"allocation_adds_up": "job 1 has nodes 3, but 2 nodes in its list"}),
    (miscounted_cpus, {"allocation_adds_up": "job 1 has cpus 7, but 8 CPUs on its nodes", "request_met": ""}),
    (malformed_cpus, {"allocation_adds_up": "job 2: per-node amounts malformed"}),
    (cpus_for_other_nodes, {"allocation_adds_up": "job 3: per-node amounts malformed"}),
    (miscounted_memory, {"allocation_adds_up": "job 2 has mem_mib 1, but 4000 MiB on its nodes", "request_met": ""}),
    (miscounted_gpus, {"allocation_adds_up": "job 5 has gpus 1, but 2 GPUs on its nodes", "request_met": ""}),
]  # fmt: skip

# -- over-booking, on runs whose tables agree with each other --------------------------------------------------------


def cluster(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CLUSTER), **changes}


SHARING: list[tuple[str, list[Made], dict[str, Any], str]] = [
    (
        "cpus_not_overbooked",
        [Made(1, 0, 0, 100, "n1", cpus=3), Made(2, 0, 99, 120, "n[1-2]", cpus=2)],
        CLUSTER,
        "n1 at 99: 5 CPUs in use of 4 (jobs 1, 2)",
    ),
    ("cpus_not_overbooked", [Made(1, 0, 0, 100, "n1", cpus=5)], CLUSTER, "n1 at 0: 5 CPUs in use of 4 (jobs 1)"),
    (
        "memory_not_overbooked",
        [Made(i, 0, 0, 100, "n4", mem=2001) for i in (1, 2, 3, 4)],
        CLUSTER,
        "n4 at 0: 8004 MiB in use of 8000 (jobs 1, 2, 3, 4)",
    ),
    (
        "gres_not_overbooked",
        [Made(i, 0, 0, 100, "g2", gpus=1, partition="gpu") for i in (1, 2, 3)],
        CLUSTER,
        "g2 at 0: 3 gpu in use of 2 (jobs 1, 2, 3)",
    ),
    ("gres_not_overbooked", [Made(1, 0, 0, 9, "n1", gpus=1)], CLUSTER, "n1 at 0: 1 gpu in use of 0 (jobs 1)"),
    (
        "nodes_not_shared",
        [Made(1, 0, 0, 100, "n[1-3]"), Made(2, 0, 50, 100, "n3"), Made(3, 0, 0, 50, "n4"), Made(4, 0, 50, 60, "n4")],
        cluster(whole_nodes=True),
        "n3 at 50: shared by jobs 1, 2",
    ),
    (
        "nodes_not_shared",
        [Made(1, 0, 0, 100, "n1"), *(Made(i, 0, 50, 50 + i, "n1", partition="all") for i in (2, 3))],
        cluster(partitions={**CLUSTER["partitions"], "batch": {"nodes": "n[1-4]", "exclusive": True}}),
        "n1 at 50: shared by jobs 1, 2, 3",
    ),
]  # fmt: skip


TAKES: list[tuple[dict[str, list[str]], str]] = [
    ({"allow_accounts": ["b", "c"]}, "job 1 of account 'a' ran in partition batch, which allows b,c"),
    ({"deny_accounts": ["c", "a"]}, "job 1 of account 'a' ran in partition batch, which denies c,a"),
    ({"allow_qos": ["high"]}, "job 1 of QOS 'normal' ran in partition batch, which allows high"),
    ({"deny_qos": ["normal"]}, "job 1 of QOS 'normal' ran in partition batch, which denies normal"),
]  # fmt: skip


@pytest.mark.parametrize(("lists", "says"), TAKES, ids=[next(iter(lists)) for lists, _ in TAKES])
def test_partition_that_does_not_take_a_job(lists: dict[str, list[str]], says: str) -> None:
    jobs = [Made(1, 0, 0, 100, "n1"), Made(2, 0, 0, 100, "n2", partition="all")]

    def judged(takes: dict[str, list[str]]) -> ValidationReport:
        batch = {**CLUSTER["partitions"]["batch"], **takes}
        return judge(made(jobs, cluster(partitions={**CLUSTER["partitions"], "batch": batch})))

    report = judged(lists)
    assert report.failed == ["partition_takes_job"], report.to_text()
    assert list(report.check("partition_takes_job").examples) == [says]
    assert judged({"allow_accounts": ["a"], "deny_qos": ["low"]}).valid


# -- the events table ------------------------------------------------------------------------------------------------


def time_turned_back(t: Tables) -> None:
    at = t.event(2, "END")  # at 50, between 40 and 90
    t.events["time"][at] = 39
    t.set(2, end=39, run_time_s=39)


def unknown_event(t: Tables) -> None:
    t.add_event(55, "EXPLODE", 1)


def event_of_nobody(t: Tables) -> None:
    t.add_event(55, "REASON", None)


def started_twice(t: Tables) -> None:
    t.add_event(0, "START", 1, "RUNNING", nodes="n[1-2]")


def never_submitted(t: Tables) -> None:
    t.drop_event(t.event(7, "SUBMIT"))


def plan_of_a_running_job(t: Tables) -> None:
    t.add_event(300, "PLAN", 4, "RUNNING", value=400)


def no_row(t: Tables) -> None:
    t.add_event(700, "SUBMIT", 8, "PENDING")


def no_events(t: Tables) -> None:
    for event in ("SUBMIT", "START", "END"):
        t.drop_event(t.event(7, event))


def other_end(t: Tables) -> None:
    t.events["time"][t.event(7, "END")] = 701


def missing_end(t: Tables) -> None:
    t.drop_event(t.event(7, "END"))


def other_state(t: Tables) -> None:
    t.events["state"][t.event(7, "END")] = "COMPLETED"


def other_nodes(t: Tables) -> None:
    t.events["nodes"][t.event(7, "START")] = "n3,g1"


def miscounted_restarts(t: Tables) -> None:
    t.set(5, restarts=1)


def node_down(t: Tables) -> None:
    t.add_event(45, "NODE", None, "DOWN", nodes="n[3-4]")
    t.add_event(60, "NODE", None, "IDLE", nodes="n[3-4]")


def node_down_for_ever(t: Tables) -> None:
    t.add_event(89, "NODE", None, "DOWN", nodes="g1")


def started_while_draining(t: Tables) -> None:
    t.add_event(80, "NODE", None, "DRAIN", nodes="n2")


EVENTS: list[tuple[Callable[[Tables], None], dict[str, str]]] = [
    (time_turned_back, {"events_in_time_order": "END at 39 follows an event at 40", "usage_running_jobs": "",
                        "summary": "mean_turnaround_s"}),
    (unknown_event, {"events_known": "unknown event 'EXPLODE'"}),
    (event_of_nobody, {"events_known": "REASON without a job"}),
    (started_twice, {"event_order": "job 1: START at 0 while running"}),
    (never_submitted, {"event_order": "job 7: START at 600 while not submitted",
                       "jobs_and_events_agree": "job 7 has submit 40"}),
    (plan_of_a_running_job, {"event_order": "job 4: PLAN at 300 while running"}),
    (no_row, {"jobs_and_events_agree": "job 8 has events but no row", "usage_pending_jobs": "at 700"}),
    (no_events, {"jobs_and_events_agree": "job 7 has a row but no events", "usage_pending_jobs": ""}),
    (other_end, {"jobs_and_events_agree": "job 7 has end 700, last END at 701"}),
    (missing_end, {"jobs_and_events_agree": "job 7 has an end, but its events leave it running"}),
    (other_state, {"final_state_agrees": "job 7 has state FAILED, its event says COMPLETED"}),
    (other_nodes, {"node_list_agrees": "job 7 has node_list n4,g1, its event says n3,g1"}),
    (miscounted_restarts, {"jobs_and_events_agree": "job 5 has restarts 1, but 0 REQUEUE events"}),
    (node_down, {"nodes_usable": "job 2 used n3 from 0 to 50, while it was down"}),
    (node_down_for_ever, {"nodes_usable": "job 5 used g1 from 40 to 90, while it was down"}),
    (started_while_draining, {"nodes_usable": "job 4 started on n2 from 100, while it was draining"}),
]  # fmt: skip

# -- usage and summary -----------------------------------------------------------------------------------------------


def cell(column: str, add: int) -> Callable[[Tables], None]:
    def damage(t: Tables) -> None:
        at = next(
            i for i in range(len(t.usage["time"])) if (t.usage["time"][i], t.usage["partition"][i]) == (40, "")
        )  # fmt: skip
        t.usage[column][at] += add

    damage.__name__ = f"{column}_off"
    return damage


def usage_of_nobody(t: Tables) -> None:
    t.usage["partition"][-1] = "debug"


def usage_turned_back(t: Tables) -> None:
    t.usage["time"][0] = 20


def summary_off(name: str) -> Callable[[Tables], None]:
    def damage(t: Tables) -> None:
        t.summary[name] += 0.01 if isinstance(t.summary[name], float) else 1

    damage.__name__ = f"{name}_off"
    return damage


def summary_incomplete(t: Tables) -> None:
    del t.summary["mean_wait_s"]


FIGURES: list[tuple[Callable[[Tables], None], dict[str, str]]] = [
    (cell("alloc_nodes", 1), {"usage_alloc_nodes": "cluster at 40: alloc_nodes is 6, a recount gives 5",
                              "usage_rows": "7 of 6"}),
    (cell("idle_nodes", -1), {"usage_rows": "cluster at 40: allocated, idle and down nodes are 5 of 6"}),
    (cell("alloc_gpus", 1), {"usage_alloc_gpus": "cluster at 40: alloc_gpus is 3, a recount gives 2"}),
    (cell("alloc_mem_mib", -1), {"usage_alloc_mem_mib": "a recount gives 28100"}),
    (cell("running_jobs", 1), {"usage_running_jobs": "cluster at 40: running_jobs is 5, a recount gives 4"}),
    (cell("pending_jobs", 1), {"usage_pending_jobs": "cluster at 40: pending_jobs is 4, a recount gives 3"}),
    (cell("alloc_cpus", 1), {"usage_alloc_cpus": "cluster at 40: alloc_cpus is 23, a recount gives 22",
                             "summary": "utilization"}),
    (usage_of_nobody, {"usage_rows": "unknown partition 'debug'"}),
    (usage_turned_back, {"usage_rows": "row 1: time 0 after 20"}),
    *[(summary_off(name), {"summary": f"{name} is"}) for name in sound().summary],
    (summary_incomplete, {"summary": "mean_wait_s is missing"}),
]  # fmt: skip

DAMAGES = ROWS + EVENTS + FIGURES
# Damage that makes one table disagree with others in more ways than are worth listing.
SPREADS = {"usage_alloc_nodes", "usage_alloc_cpus", "usage_alloc_mem_mib", "usage_alloc_gpus", "usage_running_jobs",
           "usage_pending_jobs", "summary", "jobs_and_events_agree"}  # fmt: skip


@pytest.mark.parametrize(("damage", "expected"), DAMAGES, ids=[d.__name__ for d, _ in DAMAGES])
def test_damage_is_found(damage: Callable[[Tables], None], expected: dict[str, str]) -> None:
    tables = sound()
    damage(tables)
    report = judge(tables)
    for name, text in expected.items():
        check = report.check(name)
        assert not check.ok, report.to_text()
        assert any(text in example for example in check.examples), check.examples
    assert not set(report.failed) - set(expected) - SPREADS, report.to_text()


@pytest.mark.parametrize(("name", "jobs", "machine", "text"), SHARING, ids=[f"{s[0]}-{len(s[1])}" for s in SHARING])
def test_overbooking_is_found(name: str, jobs: list[Made], machine: dict[str, Any], text: str) -> None:
    report = judge(made(jobs, machine))
    assert report.failed == [name], report.to_text()
    # a typed GRES counts under its type and under its name
    assert report.check(name).violations == (2 if name == "gres_not_overbooked" else 1)
    assert text in report.check(name).examples[0]


@pytest.mark.parametrize(("jobs_per_cpu", "valid"), [(1, False), (2, True)])
def test_cpus_may_be_shared_where_the_partition_says_so(jobs_per_cpu: int, valid: bool) -> None:
    parts = {**CLUSTER["partitions"], "batch": {"nodes": "n[1-4]", "jobs_per_cpu": jobs_per_cpu}}
    jobs = [Made(1, 0, 0, 9, "n1", cpus=4), Made(2, 0, 0, 9, "n1", cpus=2), Made(3, 0, 0, 9, "n1", 1, partition="all")]
    assert judge(made(jobs, cluster(partitions=parts))).valid is valid
    jobs[2].cpus = 2  # 6 CPUs of batch take 3, all takes 2: 5 of 4
    report = judge(made(jobs, cluster(partitions=parts)))
    assert report.failed == ["cpus_not_overbooked"]


def test_memory_counts_only_where_it_is_handed_out() -> None:
    jobs = [Made(1, 0, 0, 9, "n1", mem=9000)]
    assert judge(made(jobs)).failed == ["memory_not_overbooked"]
    report = judge(made(jobs, cluster(memory_tracked=False)))
    assert report.valid and report.check("memory_not_overbooked").skipped


def test_limit_allowance() -> None:
    tables = sound()
    over_limit(tables)
    tables.manifest["limit_allowance_s"] = 1
    assert judge(tables).valid
    tables.manifest["limit_allowance_s"] = None
    assert judge(tables).check("within_time_limit").skipped == "limits were not enforced in this run"


def test_used_up_minutes_end_jobs_before_their_limit() -> None:
    tables = sound()
    early_timeout(tables)
    assert judge(tables).failed == ["timeout_at_limit"]
    tables.manifest["cluster"] = cluster(used_up_ends=True)
    assert judge(tables).valid


def test_a_refused_submission_is_no_job() -> None:
    tables = sound()
    refused(tables)
    assert judge(tables).valid, judge(tables).to_text()


def test_columns_that_are_not_there_skip_their_checks_by_name() -> None:
    tables = sound()
    for name in ("begin", "req_nodes", "req_cpus", "req_gpus", "req_mem_mib"):
        del tables.jobs[name]
        del tables.requeued[name]
    report = judge(tables)
    assert report.valid
    assert report.check("start_after_begin").skipped == "no column begin"
    assert report.check("request_met").skipped == "no columns req_nodes, req_cpus, req_gpus, req_mem_mib"


def test_examples_are_few_and_counts_complete() -> None:
    tables = made([Made(i, 0, 0, 10, "n1", cpus=5) for i in range(1, 10)])
    check = judge(tables).check("cpus_not_overbooked")
    assert check.violations == 1  # one instant on one node
    tables = made([Made(i, 0, 10 * i, 10 * i + 10, "n1", cpus=5) for i in range(1, 10)])
    check = judge(tables).check("cpus_not_overbooked")
    assert (check.violations, len(check.examples)) == (9, 5)


@pytest.mark.parametrize(
    ("cpus", "asked", "right"),
    [
        ("8,3", 12, True),  # 4 tasks of 3 CPUs, as slurmctld 22.05 gives them two nodes of 8
        ("8,6", 15, True),
        ("8(x2),1", 18, False),  # fewer by one: no size of a task from 2 on makes 1 of them
        ("8,2", 12, False),
        ("7,4", 12, False),  # no node is whole
        ("8(x2)", 18, False),  # nothing was rounded
        ("8", 9, False),
    ],
)
def test_whole_nodes_and_tasks_rounded_down_meet_a_request(cpus: str, asked: int, right: bool) -> None:
    counts = expand_counts(cpus)
    columns = {
        "job_id": [1], "submit": [0], "start": [0], "end": [9], "node_list": [f"n[1-{len(counts)}]"],
        "nodes": [len(counts)], "cpus_per_node": [cpus], "cpus": [sum(counts)], "req_cpus": [asked],
    }  # fmt: skip
    report = validate_schedule(columns, cluster={"nodes": [["n[1-3]", 8, 8000, {}]], "partitions": {}})
    assert ("request_met" not in report.failed) is right
    if not right:
        assert report.check("request_met").examples == [f"job 1 got {sum(counts)} cpus, it asked for {asked}"]


@pytest.mark.parametrize(
    ("cpus", "asked", "right"),
    [
        ("8(x2),4", 21, True),  # 5 CPUs of the last node are counted: one task, which has two whole cores
        ("8(x2),4", 24, False),
        ("8(x2),2", 21, False),  # a core without a whole task
    ],
)
def test_tasks_rounded_down_have_whole_cores(cpus: str, asked: int, right: bool) -> None:
    """Tasks of 3 CPUs on nodes of four cores with two threads each."""
    counts = expand_counts(cpus)
    columns = {
        "job_id": [1], "submit": [0], "start": [0], "end": [9], "node_list": ["n[1-3]"], "nodes": [3],
        "cpus_per_node": [cpus], "cpus": [sum(counts)], "req_cpus": [asked], "cpus_per_task": [3],
    }  # fmt: skip
    report = validate_schedule(columns, cluster={"nodes": [["n[1-3]", 8, 8000, {}, 2]], "partitions": {}})
    assert ("request_met" not in report.failed) is right


@pytest.mark.parametrize(
    ("task", "cpus", "asked", "right"),
    [
        (1, "5,2", 8, False),  # of 8 tasks one is missing
        (2, "5,2", 8, True),
        (4, "5,2", 8, False),  # no node holds a task
        (2, "4(x2)", 10, True),  # 5 + 5 are counted
        (1, "4(x2)", 10, False),
        (None, "4(x2)", 10, True),  # not told
        (3, "3(x2)", 9, True),
        (3, "3(x2)", 12, False),
    ],
)
def test_the_cpus_of_a_task_say_what_is_rounded(task: int | None, cpus: str, asked: int, right: bool) -> None:
    """Another job has 3 CPUs of each of the two nodes of 8."""
    counts = expand_counts(cpus)
    columns = {
        "job_id": [1, 2], "submit": [0, 0], "start": [0, 1], "end": [9, 9], "node_list": ["n[1-2]"] * 2,
        "nodes": [2, 2], "cpus_per_node": ["3(x2)", cpus], "cpus": [6, sum(counts)], "req_cpus": [6, asked],
        "cpus_per_task": [1, task],
    }  # fmt: skip
    report = validate_schedule(columns, cluster={"nodes": [["n[1-2]", 8, 8000, {}]], "partitions": {}})
    assert ("request_met" not in report.failed) is right


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("threads", "cpus", "asked", "right"),
    [
        (None, "4(x2)", 8, True),
        (1, "4(x2)", 8, False),  # four of eight
        (1, "8(x2)", 8, True),
        (2, "4(x2)", 8, True),
        (1, "5,8", 7, False),  # a part of a core is none
        (1, "6,8", 7, True),
    ],
)
def test_all_threads_of_a_core_are_given(threads: int | None, cpus: str, asked: int, right: bool) -> None:
    counts = expand_counts(cpus)
    columns = {
        "job_id": [1], "submit": [0], "start": [0], "end": [9], "node_list": ["n[1-2]"], "nodes": [2],
        "cpus_per_node": [cpus], "cpus": [sum(counts)], "req_cpus": [asked], "threads_per_core": [threads],
    }  # fmt: skip
    report = validate_schedule(columns, cluster={"nodes": [["n[1-2]", 8, 8000, {}, 2]], "partitions": {}})
    assert ("request_met" not in report.failed) is right


@pytest.mark.parametrize(("start", "right"), [(0, True), (3, False)])
def test_all_that_is_free_of_a_node_and_whole_tasks_meet_a_request(start: int, right: bool) -> None:
    """22.05.8: 4 tasks of 2 CPUs with --mem get 5 and 2 CPUs if another job has 3 of the first node of 8."""
    columns = {
        "job_id": [1, 2], "submit": [0, 0], "start": [start, 1], "end": [9, 9], "node_list": ["n1", "n[1-2]"],
        "nodes": [1, 2], "cpus_per_node": ["3", "5,2"], "cpus": [3, 7], "req_cpus": [3, 8],
    }  # fmt: skip
    report = validate_schedule(columns, cluster={"nodes": [["n[1-3]", 8, 8000, {}]], "partitions": {}})
    assert report.valid is right
    if not right:  # the other job came later
        assert report.check("request_met").examples == ["job 2 got 7 cpus, it asked for 8"]


@pytest.mark.parametrize(
    ("cpus", "asked", "right"),
    [("5,6", 12, True), ("3,6", 10, True), ("5,5", 12, False), ("3,6", 12, False), ("5,4", 12, False)],
)
def test_the_last_node_that_is_counted_may_have_a_part_of_a_task(cpus: str, asked: int, right: bool) -> None:
    """22.05.8, tasks of 2 CPUs on nodes with 6 and 7 free: ``-n6`` gets 5 and 6 CPUs, ``-n5`` 3 and 6."""
    counts = expand_counts(cpus)
    columns = {
        "job_id": [1, 2], "submit": [0, 0], "start": [0, 1], "end": [9, 9], "node_list": ["n[1-2]"] * 2,
        "nodes": [2, 2], "cpus_per_node": ["2,1", cpus], "cpus": [3, sum(counts)], "req_cpus": [3, asked],
        "cpus_per_task": [1, 2],
    }  # fmt: skip
    report = validate_schedule(columns, cluster={"nodes": [["n[1-2]", 8, 8000, {}]], "partitions": {}})
    assert ("request_met" not in report.failed) is right


@pytest.mark.parametrize(("begun", "right"), [(1, True), (0, False)])
def test_a_run_that_ended_at_once_may_have_been_there(begun: int, right: bool) -> None:
    """22.05.8: -n4 -c2 gets 3, 2 and 2 CPUs of nodes with 3, 3 and 2 free, here beside a run of no second."""
    columns = {
        "job_id": [1, 2], "submit": [0, 0], "start": [begun, 1], "end": [1, 9], "node_list": ["n[1-3]"] * 2,
        "nodes": [3, 3], "cpus_per_node": ["1(x2),2", "3,2(x2)"], "cpus": [4, 7], "req_cpus": [4, 8],
        "cpus_per_task": [1, 2],
    }  # fmt: skip
    report = validate_schedule(columns, cluster={"nodes": [["n[1-3]", 4, 8000, {}]], "partitions": {}})
    assert ("request_met" not in report.failed) is right


@pytest.mark.parametrize(("cpus", "asked", "right"), [("5,8", 14, True), ("5,7", 14, True), ("5,6", 14, False)])
def test_what_is_free_is_not_known_where_jobs_share_cpus(cpus: str, asked: int, right: bool) -> None:
    """Random worlds with FORCE:2: 7 tasks of 2 CPUs have 5 and 8 beside others on the same CPUs."""
    counts = expand_counts(cpus)
    columns = {
        "job_id": [1, 2], "submit": [0, 0], "start": [0, 1], "end": [9, 9], "node_list": ["n[1-2]"] * 2,
        "nodes": [2, 2], "cpus_per_node": ["8(x2)", cpus], "cpus": [16, sum(counts)], "req_cpus": [16, asked],
        "cpus_per_task": [1, 2], "partition": ["p", "p"],
    }  # fmt: skip
    parts = {"p": {"nodes": "n[1-2]", "jobs_per_cpu": 2}}
    report = validate_schedule(columns, cluster={"nodes": [["n[1-2]", 8, 8000, {}]], "partitions": parts})
    assert ("request_met" not in report.failed) is right


@pytest.mark.parametrize(
    ("most", "others", "right"),
    [(4, "p", True), (5, "p", False), (None, "p", False), (3, "q", True), (4, "q", False)],
)
def test_what_is_free_of_a_node_ends_at_max_cpus_per_node(most: int | None, others: str, right: bool) -> None:
    """22.05.8, MaxCPUsPerNode=4, another job has one CPU of n1: 5 tasks of 2 CPUs get 3, 4 and 2."""
    columns = {
        "job_id": [1, 2], "submit": [0, 0], "start": [0, 1], "end": [9, 9], "node_list": ["n1", "n[1-3]"],
        "nodes": [1, 3], "cpus_per_node": ["1", "3,4,2"], "cpus": [1, 9], "req_cpus": [1, 10],
        "partition": [others, "p"],
    }  # fmt: skip
    parts = {"p": {"nodes": "n[1-3]", "cpus_per_node": most}, "q": {"nodes": "n1"}}
    report = validate_schedule(columns, cluster={"nodes": [["n[1-3]", 8, 8000, {}]], "partitions": parts})
    assert report.valid is right
    if not right:
        assert report.check("request_met").examples == ["job 2 got 9 cpus, it asked for 10"]


@pytest.mark.parametrize(
    ("cpus", "valid"), [((4, 4, 4, 4, 0), True), ((4, 4, 4, 4, 1), False), ((4, 4, 0, 0, 1), False)]
)
def test_partitions_that_share_cpus_share_them_with_each_other(cpus: tuple[int, ...], valid: bool) -> None:
    """The last job is of a partition that shares none."""
    parts = {name: {"nodes": "n1", "jobs_per_cpu": 2} for name in "pq"} | {"none": {"nodes": "n1"}}
    jobs = [
        Made(i, 0, 0, 9, "n1", c, partition=p)
        for i, (c, p) in enumerate(zip(cpus, ("p", "p", "q", "q", "none"), strict=True))
        if c
    ]
    report = judge(made(jobs, cluster(partitions=parts)))
    assert report.failed == ([] if valid else ["cpus_not_overbooked"])


def test_one_job_a_cpu_beside_those_of_other_partitions() -> None:
    parts = {name: {"nodes": "n1", "shares_cpus": True} for name in "pq"}
    jobs = [Made(1, 0, 0, 9, "n1", 4, partition="p"), Made(2, 0, 0, 9, "n1", 4, partition="q")]
    assert judge(made(jobs, cluster(partitions=parts))).valid
    report = judge(made([*jobs, Made(3, 0, 0, 9, "n1", 1, partition="q")], cluster(partitions=parts)))
    assert report.failed == ["cpus_not_overbooked"]


def expand_counts(text: str) -> list[int]:
    """``8(x2),3`` as numbers."""
    parts = (part.rstrip(")").partition("(x") for part in text.split(","))
    return [int(count) for count, _, times in parts for _ in range(int(times or 1))]
