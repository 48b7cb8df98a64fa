"""``--signal``: the warning before a job's time limit.

Mirrors job_time_limit (job_mgr.c, 22.05): at each scan for time limits a job that would be within its warning time
before the next scan but one gets its signal, once a run: its script alone with ``B:``, else the tasks of its steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.controller_state import LIMIT_SCAN_S
from slurmsim.slurmctld import cancels
from slurmsim.slurmctld.live_job import LiveJob
from slurmsim.slurmctld.steps import ALIVE
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine import Engine


def arm(engine: Engine, live: LiveJob) -> None:
    """See to the warning of a job that was just launched, if it asked for one."""
    number = int(live.asked.get("warn_signal") or 0)
    if not number:
        return
    ahead = int(live.asked.get("warn_time") or 60) + LIMIT_SCAN_S
    run = live.core.restarts

    def schedule() -> None:
        assert live.core.end_limit is not None
        due = engine.controller.scan_after(max(live.core.end_limit - ahead, engine.now + 1))
        engine.network.env.timeout(due - engine.now).callbacks.append(look)

    def look(_: object) -> None:
        core = live.core
        if core.restarts != run or core.end_limit is None or core.state not in ALIVE:
            return
        if core.state == JobState.SUSPENDED or engine.now + ahead < core.end_limit:
            schedule()
        else:
            cancels.warn(engine, live, number, "B" in str(live.asked.get("warn_flags") or ""))

    schedule()
