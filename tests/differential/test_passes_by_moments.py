"""When slurmctld's passes come, to the millisecond: predicted from the facts in its debug log.

`*.moments.json` hold, of one run each of a real slurmctld (22.05.8, no Epilog), the moment of each submission, start
and end, when the last node of each job was free again and how slurmctld learned it, and the limit scans, between
which the turns of its loop are spread evenly; under sched/backfill also when its cycles began. Each job lasts as in the
log. Starts, nodes and passes are ours.
"""

from __future__ import annotations

import json
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.messages import Action, JobEnded, Launch, Submit
from slurmsim.fidelity import read_recording
from slurmsim.hostlist import expand
from slurmsim.policy import load_policy
from slurmsim.sim.submissions import Submissions
from slurmsim.states import JobState

RECORDINGS = Path(__file__).resolve().parents[2] / "tests/conformance/recordings"
NAMES = ("grid.builtin", "grid.backfill")
TURN_S = 1.0135  # the loop sleeps a second and works a little, at the recorded clock rate


def log_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDINGS / f"{name}.moments.json").read_text(encoding="utf-8"))
    return found


def turns(scans: list[float]) -> list[float]:
    """Moments of the loop's turns."""
    found = [scans[0] - TURN_S * k for k in range(int(scans[0] / TURN_S), 0, -1)]
    for a, b in pairwise(scans):
        n = round((b - a) / TURN_S)
        found += [a + (b - a) * k / n for k in range(n)]
    return [*found, scans[-1]]


def replay(name: str, *, at_once: bool) -> tuple[dict[int, int], dict[int, str], int]:
    """(start second by job, nodes by job, number of main passes) of a replay of the log's facts.

    A job whose nodes had nothing left to do asks the loop; with `at_once` it causes a pass, as if it had an epilog.
    """
    log = log_of(name)
    recording = read_recording(RECORDINGS / f"{name}.json")
    c = Controller(recording.cluster, load_policy(recording.scheduler)(), 0, enforce_limits=False)
    job = {j["job_id"]: j for j in log["jobs"]}
    subs = {sub.job_id: sub for _, sub, _ in Submissions(recording.workload).rows()}
    moments = [(j["submit"], 0, "submit", i) for i, j in job.items()]
    moments += [(t, 2, "turn", 0) for t in turns(log["limit_scans"])]
    moments += [(t, 3, "cycle", 0) for t in log.get("cycles", ())]
    heapify(moments)
    start: dict[int, int] = {}
    nodes: dict[int, str] = {}
    passes, asked = 0, False
    last = last_full = int(log["started"])

    def take(actions: list[Action], moment: float) -> None:
        for action in actions:
            if isinstance(action, Launch):
                i = action.job.id
                assert action.job.alloc is not None
                start[i], nodes[i] = int(moment), c.state.cluster.node_list(action.job.alloc)
                heappush(moments, (moment + job[i]["free"] - job[i]["start"], 1, "free", i))

    while moments:
        moment, _, what, i = heappop(moments)
        now, make = int(moment), False
        if what == "submit":
            take(c.note(now, [Submit(subs[i])]), moment)
            asked = True
        elif what == "free":
            take(c.note(now, [JobEnded(i, JobState.COMPLETED, "0:0", 0)]), moment)
            make = at_once or job[i]["epilog_message"]
            asked = asked or not make
        elif what == "cycle":
            take(c.run_pass(now, backfill=True), moment)
        else:
            full = now - last_full >= c.main.interval
            make = full or (asked and now - last >= c.main.delay)
            if make:
                asked, last = False, now
            if full:
                last_full = now
        if make:
            passes += 1
            take(c.run_pass(now, backfill=False), moment)
    return start, nodes, passes


def agreement(name: str, *, at_once: bool) -> tuple[float, float]:
    """(share of jobs that start within a second of the log, share on the logged nodes)."""
    start, nodes, _ = replay(name, at_once=at_once)
    jobs = log_of(name)["jobs"]
    times = sum(abs(start[j["job_id"]] - int(j["start"])) <= 1 for j in jobs)
    places = sum(expand(nodes[j["job_id"]]) == expand(j["nodes"]) for j in jobs)
    return times / len(jobs), places / len(jobs)


@pytest.mark.parametrize("name", NAMES)
def test_a_node_with_nothing_left_to_do_only_asks_the_loop(name: str) -> None:
    """Of 60 jobs 55; the batch step of the other 5 was still leaving, and its node reported later."""
    assert sum(j["epilog_message"] for j in log_of(name)["jobs"]) == 5
    times, places = agreement(name, at_once=False)
    assert times >= 0.96
    assert places >= 0.96


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_at_every_end_is_not_what_slurmctld_does(name: str) -> None:
    times, places = agreement(name, at_once=True)
    assert times <= 0.6
    assert places <= 0.4


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_passes(name: str) -> None:
    log = log_of(name)
    first, last = log["jobs"][0]["submit"], max(j["free"] for j in log["jobs"])
    logged = sum(first <= t <= last for t in log["passes"])
    assert abs(replay(name, at_once=False)[2] - logged) <= 3
    assert replay(name, at_once=True)[2] > logged + 10
