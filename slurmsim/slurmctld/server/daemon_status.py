"""What ``slurmsim status`` shows: the daemon itself, its clock, its journal, and how much there is of everything."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from slurmsim import bitmap
from slurmsim.slurmctld.base.clock import Clock
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.journal import Journal
from slurmsim.states import FINAL_STATES, JobState
from slurmsim.version import __version__

_PAGE = os.sysconf("SC_PAGE_SIZE")


def daemon_status(folder: Path, engine: Engine, clock: Clock, journal: Journal, uptime_s: float) -> dict[str, Any]:
    """Plain data; bytes, seconds, and seconds since the epoch. Takes time linear in the jobs slurmctld still has."""
    states = Counter(live.core.state for live in engine.jobs.values())
    return {
        "cluster": engine.spec.name, "folder": str(folder), "pid": os.getpid(), "version": __version__,
        "compiled": not str(bitmap.__file__).endswith(".py"), "slurm_version": engine.release,
        "uptime_s": round(uptime_s, 3),
        "jobs": "run" if engine.runs_jobs else "simulate",
        "clock": {"now": clock.now(), "mode": clock.mode, "rate": clock.rate},
        "memory_bytes": int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE,
        "journal": {"path": str(journal.path), "bytes": journal.size, "entries": journal.last - journal.after},
        "queue": {
            "pending": states[JobState.PENDING], "running": states[JobState.RUNNING],
            "suspended": states[JobState.SUSPENDED], "ended": sum(states[one] for one in FINAL_STATES),
        },
        "accounting": {"put_aside": [one.text for one in engine.storage.store.aside]},
        "streams": _streams(engine),
        "faults": {"rules": len(engine.faults.rules), "met": sum(one.met for one in engine.faults.rules.values())},
    }  # fmt: skip


def _streams(engine: Engine) -> list[dict[str, Any]]:
    """How far each stream is; `open`: it may submit more."""
    jobs = engine.network.streams
    return [
        {"name": one.stream.name, "submitted": one.submitted, "buffered": len(one.waits), "dropped": one.dropped,
         "refused": one.refused, "open": one.chains > 0}
        for one in (jobs.sources.sources if jobs is not None else ())
    ]  # fmt: skip
