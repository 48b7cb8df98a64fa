"""Which jobs have a step manager of their own (24.05), as far as commands tell them from others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.release_changes import since

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob


def has_stepmgr(cluster: LiveCluster, live: LiveJob) -> bool:
    """Return True if a step manager looks after the steps of that job: never of a heterogeneous one."""
    options = cluster.spec.options
    if not since(cluster.release, "stepmgr") or live.core.sub.het is not None:
        return False
    words = {word.casefold() for word in options.get("PrologFlags") or ()}
    everywhere = "enable_stepmgr" in str(options.get("SlurmctldParameters") or "").casefold()
    return "contain" in words and (everywhere or bool(live.asked.get("stepmgr")))
