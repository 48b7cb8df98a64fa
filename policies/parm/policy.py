"""PARM: at each arrival and end, choose nodes and caps of all jobs so that a budget of watts does most.

All jobs that wait and all that run are one integer program (equations 1 to 6, `exact`): a job is worth its weight times
its speed-up over its fewest nodes at the lowest level; what runs goes on. The weight is what is left of the job there,
plus how long it has been known, to the power of alpha. Of equal choices the one with the fewest resizes is taken, then
the one with the fewest watts. What it decides is carried out at once: first all changes of running jobs together, then
starts in queue order. A job without an application is rigid and has full power. While its data move (`Reconfigure`) a
job draws the larger watts, so what it gives back is handed on later: when data have moved, the policy decides again.
Nothing is planned, so a job may wait long while others are worth more.

Run times are what limits say, or a predictor (``predictor=real`` is the paper's assumption, an oracle).

Options: ``version`` (nomm, nose, wse), ``alpha``, ``levels``, ``budget_w``, ``sizes``, ``f_se``, ``predictor``.
Source: "Maximizing Throughput of Overprovisioned HPC Data Centers Under a Strict Power Budget" (SC 2014).
"""

from collections.abc import Hashable, Mapping
from math import isfinite
from typing import Any, ClassVar

from slurmsim.energy import Profile
from slurmsim.policy import (
    PREDICTOR,
    Change,
    Decisions,
    Policy,
    PolicyOption,
    PowerView,
    Reconfigure,
    Solve,
    Start,
    WakeAt,
)
from slurmsim_policies.choices import one_of, positive, whole
from slurmsim_policies.parm.picture import MOST, NOMM, NOSE, WSE, Rules, decision_of

SOLVER = "slurmsim_policies.parm.solver:solve"


def _levels(text: str) -> tuple[float, ...]:
    return tuple(sorted({round(positive(one), 3) for one in text.split("/")}))


def _sizes(text: str) -> int | str:
    return text if text == MOST else whole(2)(text)


def _number(text: str) -> float:
    found = float(text)
    if not (isfinite(found) and 0 <= found <= 100):
        raise ValueError(text)
    return found


def _watts(text: str) -> float:
    return positive(text.removesuffix("W"))


class Parm(Policy):
    """Throughput under a budget by moldable and malleable jobs with caps."""

    name = "parm"
    summary = "PARM: nodes and power caps of all jobs by an integer program, under a budget of watts"
    reshapes = True
    chooses_sizes = True
    SOLVERS = (SOLVER,)
    STATE = ("_settled",)
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "version": PolicyOption(
            one_of(NOMM, NOSE, WSE), WSE, "nomm (fewest nodes), nose (sizes at starts), wse (and while running)"
        ),
        "alpha": PolicyOption(_number, 0.28, "weight of long and old jobs: 0 for throughput, up to 100"),
        "levels": PolicyOption(_levels, (30.0, 33.0, 36.0, 44.0, 50.0, 60.0), "caps in watts: 30/33/36/44/50/60"),
        "budget_w": PolicyOption(_watts, None, "watts of all nodes together; or --power-budget"),
        "sizes": PolicyOption(_sizes, 8, "sizes from the fewest to the most nodes, at least 2; max: the most alone"),
        "f_se": PolicyOption(whole(0), 500, "seconds between two changes of a job's size"),
        "predictor": PREDICTOR,
    }

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        given = self.options
        self.budget_w = given["budget_w"]
        self._rules = Rules(given["version"], given["alpha"], given["levels"], given["sizes"], given["f_se"])
        self._settled: Hashable = None  # the cluster as the last answer left it: nothing to decide until it differs

    def lacks(self, profile: Profile | None, full_w: float) -> str:
        """Return what is wrong with the levels: one that no processor has, or none that the application has."""
        levels = self._rules.levels
        if levels[-1] > full_w:
            return f"has a level of {levels[-1]:g} W (expected at most {full_w:g})"
        if profile is not None and not self._rules.levels_of(profile):
            return f"has no level of {profile.lowest_mw / 1000:g} W or more"
        return ""

    def schedule(self, view: PowerView, now: int) -> Decisions:
        """Ask for a decision, unless nothing has come, ended or moved since the last."""
        if self._rules.version == WSE and (points := _points(view, now)):
            yield WakeAt(min(points))
        if view.solving or not (view.pending or view.running) or _seen(view, now) == self._settled:
            return
        decision = decision_of(view, now, self._rules, self.name)
        yield Solve({"instance": decision}, SOLVER)

    def solved(self, view: PowerView, now: int, request: Any, answer: Any) -> Decisions:
        """Carry it out as far as the cluster is still like that."""
        chosen = {} if answer is None else answer["chosen"]
        asked = {job["id"] for job in request["instance"]["jobs"]}
        fresh = asked == {str(job.id) for job in (*view.running, *view.pending)}
        running = {str(job.id): job for job in view.running}
        shaped = {key: job for key, job in running.items() if view.profile(job) is not None}
        changes = [Change(shaped[key], *shape) for key, shape in chosen.items() if key in shaped]
        if changes and not (yield Reconfigure(changes)):
            yield from self._by_and_by(view, changes)
        for job in list(view.pending):
            shape = chosen.get(str(job.id))
            if shape is not None:
                rigid = view.profile(job) is None
                yield Start(job) if rigid else Start(job, nodes=shape[0], cap=shape[1])
        self._settled = _seen(view, now) if fresh else None

    def _by_and_by(self, view: PowerView, changes: list[Change]) -> Decisions:
        """Make the changes that lower now, and others as far as there is room; the rest waits until data have moved.

        A job that shrinks keeps its watts until then, so a decision that hands them on cannot be carried out at once.
        """
        lower, raise_ = list[Change](), list[Change]()
        for change in changes:
            shape = view.shape(change.job)
            falls = (change.nodes or 0) <= shape.nodes and (change.cap or 0.0) <= shape.cap_w
            (lower if falls else raise_).append(change)
        if not lower or (yield Reconfigure(lower)):
            for change in raise_:
                yield Reconfigure([change])


def _points(view: PowerView, now: int) -> list[int]:
    """Return when running jobs come to scheduling points."""
    jobs = [job for job in view.running if (profile := view.profile(job)) is not None and profile.points_s]
    return [point for job in jobs if (point := view.shape(job).point) > now]


def _seen(view: PowerView, now: int) -> Hashable:
    """Return what a decision depends on, but time: pending and running jobs, moving data, nodes and watts."""
    power = view.power
    assert power is not None
    running = []
    for job in view.running:
        shape = view.shape(job)
        running.append((job.id, shape.nodes, shape.cap_w, now < shape.moving_until, now < shape.point))
    return tuple(job.id for job in view.pending), tuple(sorted(running)), power.budget_w, view.free_nodes
