"""Why one job of a live cluster waits, as plain data."""

from pathlib import Path
from typing import Any

from slurmsim.core.accounting.limit_reasons import LIMIT_REASONS
from slurmsim.errors import ConfigError
from slurmsim.live.waiting.interval import interval
from slurmsim.live.waiting.numbers import IN_LINE, ahead, facts
from slurmsim.live.waiting.onlooker import Onlooker
from slurmsim.live.waiting.past import newest
from slurmsim.live.waiting.trial_changes import Offers
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.states import JobState, is_held
from slurmsim.why.rules import rule


def explain(folder: Path, job: str, now: int | None = None, *, offers: bool = True) -> dict[str, Any]:
    """Why `job` of the cluster in `folder` waits.

    Parameters
    ----------
    job
        An id, or ``ARRAY_TASK``.
    now
        The present, seconds since the epoch; None: of a cluster that does not run, where its journal ends.
    offers
        Whether to look for what would start it now, and when it starts in truth, in copies of the cluster.

    Returns
    -------
    dict
        ``job``, ``name``, ``user``, ``state``, ``reason`` and its ``rule``, ``waited_s``.
        A pending job has more: ``facts`` (`slurmsim.live.waiting.numbers`), ``ahead_n`` and the first of these jobs
        (``ahead``), ``planned_start`` (None: no scheduler has planned it), ``policy`` (its own words, or nothing),
        ``starts_by_itself``, ``interval`` (`slurmsim.live.waiting.interval`) and ``offers``
        (`slurmsim.live.waiting.trial_changes`).

    Raises
    ------
    ConfigError
        There is no such job, or slurmctld has forgotten it.
    OutputError
        There is no cluster, or it cannot be read.
    """
    with Onlooker(folder) as onlooker:
        if now is not None:
            onlooker.advance(now)
        engine = onlooker.engine
        found = engine.job_table.find(job.strip())
        if not found:
            raise ConfigError(f"no such job: {job!r}", field="job", expected="the id of a job that squeue knows")
        live = next((one for one in found if one.core.state == JobState.PENDING), found[0])  # of an array who waits
        told = _about(live, engine.now)
        if live.core.state != JobState.PENDING:
            return told
        n, first = ahead(engine, live)
        planned = live.core.planned_start
        told |= {
            "facts": list(facts(engine, live)), "ahead_n": n, "ahead": first,
            "planned_start": None if planned is None else int(planned),
            "policy": engine.controller.host.explain(live.core),
            "starts_by_itself": None, "interval": None, "offers": [],
        }  # fmt: skip
        reason = str(live.core.reason)
        if offers and not is_held(reason):
            tries = Offers(onlooker, live)
            told["starts_by_itself"] = tries.by_itself()
            if not told["starts_by_itself"] and (reason in IN_LINE or reason in LIMIT_REASONS):
                told["interval"] = interval(onlooker, live, newest(folder, running=now is not None))
                told["offers"] = list(tries.all())
        return told


def _about(live: LiveJob, now: int) -> dict[str, Any]:
    core = live.core
    until = core.start_time if core.start_time is not None else core.end_time if core.end_time is not None else now
    return {
        "job": str(live.id) if live.array is None or live.own_id is not None else f"{live.array.id}_{live.task}",
        "name": live.asked.get("name") or "", "user": live.person.name, "account": core.account or "",
        "partition": ",".join(p.name for p in core.partitions), "qos": core.qos or "", "priority": int(core.priority),
        "nodes": int(core.requests[0].min_nodes), "cpus": int(core.requests[0].min_cpus),
        "time_limit_s": int(core.time_limit_s), "state": str(core.state), "reason": str(core.reason),
        "rule": rule(str(core.reason)), "submit": int(core.submit_time), "now": int(now),
        "start": None if core.start_time is None else int(core.start_time), "waited_s": int(until - core.submit_time),
    }  # fmt: skip
