"""What a policy sees of watts and of the shapes of jobs (`slurmsim.policy.power`), in watts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from slurmsim.core.occupancy.watts import Watts
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.shape import Shape
    from slurmsim.core.state.controller_state import ControllerState


class SeenPower(NamedTuple):
    """`PowerFacts`."""

    budget_w: float | None
    charged_w: float
    base_w: float
    full_w: float
    idle_w: float
    cap_w: float
    n_nodes: int
    carbon: tuple[tuple[int, int], ...] = ()


class SeenShape(NamedTuple):
    """`ShapeView`."""

    nodes: int
    cap_w: float
    charged_w: float
    done_s: float
    limit_s: float | None
    resized_at: int | None
    moving_until: int
    point: int


def seen_power(state: ControllerState, watts: Watts) -> SeenPower:
    spec, budget = watts.spec, watts.budget_mw
    awake = state.table.n - (state.power.off & state.table.idle).bit_count()
    return SeenPower(
        None if budget is None else budget / 1000, watts.total_mw / 1000, spec.base_mw / 1000, spec.full_mw / 1000,
        spec.idle_mw / 1000, spec.default_cap(0) / 1000, awake,
        spec.carbon,
    )  # fmt: skip


def seen_shape(now: int, s: Shape) -> SeenShape:
    """Return the shape of a running job as policies see it."""
    done_s = s.done_by(now)
    return SeenShape(
        s.nodes, s.cap_mw / 1000, s.charged_mw / 1000, done_s, s.limit_s, s.resized_at, s.moving_until, s.point(now)
    )


def predicted_s(job: Job, watts: Watts | None) -> float:
    """Seconds of work `job` is expected to be: what is predicted, else its limit."""
    profile = job.sub.profile
    if watts is None or profile is None:
        return float(job.expected_s)
    shape = watts.shapes.get(job.id)
    if shape is not None:
        limit = job.time_limit_s / shape.slowdown if shape.limit_s is None else shape.limit_s
    else:
        limit = job.time_limit_s / watts.asked_slowdown(job, profile)
    return limit if job.predicted_s is None else min(limit, float(max(1, job.predicted_s)))
