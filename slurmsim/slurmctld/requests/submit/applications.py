"""Applications of simulated jobs: what sizes they may have, and how fast they are on them (`slurmsim.energy.profile`).

A script names one, and ``-N MIN-MAX`` its sizes. Run time and limit are then meant for the most nodes at full power, as
in a workload with the column ``app``; squeue shows the limit that follows from it on the fewest nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any

from slurmsim.energy.profile import Profile, read_profile
from slurmsim.errors import ConfigError
from slurmsim.model.power import SCALE
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.simulated import application

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster


def add_profile(cluster: LiveCluster, sub: Submission, asked: Mapping[str, Any]) -> None:
    """Give a new submission its profile, and the limit that is meant for it. Raises Refusal."""
    profile = sub.profile = profile_of(cluster, sub.request, asked)
    power = cluster.spec.power
    if profile is None or power is None or power.limit != SCALE or sub.time_limit_s is None:
        return
    slower = profile.slowdown(sub.request.min_nodes, power.default_cap(profile.lowest_mw))
    sub.time_limit_s = ceil(sub.time_limit_s * slower - 1e-6)


def check_cap(cluster: LiveCluster, asked: Mapping[str, Any]) -> None:
    """Refuse a job without an application on a cluster with a power cap: the effect of the cap on it is unknown."""
    power = cluster.spec.power
    if power is not None and power.cap_mw is not None and (asked.get("allocate") or application(asked) is None):
        raise Refusal("Invalid job: --power-cap of this cluster needs an application (#SLURMSIM app=…)")


def profile_of(cluster: LiveCluster, request: ResourceRequest, asked: Mapping[str, Any]) -> Profile | None:
    """Return the profile of a job with that request; None where it says nothing of its application. Raises Refusal."""
    if asked.get("allocate"):
        return None
    said = application(asked)
    if said is None:
        return None
    text, malleable = said
    if cluster.spec.power is None:
        raise _invalid(text, "none is known here without SchedulerType=sched/parm, sched/equipartition or up --power-…")
    if asked.get("min_nodes") is None:
        raise _invalid(text, "-N MIN-MAX beside it")
    if asked.get("ntasks_per_node") or _more_tasks(asked):
        raise _invalid(text, "-N alone: a number of tasks is not kept when the size changes")
    if not request.exclusive and cluster.spec.option("SelectType") != "select/linear":
        raise _invalid(text, "--exclusive beside it: nodes it shares cannot be exchanged")
    most = request.max_nodes or request.min_nodes
    try:
        profile = _profile(text, request.min_nodes, most, malleable)
    except ConfigError as error:
        raise Refusal(f"Invalid #SLURMSIM app={error}") from None
    if profile.lowest_mw > cluster.spec.power.full_mw:
        raise _invalid(text, f"p_low_w of at most {cluster.spec.power.full_mw / 1000:g}")
    policy = cluster.controller.state.policy
    if lacking := policy.lacks(profile, cluster.spec.power.full_mw / 1000):
        raise _invalid(text, f"policy {policy.name} {lacking}")
    return profile


def _more_tasks(asked: Mapping[str, Any]) -> bool:
    tasks = asked.get("num_tasks")
    return tasks is not None and int(tasks) != int(asked["min_nodes"])


@lru_cache(maxsize=4096)
def _profile(text: str, least: int, most: int, malleable: bool) -> Profile:
    return read_profile(text, least, most, malleable)


def _invalid(text: str, expected: str) -> Refusal:
    return Refusal(f"Invalid #SLURMSIM app={text} ({expected})")
