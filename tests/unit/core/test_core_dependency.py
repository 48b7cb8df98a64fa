"""Dependencies: syntax, what is met when, and how jobs wait and go on."""

from __future__ import annotations

import pytest
from unit.core.world import World, simple

from slurmsim.core.queue.dependency import PROBLEM, Known, Outcome, Term, combine, judge, parse
from slurmsim.core.records.messages import Hold, Release
from slurmsim.errors import SubmitError

MET, WAITING, FAILED = Outcome.MET, Outcome.WAITING, Outcome.FAILED


@pytest.mark.parametrize(
    ("text", "terms", "any_one"),
    [
        ("afterok:5", (Term("afterok", 5),), False),
        ("AfterOK:5:6", (Term("afterok", 5), Term("afterok", 6)), False),
        ("after:5+2", (Term("after", 5, delay_s=120),), False),
        ("afterany:5_3", (Term("afterany", 5, 3),), False),
        ("afterany:5_*", (Term("afterany", 5),), False),
        ("afterok:5,afternotok:6", (Term("afterok", 5), Term("afternotok", 6)), False),
        ("afterok:5?afternotok:6", (Term("afterok", 5), Term("afternotok", 6)), True),
        ("5", (Term("afterany", 5),), False),
        ("singleton", (Term("singleton"),), False),
        ("aftercorr:5,singleton", (Term("aftercorr", 5), Term("singleton")), False),
    ],
)
def test_parse(text: str, terms: tuple[Term, ...], any_one: bool) -> None:
    assert parse(text, 99) == (terms, any_one)


@pytest.mark.parametrize(
    "text",
    ["afterok", "afterok:", "afterok:x", "later:5", "afterok:5,", "afterok:5_x", "after:5+x", "afterok:99",
     "singleton:5"],
)  # fmt: skip
def test_bad_syntax_and_itself(text: str) -> None:
    with pytest.raises(SubmitError) as caught:
        parse(text, 99)
    assert caught.value.text == PROBLEM == "Job dependency problem"


def test_expand_is_refused() -> None:
    with pytest.raises(SubmitError, match="Requested operation not supported on this system"):
        parse("expand:5", 99)


def known(*states: str, live: int = 0, unstarted: int = 0, started: int = 100) -> Known:
    return Known(live, unstarted, started, states)


PENDING = known(live=1, unstarted=1)
RUNNING = known(live=1)
DONE, BAD = known("COMPLETED"), known("FAILED")


@pytest.mark.parametrize(
    ("kind", "pending", "running", "done", "bad"),
    [
        ("after", WAITING, MET, MET, MET),
        ("afterany", WAITING, WAITING, MET, MET),
        ("afterok", WAITING, WAITING, MET, FAILED),
        ("afternotok", WAITING, WAITING, FAILED, MET),
        ("aftercorr", WAITING, WAITING, MET, FAILED),
    ],
)
def test_judge(kind: str, pending: Outcome, running: Outcome, done: Outcome, bad: Outcome) -> None:
    term = Term(kind, 5)
    assert [judge(term, k, 500) for k in (PENDING, RUNNING, DONE, BAD)] == [pending, running, done, bad]
    assert judge(term, None, 500) is MET  # unknown or purged


@pytest.mark.parametrize("state", ["CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"])
def test_whatever_is_not_completed_is_not_ok(state: str) -> None:
    assert judge(Term("afterok", 5), known(state), 500) is FAILED
    assert judge(Term("afternotok", 5), known(state), 500) is MET


def test_a_whole_array() -> None:
    assert judge(Term("afterany", 5), known("COMPLETED", "FAILED", live=1), 500) is WAITING
    assert judge(Term("afterok", 5), known("COMPLETED", "FAILED", live=1), 500) is WAITING
    assert judge(Term("afterok", 5), known("COMPLETED", "FAILED"), 500) is FAILED
    assert judge(Term("afterok", 5), known("COMPLETED", "COMPLETED"), 500) is MET
    assert judge(Term("afternotok", 5), known("COMPLETED", "FAILED"), 500) is MET  # not all were good
    assert judge(Term("afternotok", 5), known("COMPLETED", "COMPLETED"), 500) is FAILED


