"""The engine of a twin: configuration and accounting, then the past of its jobs, then states, usage and priorities."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from slurmsim.core.records.messages import CreateReservation, SetPartitionState
from slurmsim.errors import WorkloadError
from slurmsim.releases import of_new
from slurmsim.slurmctld.database.record_store import RecordStore
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.initial_engine import make_engine
from slurmsim.slurmctld.history.reconfiguration import read_configuration
from slurmsim.states import JobState
from slurmsim.twin.accounts import accounting_texts, settle_usage
from slurmsim.twin.conf import CONF, configuration, read_nodes
from slurmsim.twin.documents import shown_jobs
from slurmsim.twin.dump import Dump
from slurmsim.twin.findings import Findings, Weight
from slurmsim.twin.jobs import SeenJob, jobs_of, read_jobs
from slurmsim.twin.moments import LATEST, Moments
from slurmsim.twin.nodes import awake, settle_nodes
from slurmsim.twin.reservations import reservations
from slurmsim.twin.run_times import RunTimes
from slurmsim.twin.settle import settle_arrays, settle_cycles, settle_plans, settle_priorities, settle_records
from slurmsim.twin.timeline import Timeline
from slurmsim.twin.twin import Twin

_SDIAG = re.compile(r"output at .*\((\d{1,18})\)", re.ASCII)
_PLUGINS = re.compile(
    r"^(JobSubmitPlugins|CliFilterPlugins|PrioritySiteFactorPlugin|PriorityType)\s{0,40}= (\S+)",
    re.ASCII | re.MULTILINE,
)
_LONGEST_S = 600  # that a dump may take
LONGEST_S = 366 * 86_400  # what came earlier is taken to have come then


def build(
    dump: Dump, scratch: Path, *, release: str = "", run_times: RunTimes | None = None,
    then: tuple[int, list[SeenJob]] | None = None,
) -> Twin:  # fmt: skip
    """Return the twin of a dump.

    Parameters
    ----------
    scratch
        An empty folder for what an engine writes beside its journal.
    release
        The release to be like; "": the dump's own, or the newest where it tells none.
    run_times
        How long jobs run; None: to their limits.
    then
        Another instant and its jobs, in place of those of the dump.

    Raises
    ------
    WorkloadError, ConfigError
        Something in the dump is wrong: file, line and field.
    """
    findings = Findings()
    if not release and not dump.release:
        findings.add(Weight.HEAVY, f"no version is told: {of_new(os.environ)} is taken")
    release = release or dump.release or of_new(os.environ)
    moments = Moments(dump.offset_s)
    jobs = _jobs(dump, moments) if then is None else then[1]
    nodes = read_nodes(dump)
    if not nodes:
        raise WorkloadError("has no nodes", file=dump.path("node.txt"), expected="the output of scontrol show node")
    now = _now(dump, jobs) if then is None else then[0]
    texts = configuration(dump, nodes, release, findings)
    accounting = accounting_texts(dump, {job.qos for job in jobs}, findings)
    _tell_plugins(dump, findings)
    _tell_components(jobs, findings)
    start = max(min([now, *(job.submit for job in jobs)]), now - LONGEST_S)
    header = new_header(
        start=start, mode="frozen", rate=1.0, conf=CONF,
        users=_users(jobs, findings), release=release, jobs="simulate", accounting=sorted(accounting),
    )  # fmt: skip
    found = read_configuration(header, Path(), {**texts, **accounting})
    engine = make_engine({**header, "texts": found.texts}, scratch, found)
    engine.storage.store = RecordStore()
    twin = Twin(engine, header, found, now, findings, jobs, {})
    _fill(twin, dump, nodes, moments, run_times or RunTimes(), is_dumped=then is None)
    return twin


def _jobs(dump: Dump, moments: Moments) -> list[SeenJob]:
    """Return the jobs of the text, or of the document where there is no text. Raises WorkloadError."""
    if dump.text("job.txt").strip():
        return list(read_jobs(dump.text("job.txt"), dump.path("job.txt"), moments))
    file = dump.path("job.json")
    return list(jobs_of(shown_jobs(dump.text("job.json"), file), file, moments))


def _now(dump: Dump, jobs: list[SeenJob]) -> int:
    """Return the instant of the dump: when it was begun, else the latest that it tells of.

    The controller's clock counts where that of the machine that asked is another.
    """
    said = _SDIAG.search(dump.text("sdiag.txt"))
    if said and not 0 < int(said[1]) < LATEST:
        raise WorkloadError(f"{said[1]} is no time of our days", file=dump.path("sdiag.txt"), field="sdiag output at")
    if dump.begin is not None and said and abs(int(said[1]) - dump.begin) > _LONGEST_S:
        return int(said[1])
    if dump.begin is not None:
        if not 0 < dump.begin < LATEST:
            raise WorkloadError(f"{dump.begin} is no time of our days", file=dump.path("about.txt"), field="begin")
        return max([dump.begin, *(when for job in jobs if (when := _asked_at(job, dump)) is not None)])
    if said:
        return int(said[1])
    past = [when for job in jobs for when in (job.submit, job.last_evaluated, job.is_running and job.start) if when]
    if not past:
        raise WorkloadError("tells no time", file=dump.name, expected="about.txt, sdiag.txt or jobs with times")
    return max(past)


def _asked_at(job: SeenJob, dump: Dump) -> int | None:
    """Return when the answer was given, as a running job's own times tell; None where they do not."""
    if job.state != JobState.RUNNING or job.start is None or job.run_s is None or job.restarts:
        return None
    when, begin = job.start + job.run_s, dump.begin or 0
    return when if begin <= when <= begin + _LONGEST_S else None


