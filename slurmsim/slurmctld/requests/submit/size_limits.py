"""What is too much for slurmctld: scripts beyond max_script_size, jobs beyond MaxJobCount (job_mgr.c, 22.05)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.errors import SubmitError
from slurmsim.slurmctld.base.submit_request import array_tasks

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

MAX_SCRIPT_BYTES = 4 << 20
MAX_JOB_COUNT = 10_000
TOO_LONG = "Pathname of a file, directory or other parameter too long"
QUEUE_FULL = "Resource temporarily unavailable"
_SIZE = re.compile(r"\bmax_script_size=(\d{1,18})")


def check(cluster: LiveCluster, asked: Mapping[str, Any]) -> None:
    """Refuse a request that is too much. Raises SubmitError with Slurm's text."""
    script = asked.get("script") or ""
    if not isinstance(script, str):
        raise SubmitError("Invalid job script")
    most = _max_script(cluster)
    if len(script) * 4 >= most and len(script.encode("utf-8", "surrogatepass")) >= most:
        raise SubmitError(TOO_LONG)
    limit = int(cluster.spec.options.get("MaxJobCount") or MAX_JOB_COUNT)
    array = asked.get("array_inx")
    if len(cluster.jobs) + 1 < limit and not array:
        return
    count = len(array_tasks(str(array), int(cluster.spec.option("MaxArraySize")))[0]) if array else 1
    if len(cluster.jobs) + count >= limit:
        raise SubmitError(QUEUE_FULL)


def _max_script(cluster: LiveCluster) -> int:
    text = cluster.spec.options.get("SchedulerParameters")
    found = _SIZE.search(text) if isinstance(text, str) else None
    return int(found[1]) if found else MAX_SCRIPT_BYTES
