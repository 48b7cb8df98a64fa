"""What PARM decides about at one instant: sizes, caps and worth of every job (equations 1 to 8)."""

from functools import lru_cache
from typing import Any

import numpy as np

from slurmsim.data_classes import asdict, dataclass
from slurmsim.energy import TABLE, Application, Profile
from slurmsim.errors import PolicyError
from slurmsim.policy import JobView, PowerFacts, PowerView, ShapeView

NOMM, NOSE, WSE = "nomm", "nose", "wse"
MOST = "max"


@dataclass(frozen=True, slots=True)
class Rules:
    """How the policy decides."""

    # ``nomm``: every job on its fewest nodes; ``nose``: sizes are chosen when a job starts; ``wse``: and changed
    version: str
    alpha: float  # of the weights: 0 for throughput, larger for fairness (equation 8)
    levels: tuple[float, ...]  # caps, watts, ascending
    sizes: int | str  # how many sizes, evenly spaced from the fewest to the most nodes; ``max`` for the most alone
    f_se: int  # seconds after a change of size in which there is no other

    def sizes_of(self, profile: Profile) -> list[int]:
        """Return the sizes a job of that application may have, ascending."""
        least, most = profile.min_nodes, profile.max_nodes
        if self.version == NOMM:
            return [least]
        return [most] if self.sizes == MOST else _spaced(least, most, int(self.sizes))

    def levels_of(self, profile: Profile) -> list[float]:
        """Return the caps it may have: none that its model does not know."""
        return _from(self.levels, profile.lowest_mw)


@lru_cache(maxsize=4096)
def _from(levels: tuple[float, ...], lowest_mw: int) -> list[float]:
    return [level for level in levels if round(level * 1000) >= lowest_mw]


@lru_cache(maxsize=65536)
def _spaced(least: int, most: int, count: int) -> list[int]:
    return sorted({int(n) for n in np.linspace(least, most, count).round()})


def decision_of(view: PowerView, now: int, rules: Rules, policy: str) -> dict[str, Any]:
    """Return the decision at `now` as ``slurmsim parm`` reads it.

    Idle nodes take their part of the budget: a node counts for what it draws more than without a job.

    Raises
    ------
    PolicyError
        No level is high enough for a job.
    """
    power = view.power
    assert power is not None
    if rules.levels[-1] > power.full_w:
        raise PolicyError(policy, f"has a level of {rules.levels[-1]:g} W (expected at most {power.full_w:g})")
    jobs = [_job(view, job, now, rules, policy, power) for job in (*view.running, *view.pending)]
    held = sum(job.n_nodes for job in view.running)
    nodes = max(1, view.free_nodes + held)
    budget = power.budget_w
    if budget is None:
        budget = 2 * nodes * (power.base_w + power.full_w)  # never short: nodes alone decide
    idle = power.idle_w * power.n_nodes
    return {
        "nodes": nodes, "budget_w": max(0.0, budget - idle), "base_w": power.base_w - power.idle_w,
        "levels_w": rules.levels, "jobs": jobs,
    }  # fmt: skip


def _job(view: PowerView, job: JobView, now: int, rules: Rules, policy: str, power: PowerFacts) -> dict[str, Any]:
    profile = view.profile(job)
    if profile is None:
        return _rigid(view, job, now, rules, power)
    levels = rules.levels_of(profile)
    if not levels:
        low = profile.lowest_mw / 1000
        raise PolicyError(policy, f"has no level for job {job.id} (expected one of {low:g} W or more in levels)")
    sizes, lowest = rules.sizes_of(profile), round(levels[0] * 1000)
    shape = None if job.start_time is None else view.shape(job)
    worst = profile.slowdown(sizes[0], lowest)
    done = 0.0 if shape is None else shape.done_s
    left = max(0.0, view.predicted_s(job) - done) * worst
    weight = max(1.0, left + (now - job.submit_time)) ** rules.alpha
    found: dict[str, Any] = {"id": str(job.id), **_described(profile.application), "sizes": sizes, "weight": weight}
    if shape is not None:
        found["running"] = [shape.nodes, shape.cap_w]
        mine = found["sizes"] = _sizes_now(job, profile, shape, now, rules, sizes)
        if mine[0] != sizes[0]:  # worth is over the fewest nodes it may ever have
            found["weight"] = weight * worst / profile.slowdown(mine[0], lowest)
        if now < shape.moving_until:  # and until then it draws what it did
            found["least_w"] = max(0.0, shape.charged_w - power.idle_w * shape.nodes)
    return found


@lru_cache(maxsize=65536)
def _described(application: Application) -> dict[str, Any]:
    """Return an application as the file has it: with a row's name where its power is that of a row."""
    numbers = asdict(application)
    for name, row in TABLE.items():
        if row == application.power:
            return {"app": name, **{key: numbers[key] for key in ("t1_s", "parallelism", "sigma")}}
    return numbers


def _rigid(view: PowerView, job: JobView, now: int, rules: Rules, power: PowerFacts) -> dict[str, Any]:
    """Return the one option of a job without an application: its nodes at full power, worth its weight."""
    waited = now - job.submit_time
    weight = max(1.0, view.predicted_s(job) + waited) ** rules.alpha
    found: dict[str, Any] = {"id": str(job.id), "options": [[job.n_nodes, power.full_w, weight]]}
    if job.start_time is not None:
        found["running"] = [job.n_nodes, power.full_w]
    return found


def _sizes_now(job: JobView, profile: Profile, shape: ShapeView, now: int, rules: Rules, sizes: list[int]) -> list[int]:
    """Return the sizes a running job may have now (equation 6 for jobs that keep theirs)."""
    rests = shape.resized_at is not None and now < shape.resized_at + rules.f_se
    if rules.version != WSE or not profile.malleable or rests or now < max(shape.moving_until, shape.point):
        return [shape.nodes]
    return sorted({*sizes, shape.nodes})
