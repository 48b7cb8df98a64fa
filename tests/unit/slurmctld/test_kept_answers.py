"""Answers that are given again are those that would be found again, whatever happened in between."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from engine_calls import ALICE, BATCH, ROOT, THREE_NODES, do, engine_of, submit, wait
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine import kept_answers
from slurmsim.slurmctld.engine.engine import Engine

JOBS = {"fields": ["job_id", "job_state", "state_reason", "start_time", "end_time", "priority", "nodes", "partition"]}
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("jobs", {**JOBS, "alike": True, "show_all": False}),
    ("jobs", {**JOBS, "job_id": "1"}),
    ("nodes", {"fields": ["name", "state", "alloc_cpus"]}),
    ("partitions", {"fields": ["name", "state_up", "nodes"]}),
)
IDS = st.integers(1, 12).map(str)


class Asking(RuleBasedStateMachine):
    """Requests and time in any order; all questions are asked between any two."""

    @initialize(release=st.sampled_from(("22.05", "26.05")))
    def begin(self, release: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.engine: Engine = engine_of(Path(folder), THREE_NODES, release)

    def attempt(self, call: str, person: Person = ROOT, **arguments: Any) -> None:
        with contextlib.suppress(Refusal):
            do(self.engine, call, person, **arguments)

    @rule(cpus=st.integers(1, 8), minutes=st.integers(1, 3), held=st.booleans(), later=st.booleans())
    def submits(self, cpus: int, minutes: int, held: bool, later: bool) -> None:
        begin = {"begin_time": self.engine.now + 40} if later else {}
        job = {**BATCH, "min_cpus": cpus, "time_limit": minutes, "script": "#!/bin/sh\n#SLURMSIM runtime=50\n", **begin}
        self.attempt("submit", ALICE, job={**job, **({"priority": 0} if held else {})})

    @rule(job_id=IDS, kind=st.sampled_from(("hold", "uhold", "release")))
    def holds(self, job_id: str, kind: str) -> None:
        self.attempt("hold_job", job_id=job_id, kind=kind)

    @rule(job_id=IDS)
    def kills(self, job_id: str) -> None:
        self.attempt("kill", job_id=job_id)

    @rule(job_id=IDS, nice=st.integers(0, 9))
    def updates(self, job_id: str, nice: int) -> None:
        self.attempt("update_job", job_id=job_id, job={"nice": nice})

    @rule(state=st.sampled_from(("DRAIN", "RESUME", "DOWN")))
    def changes_a_node(self, state: str) -> None:
        self.attempt("update_node", names=["n1"], state=state, reason="because")

    @rule(seconds=st.sampled_from((0, 1, 2, 30, 61, 400)))
    def waits(self, seconds: int) -> None:
        wait(self.engine, seconds)

    @invariant()
    def is_told_what_is_so(self) -> None:
        for person in (ROOT, ALICE):
            for call, arguments in QUESTIONS:
                try:
                    told = do(self.engine, call, person, **arguments)
                except Refusal:
                    continue
                assert told == self.engine.calls[call](arguments, person)
                assert do(self.engine, call, person, **arguments) is told


Asking.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestAsking = Asking.TestCase


def test_an_answer_is_found_once_a_second_and_counted_each_time(tmp_path: Path) -> None:
    e = engine_of(tmp_path, THREE_NODES)
    submit(e)
    found: list[int] = []
    jobs = e.calls["jobs"]
    e.calls["jobs"] = lambda arguments, person: found.append(e.now) or jobs(arguments, person)  # type: ignore[func-returns-value]
    for _ in range(3):
        do(e, "jobs", **JOBS)
        do(e, "jobs", ALICE, **JOBS)
    assert len(found) == 2, "who asks is part of the question"
    assert e.statistics.requests["jobs"] == 6
    wait(e, 1)
    do(e, "jobs", **JOBS)
    submit(e)
    do(e, "jobs", **JOBS)
    assert len(found) == 4


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    kept = kept_answers.KeptAnswers()
    answer = {"columns": {"a": [0] * (kept_answers.ROOM // 3), "b": [0] * (kept_answers.ROOM // 3)}}
    for at in ((1, 1), (2, 1)):
        assert kept.find(at, "q") is None
        kept.keep("q", answer)
        kept.keep("another", answer)
        assert kept.find(at, "q") is answer
        assert kept.find(at, "another") is None


def test_small_answers_and_long_questions_take_room_too(tmp_path: Path) -> None:
    kept = kept_answers.KeptAnswers()
    nothing: dict[str, Any] = {"columns": {}, "alike": {}}
    kept.find((1, 1), "")
    for number in range(kept_answers.ROOM):  # one job after another, while the clock stands still
        kept.keep(str(number), nothing)
    assert len(kept) < kept_answers.ROOM // 50
    kept.find((2, 1), "")
    long = "f" * (kept_answers.ROOM * 100)
    kept.keep(long, nothing)
    assert kept.find((2, 1), long) is None


def test_a_group_that_changes_makes_it_another_question() -> None:
    moved = Person(ALICE.name, ALICE.uid, "others", 2999, ALICE.home)
    assert kept_answers.question("jobs", {}, ALICE) != kept_answers.question("jobs", {}, moved)
