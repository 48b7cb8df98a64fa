"""Submissions of heterogeneous jobs: what is refused of them, and the requests of their components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.core.accounting.het_limits import HetLimits
from slurmsim.errors import SubmitError
from slurmsim.hostlist import compress
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.submit_request import names_of

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

NOT_SUPPORTED = "Requested operation not supported on this system"
NOT_AT_ONCE = "Job can not start immediately"
MOST = 128  # components of one job, as slurmctld has it


def check(cluster: LiveCluster, asked: Sequence[Mapping[str, Any]], *, will_run: bool) -> None:
    """Refuse a submission of components that slurmctld would, or that is not modelled. Raises Refusal.

    Only backfill starts components; slurmctld asks whether it is there.
    """
    policy = cluster.controller.state.policy
    if will_run or policy.name != "backfill" or getattr(policy, "interval", 0) == -1:
        raise Refusal(NOT_SUPPORTED)
    if any(one.get("array_inx") for one in asked):
        raise Refusal("Invalid job array specification")
    if len({bool(one.get("allocate")) for one in asked}) > 1 or len(asked) > MOST:
        raise Refusal("Invalid argument")
    if any(one.get("immediate") for one in asked):
        raise Refusal(NOT_AT_ONCE)


def limits_together(cluster: LiveCluster) -> HetLimits | None:
    """Return the test of limits that components must keep together; None where they are tested one by one."""
    limits = cluster.controller.accounting.limits
    return HetLimits(limits) if limits is not None and since(cluster.release, "het_limits_together") else None


def requests(asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the requests of the components, which begin together and exclude the nodes the others name.

    All but the leader have their own script: it does nothing, and is never run.
    """
    begin = max(int(one.get("begin_time") or 0) for one in asked)
    more: dict[str, Any] = {"begin_time": begin} if begin else {}
    script = asked[0].get("script")
    found = [{**one, **more, **_excluded(asked, offset), "het_offset": offset} for offset, one in enumerate(asked)]
    if script is not None:
        found = [{**one, "script": script_of(str(script), one["het_offset"])} for one in found]
    return found


def _excluded(asked: Sequence[Mapping[str, Any]], offset: int) -> dict[str, str]:
    """Return the nodes a component may not have: those it excludes itself, and those that others name."""
    named = [one.get("req_nodes") for other, one in enumerate(asked) if other != offset and one.get("req_nodes")]
    if not named:
        return {}
    texts = [text for text in (asked[offset].get("exc_nodes"), *named) if text]
    try:
        return {"exc_nodes": compress(name for text in texts for name in names_of(str(text)))}
    except SubmitError:
        return {}  # the component that names them is refused


def script_of(script: str, offset: int) -> str:
    """Return the script kept for a component: the leader's, or the first line and its own ``#SBATCH`` lines."""
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
