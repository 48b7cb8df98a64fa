"""The engine of a twin: configuration and accounting, then the past of its jobs, then states, usage and priorities."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmsim import sluid
from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.queue.priority import Multifactor
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import CreateReservation, SetPartitionState, SetSiteFactor
from slurmsim.errors import WorkloadError
from slurmsim.hostlist import HostlistError, expand
from slurmsim.numerals import is_number
from slurmsim.releases import of_new
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.database.record_store import RecordStore
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.initial_engine import make_engine
from slurmsim.slurmctld.history.reconfiguration import Configuration, read_configuration
from slurmsim.states import JobState
from slurmsim.twin.accounts import accounting_texts, settle_usage
from slurmsim.twin.conf import CONF, configuration, read_nodes
from slurmsim.twin.dump import Dump
from slurmsim.twin.findings import Findings, Weight
from slurmsim.twin.jobs import SeenJob, read_jobs
from slurmsim.twin.moments import LATEST, Moments
from slurmsim.twin.nodes import settle_nodes
from slurmsim.twin.reservations import reservations
from slurmsim.twin.run_times import RunTimes
from slurmsim.twin.shown import Shown
from slurmsim.twin.timeline import Timeline

_SDIAG = re.compile(r"output at .*\((\d{1,18})\)", re.ASCII)
_CYCLE = re.compile(r"Last cycle when: .*\((\d{1,18})\)", re.ASCII)
_BOOT = re.compile(r"^BOOT_TIME\s*=\s*(\S+)", re.ASCII | re.MULTILINE)
_LONGEST_S = 600  # that a dump may take
LONGEST_S = 366 * 86_400  # what came earlier is taken to have come then
TOLERANCE = 0.01  # share by which a priority may differ before it is told


@dataclass(slots=True)
class Twin:
    """A twin in this process: its engine, the header of its journal, its files, its instant and what was found."""

    engine: Engine
    header: dict[str, Any]
    configuration: Configuration
    now: int
    findings: Findings
    jobs: list[SeenJob]
    lives: dict[int, Any]


def build(dump: Dump, scratch: Path, *, release: str = "", run_times: RunTimes | None = None) -> Twin:
    """Return the twin of a dump.

    Parameters
    ----------
    scratch
        An empty folder for what an engine writes beside its journal.
    release
        The release to be like; "": the dump's own, or the newest where it tells none.
    run_times
        How long jobs run; None: to their limits.

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
    jobs = list(read_jobs(dump.text("job.txt"), dump.path("job.txt"), moments))
    nodes = read_nodes(dump)
    if not nodes:
        raise WorkloadError("has no nodes", file=dump.path("node.txt"), expected="the output of scontrol show node")
    now = _now(dump, jobs)
    texts = configuration(dump, nodes, release, findings)
    accounting = accounting_texts(dump, findings)
    start = max(min([now, *(job.submit for job in jobs)]), now - LONGEST_S)
    header = new_header(
        start=start, mode="frozen", rate=1.0, conf=CONF,
        users=_users(jobs, findings), release=release, jobs="simulate", accounting=sorted(accounting),
    )  # fmt: skip
    found = read_configuration(header, Path(), {**texts, **accounting})
    engine = make_engine({**header, "texts": found.texts}, scratch, found)
    engine.storage.store = RecordStore()
    twin = Twin(engine, header, found, now, findings, jobs, {})
    _fill(twin, dump, nodes, moments, run_times or RunTimes())
    return twin


def _now(dump: Dump, jobs: list[SeenJob]) -> int:
    """Return the instant of the dump: when it was begun, else the latest that it tells of."""
    if dump.begin is not None:
        if not 0 < dump.begin < LATEST:
            raise WorkloadError(f"{dump.begin} is no time of our days", file=dump.path("about.txt"), field="begin")
        return max([dump.begin, *(when for job in jobs if (when := _asked_at(job, dump)) is not None)])
    said = _SDIAG.search(dump.text("sdiag.txt"))
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


def _fill(twin: Twin, dump: Dump, nodes: list[Any], moments: Moments, run_times: RunTimes) -> None:
    engine, findings, now = twin.engine, twin.findings, twin.now
    partitions = engine.controller.state.partitions
    closed = {p.name: p.spec.state for p in partitions if p.spec.state != "UP"}
    engine.network.tell(engine.now, [SetPartitionState(name, "UP") for name in closed])
    for spec in reservations(dump, engine.spec, moments, findings):
        engine.network.tell(engine.now, [CreateReservation(spec, restored=True)])
    timeline = Timeline(engine, now, run_times, findings)
    timeline.run(twin.jobs)
    twin.lives = timeline.lives
    engine.network.tell(now, [SetPartitionState(name, state) for name, state in closed.items()])
    settle_nodes(engine, nodes, moments, dump.path("node.txt"), findings)
    timeline.settle_waiting()
    settle_usage(engine, dump, findings)
    settle_records(twin)
    _settle_cycles(engine, dump, moments)
    settle_priorities(twin, dump)
    settle_plans(twin, nodes)
    engine.job_table.last_id = max([engine.job_table.last_id, *(job.id for job in twin.jobs)])
    engine.network.decided.clear()
    engine.controller.state.events.clear()
    engine.network.decide(now)
    engine.network.decided.clear()