def test_after_with_a_delay_counts_from_the_start() -> None:
    term = Term("after", 5, delay_s=60)
    assert judge(term, RUNNING, 159) is WAITING
    assert judge(term, RUNNING, 160) is MET


@pytest.mark.parametrize(
    ("outcomes", "all_of", "any_of"),
    [
        ([MET, MET], MET, MET),
        ([MET, WAITING], WAITING, MET),
        ([MET, FAILED], FAILED, MET),
        ([WAITING, FAILED], FAILED, WAITING),
        ([FAILED, FAILED], FAILED, FAILED),
    ],
)
def test_and_or(outcomes: list[Outcome], all_of: Outcome, any_of: Outcome) -> None:
    assert combine(outcomes, False) is all_of
    assert combine(outcomes, True) is any_of


# -- in the controller

BAD_END = "FAILED"


def test_chains_and_what_can_never_run() -> None:
    w = World(simple(4))
    w.sbatch("-J a -N1 -t 10", 100)
    w.sbatch("-J b -N1 -t 10", 50, state=BAD_END)
    w.sbatch("-J ok -d afterok:1 -t 10", 10)
    w.sbatch("-J never -d afterok:2 -t 10", 10)
    w.sbatch("-J not -d afternotok:2 -t 10", 10)
    w.sbatch("-J both -d afterok:1,afternotok:2 -t 10", 10)
    w.sbatch("-J either -d afterok:1?afterok:2 -t 10", 10)
    w.sbatch("-J started -d after:1 -t 10", 10)
    w.sbatch("-J unknown -d afterok:777 -t 10", 10)
    w.until(20)
    assert set(w.reasons("ok never not both either").values()) == {"Dependency"}
    assert w.starts("started unknown") == {"started": 0, "unknown": 0}
    w.until(500)
    assert w.starts("ok not both either") == {"ok": 100, "not": 50, "both": 100, "either": 100}
    assert (w.state("never"), w.reason("never")) == ("PENDING", "DependencyNeverSatisfied")


def test_kill_invalid_depend() -> None:
    w = World(simple(2, more="DependencyParameters=kill_invalid_depend"))
    w.sbatch("-J a -t 10", 10, state=BAD_END)
    w.sbatch("-J b -d afterok:1 -t 10", 10)
    w.sbatch("-J c -d afterany:2 -t 10", 10)
    w.until(100)
    assert (w.state("b"), w.reason("b"), w["b"].end_time) == ("CANCELLED", "DependencyNeverSatisfied", 10)
    assert w.start("c") == 10  # the cancelled one has ended


def test_a_cancelled_job_counts_as_started_and_ended() -> None:
    w = World(simple(1))
    w.sbatch("-J run -t 10", 500)
    w.sbatch("-J gone -t 10", 10)
    w.sbatch("-J a -d after:2 -t 1", 10)
    w.sbatch("-J b -d afterany:2 -t 1", 10)
    w.sbatch("-J c -d afterok:2 -t 1", 10)
    w.scancel("gone", 20)
    w.until(30)
    assert w.reasons("a b") == {"a": "None", "b": "None"}
    assert w.reason("c") == "DependencyNeverSatisfied"
    w.until(600)
    assert w.starts("a b") == {"a": 500, "b": 510}


def test_delay_after_the_start() -> None:
    w = World(simple(2))
    w.sbatch("-J a -t 10", 300)
    w.sbatch("-J b -d after:1+2 -t 10", 10)
    w.until(600)
    assert w.start("b") == 120


def test_an_old_failure_is_forgotten() -> None:
    """MinJobAge=60: `afterok` on a job purged long ago is met; on one that ended just now it is not."""
    w = World(simple(2, more="MinJobAge=60"))
    w.sbatch("-J a -t 10", 10, state=BAD_END)
    w.sbatch("-J soon -d afterok:1 -t 1", 5, at=65)
    w.sbatch("-J late -d afterok:1 -t 1", 5, at=121)
    w.until(200)
    assert w.reason("soon") == "DependencyNeverSatisfied"
    assert w.start("late") == 121


def test_min_job_age_0_is_for_ever() -> None:
    w = World(simple(2, more="MinJobAge=0"))
    w.sbatch("-J a -t 10", 10, state=BAD_END)
    w.sbatch("-J late -d afterok:1 -t 1", 5, at=1_000_000)
    w.until(1_000_100)
    assert w.reason("late") == "DependencyNeverSatisfied"


