"""Whether a job shares its nodes, in the two words 26.05 has for it; of jobs and of what was stored of them."""

from __future__ import annotations

from slurmsim.model.partition import PartitionSpec


def oversubscribe(shared: str | None, spec: PartitionSpec | None, *, forced: bool = False, alone: bool = False) -> str:
    """Return YES if it asked to share, OK where its partition lets it, else NO.

    Mirrors get_job_oversubscribe_value (slurm_protocol_defs.c, 26.05). `shared` is what was asked, `spec` None for a
    partition that is gone; `alone`: the job has its nodes alone for another reason.
    """
    if forced or (shared == "ok" and (spec is None or spec.oversubscribe != "EXCLUSIVE")):
        return "YES"
    if spec is None or alone or shared in ("exclusive", "none"):
        return "NO"
    may = spec.oversubscribe == "FORCE" or (spec.oversubscribe == "YES" and spec.oversubscribe_max > 1)
    return "OK" if may else "NO"


def exclusive(shared: str | None, spec: PartitionSpec | None, *, forced: bool = False, whole: bool = False) -> str:
    """Return what it has for itself: NODE, USER, MCS, TOPO or NO. `whole`: nodes are not divided among jobs."""
    if forced or shared == "ok":
        return "NO"
    if shared == "user" or (spec is not None and spec.exclusive_user):
        return "USER"
    if spec is not None and spec.exclusive_topo:
        return "TOPO"
    if shared in ("mcs", "topo"):
        return shared.upper()
    return "NODE" if shared == "exclusive" or whole or (spec and spec.oversubscribe == "EXCLUSIVE") else "NO"
