"""Jobs that recur by a user's table (scrontab): who is one, what may be done to them, and how that ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.live_job import LiveJob

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

NOT_TO_BE_CHANGED = ("Cannot modify scrontab jobs through scontrol", 2096)
NOT_SAID = ("Cannot cancel scrontab jobs without --cron flag.", 2098)
_DISABLED = "#DISABLED: "


def recurs(live: LiveJob) -> bool:
    """Return True if the job is one of a table that is in force."""
    return bool(live.core.sub.cron)


def check_changeable(live: LiveJob) -> None:
    """Raise Refusal for a job that recurs: its table is what to change."""
    if recurs(live) and not live.over:
        raise Refusal(*NOT_TO_BE_CHANGED)


def words(cluster: LiveCluster) -> list[str]:
    """ScronParameters."""
    return str(cluster.spec.options.get("ScronParameters") or "").lower().split(",")


def check_cancel(cluster: LiveCluster, jobs: Sequence[LiveJob], *, said: bool) -> None:
    """Raise Refusal where jobs that recur are to be cancelled, and that is not `said` though it has to be."""
    if not said and "explicit_scancel" in words(cluster) and any(map(recurs, jobs)):
        raise Refusal(*NOT_SAID)


def disable(cluster: LiveCluster, jobs: Sequence[LiveJob]) -> None:
    """Those of `jobs` that recur were signalled: they do not any more, and the lines of their tables are out of use."""
    for live in jobs:
        if not recurs(live):
            continue
        first, last = live.asked["crontab_lines"]
        stop(live)
        text = cluster.crontabs.get(live.person.uid)
        if text is not None:
            lines = text.split("\n")
            lines[first - 1 : last] = [f"{_DISABLED}{line}" for line in lines[first - 1 : last]]
            cluster.crontabs[live.person.uid] = "\n".join(lines)


def stop(live: LiveJob) -> None:
    """Let a job recur no more."""
    live.core.sub.cron = ""
    live.asked = {**live.asked, "crontab_lines": None}
