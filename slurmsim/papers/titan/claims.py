"""The claims on Titan's allocations, beside what was measured."""

import math
from collections.abc import Iterator
from statistics import fmean, median

import numpy as np

from slurmsim.experiments.claims import Claim, not_attempted
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.titan import goals
from slurmsim.papers.titan.allocation import Moments, spread_of_use
from slurmsim.papers.titan.cells import BASE, PROJECTS, QUARTER_H, RULES, SHORTER, bin_ranges, hours_of
from slurmsim.papers.titan.hypothesis import by_model
from slurmsim.papers.titan.run import Result


def claims_by_part(found: Result) -> dict[str, list[Claim]]:
    """Return the paper's numbers, and those of the specification, beside ours, by the part that was run."""
    parts = {
        "model": _model(found), "validation": _validation(found), "queue": _queue(found), "year": _year(found),
        "slurm": _slurm(found), "project": _project(found), "hypothesis": _tried(found),
    }  # fmt: skip
    return {name: claims for name, made in parts.items() if (claims := list(made))}


def claims(found: Result) -> list[Claim]:
    return [claim for claims in claims_by_part(found).values() for claim in claims]


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
    for name, goal in goals.FREE.items():
        free = found.estimate("titan", f"free_{name}")
        assert free is not None
        yield goal.measured(free)
    yield from _hypothesis(found)
    yield not_attempted("waits on Titan's own log", goals.OWN_LOG, "Figure 9", "30.51 ± 97.34 h")


def _hypothesis(found: Result) -> Iterator[Claim]:
    """Bins against one drawn anew for each job, at several allocations, in both ways of submitting."""
    kept = [one for k in range(1, len(bin_ranges()) + 1) if (one := found.moments("queue", "titan", f"bin{k}"))]
    pairs: list[tuple[float, list[float]]] = []
    for between in ("wait", "cycle") if len(kept) > 1 else ():
        waits, uses = ([(max(one[name][0], 1e-3), one[name][1]) for one in kept] for name in (between, "use"))
        pairs += [(drawn, fixed) for drawn, *fixed in by_model(waits, uses, QUARTER_H).values()]
    for reading in goals.READINGS:
        compared = [(p, drawn) for drawn, fixed in pairs for p in ([max(fixed)] if reading == "best" else fixed)]
        signs = [float(np.sign(round(p - drawn, 9))) for p, drawn in compared]
        more, same, less = (signs.count(k) for k in (1, 0, -1))
        if more + less:
            counts = f"{more} above, {same} equal, {less} below"
            yield goals.of_hypothesis(reading, "model").measured(100 * more / (more + less), counts)


def _tried(found: Result) -> Iterator[Claim]:
    """Return the same in simulation."""
    if (tried := found.tried) is None:
        return
    for reading in goals.READINGS:
        if (share := tried.share_above(best_only=reading == "best")) is not None:
            yield goals.of_hypothesis(reading, "simulation").measured(share)


def _times(e: Estimate) -> str:
    """Return an estimate of logarithms as a factor."""
    half = math.inf if e.half is None else e.half
    return f"times {math.exp(e.mean):.2f} ({math.exp(e.mean - half):.2f} to {math.exp(e.mean + half):.2f})"


def _year(found: Result) -> Iterator[Claim]:
    load, skew, wait = (found.values("titan", name, "year") for name in ("load", "skew", "wait_h"))
    if not load:
        return
    halves = zip(*(found.values("titan", f"waiting_{half}_half", "year") for half in ("first", "second")), strict=True)
    late = [later / max(early, 1e-9) for early, later in halves]
    for goal, ours in (
        (goals.LOAD, 100 * fmean(load)), (goals.BOUNDED, fmean(late)), (goals.SKEW, median(skew)),
        (goals.WAIT, Estimate.of(wait)),
    ):  # fmt: skip
        yield goal.called(f"{goals.YEAR}: {goal.what}").measured(ours)


def _slurm(found: Result) -> Iterator[Claim]:
    """How near Slurm's own rules come: the same order of bins, and what they change, paired by seed."""
    for name in (RULES, BASE):
        if (ratio := found.log_ratio(name, "wait_h", "slurm")) is not None:
            half = math.inf if ratio.half is None else ratio.half
            low, high = math.exp(ratio.mean - half), math.exp(ratio.mean + half)
            yield goals.added_by(name).measured(Estimate((low + high) / 2, (high - low) / 2, ratio.n), _times(ratio))


def _project(found: Result) -> Iterator[Claim]:
    """Return the stand-in for HEP110: node-hours used and requested, beside the formula fed with the waits it had."""
    for figure, (measure, _) in FIGURES.items():
        for name in PROJECTS:
            if (used := found.estimate(name, measure, "project")) is not None:
                goal = goals.of_project(figure, name, project_model(found, name, figure=figure))
                yield goal.measured(used)


FIGURES = {"a": ("use_node_h", "use"), "b": ("asked_node_h", "asked_use")}
"""Of the two curves of Figure 11, what the simulated project has, and the moments of a job."""


def project_model(found: Result, name: str, waits: str = "own", figure: str = "a") -> Moments:
    """Node-hours of the project by the model, with the project's own waits or those of others' small jobs.

    `figure` b counts the requested wall time of a job; the next one follows when it has really started or ended.
    """
    own, seen = (found.moments("project", name, key) for key in ("own", waits))
    assert own is not None and seen is not None
    follows, chains = PROJECTS[name]
    wait, run, nodes = Moments(*seen["wait"]), Moments(*own["run"]), Moments(*own["nodes"])
    use = Moments(*own[FIGURES[figure][1]])
    return spread_of_use(chains * hours_of(found.jobs // SHORTER), wait, run, nodes, use, after_end=follows == "end")
