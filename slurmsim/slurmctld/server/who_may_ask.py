"""Who may ask a cluster at all: its owner, and other users of the machine as far as nothing runs in another's name."""

from __future__ import annotations

from typing import Any

from slurmsim.protocol import DENIED
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.processes.simulated import is_real


def owners_business(engine: Engine, message: dict[str, Any], uid: int) -> str | None:
    """Why a peer who is not the cluster's owner is not even asked; None: as any user of a Slurm."""
    owner, user = engine.owner, message.get("user")
    if uid == owner:
        return None
    if (user and uid) or message.get("call") in ("ended", "solved"):  # root may be anybody; these are ours
        return DENIED
    call, arguments = message.get("call"), message.get("args") or {}
    if call not in ("submit", "update_crontab") or (user and not uid) or not engine.runs_jobs:
        return None
    jobs = [arguments["job"]] if call == "submit" else [entry["job"] for entry in arguments["jobs"]]
    if arguments.get("will_run") or not any(map(is_real, jobs)):
        return None
    name = engine.people.by_uid
    return f"{DENIED}: scripts run as {name(owner).name} here, and not as {name(uid).name}"
