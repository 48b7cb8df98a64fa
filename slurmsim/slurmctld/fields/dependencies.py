"""Dependencies of a job that are not met yet, as slurmctld prints them."""

from __future__ import annotations

import re

from slurmsim.slurmctld.base.live_cluster import LiveCluster
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.fields.last_sched_eval import looks
from slurmsim.states import JobState, Reason


def dependency_text(cluster: LiveCluster, live: LiveJob) -> str:
    """``afterok:12(unfulfilled)``."""
    eligibility = cluster.controller.eligibility
    pending = live.core.state == JobState.PENDING
    unasked = live.array is not None and live.entered_after == looks(cluster.controller)
    text = (
        eligibility.describe(live.core, unasked=unasked) if pending
        else _as_last_seen(cluster, live, eligibility.left.get(live.core.id, ""))
    )  # fmt: skip
    # a task that was named by an id of its own is shown by it
    for own in re.findall(r"(?<=:)\d+(?![\d_])", str(live.asked.get("dependency") or "")) if text else ():
        core = cluster.job_table.core_ids(f":{own}")
        text = re.sub(rf"{core}(?=[+(])", f":{own}", text)
    return text


def _as_last_seen(cluster: LiveCluster, live: LiveJob, text: str) -> str:
    """Return what it waited for when it ended: no pass has seen the end of what ended in the same second."""

    def seen(term: re.Match[str]) -> str:
        other = cluster.jobs.get(int(term[1]))
        asked = live.core.reason == Reason.DEPENDENCY_NEVER  # as it was when that ended it (--kill-on-invalid-dep)
        together = other is not None and other.core.end_time == live.core.end_time and not asked
        return term[0].replace("(failed)", "(unfulfilled)") if together else term[0]

    return re.sub(r":(\d+)[^,?(]*\(failed\)", seen, text)