def _lives(twin: Twin) -> Iterator[tuple[SeenJob, LiveJob]]:
    """Yield what the dump has of each job, and the job; of a record of several tasks each of them."""
    for job in twin.jobs:
        live = twin.lives.get(id(job))
        if live is not None:
            lives = [live] if live.array is None or live.own_id is not None else live.array.unsplit()
            for one in lives:
                yield job, one


def settle_records(twin: Twin) -> None:
    """Let jobs show what the dump shows of them: reasons, restarts, times."""
    state = twin.engine.controller.state
    for job, live in _lives(twin):
        core = live.core
        live.entered_after = (-1, -1)  # of passes that were the real cluster's
        core.restarts = core.restarts if job.is_running else job.restarts
        if job.accrue is not None:
            core.accrue_time = job.accrue
        if core.eligible_time is not None and (job.eligible is not None or not core.queued):
            core.eligible_time = job.eligible
        if job.sluid and (number := sluid.number_of(job.sluid)) is not None:
            twin.engine.storage.first(live).db_index = number
        if job.state == JobState.PENDING and job.reason and job.reason != "None":
            state.set_reason(core, job.reason)


def settle_priorities(twin: Twin, dump: Dump) -> None:
    """Let jobs have the priorities of the dump; what ours lack becomes their site factor."""
    engine, now = twin.engine, twin.now
    plugin, queue = engine.controller.priority, engine.controller.state.queue
    last = engine.controller.recalculation.last_run(now)
    sizes = _sizes(dump)
    differ: set[int] = set()
    for job, live in _lives(twin):
        core = live.core
        if job.priority is None or not job.priority or job.state != JobState.PENDING:
            continue
        if isinstance(plugin, Multifactor):
            if core.queued and job.id in sizes:
                _settle_size(engine, plugin, core, sizes[job.id])
            lacking = job.priority - min(plugin.recalculate(core, max(last, core.submit_time)))
            if lacking:
                engine.network.tell(now, [SetSiteFactor(core.id, lacking)])
            if abs(lacking) > TOLERANCE * job.priority:
                differ.add(job.id)
    for job, live in _lives(twin):
        if job.priority is not None:
            live.core.priority = job.priority
            records = list(queue.jobs.get(live.core.id, ()))
            queue.reprioritise(records, [job.priority] * len(records))
    if differ:
        what = f"priorities of {len(differ)} jobs differ from ours by more than 1 %; theirs are kept as site factors"
        twin.findings.add(Weight.MIDDLE, what)


def _sizes(dump: Dump) -> dict[int, int]:
    """Return the part of priorities that is of the size of jobs, by job id, from sprio."""
    found = {}
    for line in dump.text("sprio.txt").splitlines():
        cells = line.split("|")
        if len(cells) == 12 and is_number(cells[0].strip()) and is_number(cells[8].strip()):
            found[int(cells[0])] = int(cells[8])
    return found


def _settle_size(engine: Engine, plugin: Multifactor, core: Job, told: int) -> None:
    """Have a test found as many CPUs for `core` as make the size that sprio told, where ours are others."""
    if not plugin.w_size or plugin.relative_to_time or plugin.favor_small:
        return
    if abs(plugin.w_size * plugin.size_factor(core) - told) <= 1:
        return
    cpus = round((2 * told / plugin.w_size - core.nodes_asked / plugin.n_nodes) * plugin.n_cpus)
    if 0 < cpus <= plugin.n_cpus:
        engine.controller.found_cpus.found(core, cpus)


def settle_plans(twin: Twin, nodes: list[Shown]) -> None:
    """Let waiting jobs have the planned starts and nodes of the dump, and nodes be planned."""
    index = twin.engine.controller.state.table.index
    for job, live in _lives(twin):
        if job.state == JobState.PENDING and job.start is not None and job.start > twin.now:
            live.core.planned_start = job.start
            live.core.planned_nodes = _mask(index, job.planned_nodes)
    planned = [one.get("NodeName") for one in nodes if "PLANNED" in one.get("State").split("+")]
    host = twin.engine.controller.host
    host.planned = from_indices(sorted(index[name] for name in planned if name in index))
    host.planned_busy = host.planned & ~twin.engine.controller.state.table.idle


def _mask(index: Mapping[str, int], text: str) -> Bitmap:
    try:
        names = expand(text, MOST_NAMES) if text else []
    except HostlistError:
        return 0
    return from_indices(sorted({index[name] for name in names if name in index}))


def _settle_cycles(engine: Engine, dump: Dump, moments: Moments) -> None:
    """Let backfill have come when sdiag says that it did last, and the priority thread since slurmctld began."""
    found = _CYCLE.search(dump.text("sdiag.txt"))
    policy = engine.controller.host.policy
    if found and hasattr(policy, "last_cycle") and 0 < int(found[1]) <= engine.now:
        policy.last_cycle = int(found[1])
    boot = _BOOT.search(dump.text("config.txt"))
    again = engine.controller.recalculation
    when = moments.read(boot[1], dump.path("config.txt"), 1, "BOOT_TIME") if boot else None
    if again.period_s and when is not None and when <= engine.now:
        again.next_at = engine.now + again.period_s - (engine.now - when) % again.period_s
