"""The claims on Titan's allocations, beside what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from slurmsim.experiments.claims import Claim, not_attempted
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.titan import goals
from slurmsim.papers.titan.allocation import Moments, probability, spread_of_use
from slurmsim.papers.titan.cells import BASE, PROJECTS, RULES, SHORTER, bin_ranges, hours_of
from slurmsim.papers.titan.run import Result

QUARTER_H = 2190


def claims(found: Result) -> list[Claim]:
    """Return the paper's numbers, and those of the specification, beside ours."""
    own_log = not_attempted("waits on Titan's own log", goals.OWN_LOG, "Figure 9", "30.51 ± 97.34 h")
    return [*_model(found), *_validation(found), *_queue(found), *_year(found), *_slurm(found), *_project(found),
            own_log]  # fmt: skip


def _model(found: Result) -> Iterator[Claim]:
    if found.model:
        yield goals.USE.measured(found.model["expected_use"])
        yield goals.VARIANCE.measured(found.model["use_variance"])
        yield goals.CHANCE.measured(found.model["check"])


def _validation(found: Result) -> Iterator[Claim]:
    for variant, jobs, mean in (("A", "overlapping jobs", 5000), ("B", "one node", 2500)):
        if found.use:
            use = np.array(found.use[variant])
            yield goals.use_of_projects(variant, jobs, mean).measured(Estimate.of(use.tolist()))
            yield goals.spread_of_projects(variant, found.spread(variant)).measured(float(use.std(ddof=1)))
            yield goals.curves(variant).measured(found.distance(variant))


def _queue(found: Result) -> Iterator[Claim]:
    load, through, wait = (found.estimate("titan", name) for name in ("load", "throughput", "wait_h"))
    if load is None or through is None or wait is None:
        return
    yield goals.LOAD.measured(Estimate(100 * load.mean, None if load.half is None else 100 * load.half, load.n))
    yield goals.THROUGHPUT.measured(through)
    halves = zip(*(found.values("titan", f"waiting_{half}_half") for half in ("first", "second")), strict=True)
    yield goals.BOUNDED.measured(Estimate.of([late / max(early, 1e-9) for early, late in halves]))
    yield goals.SKEW.measured(float(np.median(found.values("titan", "skew"))))
    yield goals.WAIT.measured(wait)
    if (boosts := found.log_ratio("no boosts", "large_wait_h")) is not None:
        yield goals.BOOSTS.measured(boosts, _times(boosts))
    if (limit := found.log_ratio("no limit", "large_wait_h")) is not None:
        yield goals.LIMIT.measured(Estimate(abs(limit.mean), limit.half, limit.n), _times(limit))
    yield from _hypothesis(found)
    for name, goal in goals.FREE.items():
        free = found.estimate("titan", f"free_{name}")
        assert free is not None
        yield goal.measured(free)


def _hypothesis(found: Result) -> Iterator[Claim]:
    """Each bin against one drawn anew for each job, at several allocations, in both ways of submitting."""
    kept = [one for k in range(1, len(bin_ranges()) + 1) if (one := found.moments("queue", "titan", f"bin{k}"))]
    signs: list[float] = []
    for between in ("wait", "cycle"):
        waits, uses = ([(max(one[name][0], 1e-3), one[name][1]) for one in kept] for name in (between, "use"))
        drawn = mixture(waits), mixture(uses)
        for target in goals.ALLOCATIONS:
            for streams in goals.STREAMS:
                chances = [
                    float(probability(target, QUARTER_H, wait_h=wait, per_job=use, streams=streams))
                    for wait, use in (drawn, *zip(waits, uses, strict=True))
                ]
                signs += [float(np.sign(round(one, 9) - round(chances[0], 9))) for one in chances[1:]]
    if len(kept) > 1:
        counts = f"{signs.count(1)} of {len(signs)} above, {signs.count(0)} equal"
        yield goals.HYPOTHESIS.measured(100 * signs.count(1) / len(signs), counts)


def mixture(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return mean and standard deviation of a draw from one of `parts`, each as likely; (mean, sd) each."""
    means, sds = np.array(parts).T
    return float(means.mean()), float(np.sqrt((sds**2 + means**2).mean() - means.mean() ** 2))


def _times(e: Estimate) -> str:
    """Return an estimate of logarithms as a factor."""
    half = math.inf if e.half is None else e.half
    return f"times {math.exp(e.mean):.2f} ({math.exp(e.mean - half):.2f} to {math.exp(e.mean + half):.2f})"


def _year(found: Result) -> Iterator[Claim]:
    year = found.run("year", "titan", 1)
    if not year:
        return
    late = year["waiting_second_half"] / max(year["waiting_first_half"], 1e-9)
    for goal, ours in ((goals.LOAD, 100 * year["load"]), (goals.BOUNDED, late), (goals.SKEW, year["skew"]),
                       (goals.WAIT, Estimate(year["wait_h"], None, 1))):  # fmt: skip
        yield goal.called(f"one year: {goal.what}").measured(ours)


def _slurm(found: Result) -> Iterator[Claim]:
    """How near Slurm's own rules come: the same order of bins, and what they change, paired by seed."""
    for name in (RULES, BASE):
        if (ratio := found.log_ratio(name, "wait_h", "slurm")) is not None:
            half = math.inf if ratio.half is None else ratio.half
            low, high = math.exp(ratio.mean - half), math.exp(ratio.mean + half)
            yield goals.added_by(name).measured(Estimate((low + high) / 2, (high - low) / 2, ratio.n), _times(ratio))


def _project(found: Result) -> Iterator[Claim]:
    """Return the stand-in for HEP110: what it used, beside the formula fed with the waits it had."""
    for name in PROJECTS:
        if (used := found.estimate(name, "use_node_h", "project")) is not None:
            yield goals.of_project(name, project_model(found, name), used.n).measured(used.mean, used.text(0))


def project_model(found: Result, name: str, waits: str = "own") -> Moments:
    """Use of the project by the model, with the project's own waits or those of others' small jobs."""
    own, seen = (found.moments("project", name, key) for key in ("own", waits))
    assert own is not None and seen is not None
    follows, chains = PROJECTS[name]
    wait, run, nodes, use = Moments(*seen["wait"]), Moments(*own["run"]), Moments(*own["nodes"]), Moments(*own["use"])
    return spread_of_use(chains * hours_of(found.jobs // SHORTER), wait, run, nodes, use, after_end=follows == "end")