def _tell_components(jobs: list[SeenJob], findings: Findings) -> None:
    """Tell of heterogeneous jobs, of which each component is a job of its own here."""
    for job in jobs:
        if job.het is not None and not job.is_over:
            findings.add(Weight.MIDDLE, "a component of a heterogeneous job is a job of its own here", job.shown_id)


def _tell_plugins(dump: Dump, findings: Findings) -> None:
    """Tell of plug-ins of the site's own, which decide what no dump tells."""
    for key, value in _PLUGINS.findall(dump.text("config.txt")):
        if value not in ("(null)", "none", "priority/basic", "priority/multifactor"):
            findings.add(Weight.MIDDLE, f"{key}={value}: what it does to jobs that come later cannot be known")


def _users(jobs: list[SeenJob], findings: Findings) -> dict[str, str]:
    """Return the users of the jobs as a cluster is given them; of two with one uid the first."""
    found: dict[str, str] = {}
    owner: dict[int, str] = {}
    for job in jobs:
        if job.uid is None or job.user in found or not job.user or ":" in job.user + job.group:
            continue
        if owner.setdefault(job.uid, job.user) != job.user:
            findings.add(Weight.LIGHT, f"has the uid of {owner[job.uid]}", job.user)
            continue
        gid = "" if job.gid is None else str(job.gid)
        found[job.user] = f"{job.uid}:{job.group}:{gid}"
    return found


def _fill(twin: Twin, dump: Dump, nodes: list[Any], moments: Moments, run_times: RunTimes, *, is_dumped: bool) -> None:
    engine, findings, now = twin.engine, twin.findings, twin.now
    partitions = engine.controller.state.partitions
    closed = {p.name: p.spec.state for p in partitions if p.spec.state != "UP"}
    engine.network.tell(engine.now, [SetPartitionState(name, "UP") for name in closed])
    for spec in reservations(dump, engine.spec, moments, findings):
        engine.network.tell(engine.now, [CreateReservation(spec, restored=True)])
    timeline = Timeline(engine, now, run_times, findings)
    with awake(engine):
        timeline.run(twin.jobs)
    twin.lives = timeline.lives
    engine.network.tell(now, [SetPartitionState(name, state) for name, state in closed.items()])
    settle_nodes(engine, nodes, moments, dump.path("node.txt"), findings)
    timeline.settle_waiting()
    settle_usage(engine, dump, findings)
    if is_dumped:
        settle_records(twin)
        settle_cycles(engine, dump, moments)
        settle_priorities(twin, dump)
        settle_arrays(twin)
        settle_plans(twin, nodes)
    engine.job_table.last_id = max([engine.job_table.last_id, *(job.id for job in twin.jobs)])
    engine.network.decided.clear()
    engine.controller.state.events.clear()
    engine.network.decide(now)
    engine.network.decided.clear()
