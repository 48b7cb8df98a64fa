"""Who may ask a cluster what: its owner everything, others what Slurm's users may, as far as none of it runs as him.

A batch script runs as the cluster's owner. So only he has scripts run, under his own name or, over the socket, under
one that he chose himself. A server that passes requests on names the user who asks (`asks`): that user is judged, as if
he had connected to the socket himself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmsim.protocol import DENIED, Refusal
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.simulated import is_real
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.requests.jobs.ids import records_of
from slurmsim.slurmctld.requests.submit import het_submission

OURS = frozenset({"ended", "program_ended", "solved"})  # what the daemon's own processes tell it
FILES = ("name", "std_err", "std_in", "std_out", "work_dir")
"""What of a job says which files its script reads and writes; its name can be a part of theirs."""


def asking(engine: Engine, message: Mapping[str, Any], peer: int) -> int:
    """Return the uid that is judged: the peer's, or for a request that the owner passes on, that of its user."""
    user = message.get("user")
    if message.get("asks") and user and peer in (engine.owner, 0):
        return engine.people.by_name(str(user)).uid
    return peer


def owners_business(engine: Engine, message: Mapping[str, Any], peer: int) -> str | None:
    """Why a peer is not even asked what he wants; None: it is looked at."""
    owner, user, asks = engine.owner, message.get("user"), bool(message.get("asks"))
    if asks and (not user or peer not in (owner, 0)):
        return DENIED  # only the owner and root pass requests on
    judged = asking(engine, message, peer)
    if judged == owner:
        return None
    if engine.people.is_simulated(peer):
        return f"{DENIED}: {peer} is the uid of the simulated user {engine.people.by_uid(peer).name} here"
    if (user and peer and not asks) or message.get("call") in OURS:  # root may act as any user
        return DENIED
    return None


def runs_as_another(engine: Engine, call: str, arguments: Mapping[str, Any], uid: int) -> str | None:
    """Why a request of the user `uid` is refused, since a script of the owner's would do what he says; else None.

    It is asked at the instant the request is carried out: which jobs there are may change until then.
    """
    if uid == engine.owner or not engine.runs_jobs:
        return None
    if call == "update_job":
        changed = any(arguments["job"].get(name) is not None for name in FILES)
        if changed and any(is_real(live.asked) for live in _named(engine, str(arguments["job_id"]))):
            return f"{DENIED}: files of scripts that run here are the owner's to name"
    if not any(map(is_real, _submitted(call, arguments))):
        return None
    name = engine.people.by_uid
    return f"{DENIED}: scripts run as {name(engine.owner).name} here, and not as {name(uid).name}"


def _named(engine: Engine, text: str) -> list[LiveJob]:
    """Return the jobs that an update would change; none where it is refused anyway."""
    try:
        return [live for record in records_of(engine, text, split=False).records for live in record.jobs]
    except Refusal:
        return []


def _submitted(call: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the jobs that a request would make, as the engine makes them."""
    if call == "update_crontab":
        return [entry["job"] for entry in arguments["jobs"]]
    if call != "submit" or arguments.get("will_run"):
        return []
    if arguments.get("components"):
        return het_submission.requests([arguments["job"], *arguments["components"]])
    return [arguments["job"]]