def test_aftercorr_pairs_tasks() -> None:
    w = World(simple(8))
    w.sbatch("-J a -a 1-2 -t 10", 30)
    w.sbatch("-J b -a 1-3 -d aftercorr:1 -t 10", 10)
    w.sbatch("-J ok -d afterok:1 -t 10", 10)
    w.scancel("a_2", 20)
    w.until(25)
    assert w.reason("b_3") == w.reason("ok") == "Dependency"  # a task has failed, and another is to come
    w.until(100)
    assert w.start("b_1") == 30
    assert w.reason("b_2") == "DependencyNeverSatisfied"
    assert w.reason("b_3") == "DependencyNeverSatisfied"  # no such task: it waits for all, one of which failed
    assert w.reason("ok") == "DependencyNeverSatisfied"


def test_tasks_of_an_array_are_one_singleton() -> None:
    w = World(simple(8))
    w.sbatch("-J s -t 10", 30)
    w.sbatch("-J s -a 1-2 -d singleton -t 10", 20)
    w.until(40)
    jobs = sorted(w.controller.state.jobs.values(), key=lambda job: job.id)
    assert [job.start_time for job in jobs] == [30, 30]


def test_singleton() -> None:
    w = World(simple(8))
    w.sbatch("-J s -t 10", 30)
    for user in ("alice", "alice", "bob"):
        w.sbatch("-J s -d singleton -t 10", 20, user=user)
    w.until(10)
    jobs = sorted(w.controller.state.jobs.values(), key=lambda job: job.id)
    assert [job.state for job in jobs] == ["RUNNING", "PENDING", "PENDING", "RUNNING"]
    w.until(200)
    assert [job.start_time for job in jobs] == [0, 30, 50, 0]


def test_a_bad_dependency_is_refused_and_leaves_nothing() -> None:
    w = World(simple(2))
    w.sbatch("-J a -d afterok:x -t 10", 10)
    w.until(10)
    assert w.refused == {"a": PROBLEM}
    assert not w.controller.state.jobs


@pytest.mark.parametrize("policy", ["easy", "builtin", "backfill"])
def test_dependents_keep_their_place_in_the_queue(policy: str) -> None:
    """priority/basic ranks by submission, whenever a job becomes eligible."""
    w = World(simple(2), policy)
    w.sbatch("-J first -N1 -t 10", 100)
    w.sbatch("-J dependent -N2 -d afterok:1 -t 10", 50, at=5)
    w.sbatch("-J later -N2 -t 10", 50, at=10)
    w.sbatch("-J hog -N1 -t 2", 110, at=5)
    w.until(1000)
    dependent, later = w.start("dependent"), w.start("later")
    assert dependent is not None and later is not None and dependent < later


def test_minutes_hold_for_the_ids_behind_and_nothing_is_said_twice() -> None:
    terms, _ = parse("after:1+10:2", 9)
    assert [term.delay_s for term in terms] == [600, 600]
    assert len(parse("afterok:1:1,afterok:1", 9)[0]) == 1
    assert parse("afterburstbuffer:1", 9)[0][0].kind == "afterburstbuffer"
    for text in ("afterok:1, afterok:2", "after:1+0"):
        with pytest.raises(SubmitError):
            parse(text, 9)


def test_what_was_met_before_a_hold_stays_met() -> None:
    """Of a job that is held nothing is asked: it shows what the last question left."""
    w = World(simple(4))
    w.sbatch("-J a -t 5", 10)
    w.sbatch("-J b -t 5", 200)
    w.sbatch("-J c -t 5", 200)
    w.sbatch("-J d -t 5 -d afterok:1,afterany:2,afterany:3", 10)
    w.until(60)
    w.tell(Hold(4))
    w.scancel("c", at=61)
    w.until(100)
    assert w.controller.eligibility.describe(w["d"]) == "afterany:2(unfulfilled),afterany:3(unfulfilled)"
    w.tell(Release(4), 101)
    w.until(110)
    assert w.controller.eligibility.describe(w["d"]) == "afterany:2(unfulfilled)"
    w.until(300)
    assert w.state("d") == "COMPLETED"
