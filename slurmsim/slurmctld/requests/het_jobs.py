"""Heterogeneous jobs: which components an id names, and what may be asked of one of them.

``N`` is the job of which N leads, and for most requests all of it; ``N+K`` and the id of its own name a component.
Mirrors het_job_* of job_mgr.c, and what a recorded 22.05 answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.requests.submit_request import job_number

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.engine.live_cluster import LiveCluster
    from slurmsim.slurmctld.engine.live_job import LiveJob

NOT_WHOLE = ("Operation not permitted on individual component of heterogeneous job", 2108)
NOT_LEADER = ("Job not heterogeneous job leader", 2107)
"""What is refused of one component: Slurm's text and number."""
NOT_SUPPORTED = "Requested operation not supported on this system"
MOST = 128
"""Components of one job, as slurmctld has it."""


def place(core: Job) -> tuple[int, int, int] | None:
    """(id of the leader, place among the components, their number) of a component; None: it is none."""
    het = core.sub.het
    return None if het is None else (het[0], core.id - het[0], het[1])


def id_set(core: Job) -> str | None:
    """The ids of all components: ``4-6``."""
    het = core.sub.het
    return None if het is None else f"{het[0]}-{het[0] + het[1] - 1}"


def component(cluster: LiveCluster, text: str) -> LiveJob | None:
    """The component ``N+K`` of the job that N leads, or N itself if it is component K; None: there is none any more."""
    base, plus, text = text.partition("+")
    number, offset = job_number(base), job_number(text)
    if not plus or not text.isascii() or not text.isdecimal():
        return None
    named = cluster.shown(number)
    if named is None or (at := place(named.core)) is None:
        return None
    if at[1] == offset:
        return named
    live = cluster.shown(number + offset) if not at[1] else None
    return live if live is not None and live.core.sub.het == named.core.sub.het else None


def whole(cluster: LiveCluster, found: Sequence[LiveJob]) -> list[LiveJob]:
    """`found`, and behind a leader the other components of its job that slurmctld still has."""
    if len(found) != 1 or (at := place(found[0].core)) is None or at[1]:
        return list(found)
    others = (cluster.shown(at[0] + offset) for offset in range(1, at[2]))
    return [found[0], *(live for live in others if live is not None and live.core.sub.het == found[0].core.sub.het)]


def leads(live: LiveJob) -> bool:
    """Whether it is no component, or the first of its job."""
    at = place(live.core)
    return at is None or not at[1]


def check(cluster: LiveCluster, asked: Sequence[Mapping[str, Any]], *, will_run: bool) -> None:
    """Refuse a submission of components that slurmctld would, or that is not modelled. Raises Refusal.

    Only backfill starts components; slurmctld asks whether it is there.
    """
    policy = cluster.controller.state.policy
    if will_run or policy.name != "backfill" or getattr(policy, "interval", 0) == -1:
        raise Refusal(NOT_SUPPORTED)
    if any(one.get("array_inx") for one in asked):
        raise Refusal("Invalid job array specification")
    if len(asked) > MOST:
        raise Refusal("Invalid argument")


def requests(asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The requests of the components: they begin together, and those behind the leader have a script of their own.

    It does nothing, and is never run.
    """
    begin = max(int(one.get("begin_time") or 0) for one in asked)
    more: dict[str, Any] = {"begin_time": begin} if begin else {}
    script = asked[0].get("script")
    found = [{**one, **more, "het_offset": offset} for offset, one in enumerate(asked)]
    if script is not None:
        found = [{**one, "script": script_of(str(script), one["het_offset"])} for one in found]
    return found


def script_of(script: str, offset: int) -> str:
    """The script slurmctld keeps for a component: the leader's, or the first line and its own ``#SBATCH`` lines."""
    if not offset:
        return script
    first, *lines = script.splitlines()
    own, at = [first], 0
    for line in lines:
        if line.split()[:2] in (["#SBATCH", "hetjob"], ["#SBATCH", "packjob"]):
            at += 1
        elif at == offset and line.startswith("#SBATCH"):
            own.append(line)
    return "\n".join([*own, "exit 0", ""])
