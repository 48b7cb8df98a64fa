"""What waiting jobs show and have in a dump, on the twin: reasons, priorities, planned starts; when cycles come."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from slurmsim import sluid
from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.queue.priority import Basic, Multifactor
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import SetSiteFactor
from slurmsim.hostlist import HostlistError, expand
from slurmsim.numerals import is_number
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.states import JobState
from slurmsim.twin.dump import Dump
from slurmsim.twin.findings import Weight
from slurmsim.twin.jobs import SeenJob
from slurmsim.twin.moments import Moments
from slurmsim.twin.shown import Shown
from slurmsim.twin.twin import Twin

_CYCLE = re.compile(r"Last cycle when: .*\((\d{1,18})\)", re.ASCII)
_BOOT = re.compile(r"^BOOT_TIME\s*=\s*(\S+)", re.ASCII | re.MULTILINE)
LATEST_ANSWER_S = 600  # so long after the first answer of a dump the last one may be
TOLERANCE = 0.01  # share by which a priority may differ before it is told


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
    state, left = twin.engine.controller.state, twin.engine.controller.eligibility.left
    for job, live in _lives(twin):
        core = live.core
        live.entered_after = (-1, -1)  # of passes that were the real cluster's
        core.submit_time = min(job.submit, twin.now)
        if job.accrue is not None or job.state != JobState.PENDING:
            core.accrue_time = job.accrue
        if core.eligible_time is not None and (job.eligible is not None or not core.queued):
            core.eligible_time = job.eligible
        if job.eligible is not None:
            state.queue.unasked.pop(core.id, None)  # a pass has asked whether it may start
        if job.sluid and (number := sluid.number_of(job.sluid)) is not None:
            twin.engine.storage.first(live).db_index = number
        if job.state == JobState.PENDING and job.reason and job.reason != "None":
            state.set_reason(core, job.reason)
        if not job.batch:
            live.asked = {name: value for name, value in live.asked.items() if name != "script"}
        if job.state != JobState.PENDING:
            core.reason = job.reason or core.reason
            if job.suspended_at and job.state != JobState.SUSPENDED:
                live.suspended_or_resumed, live.ran_before_suspension = job.suspended_at, job.ran_before_suspension_s
        elif "tres_given" in job.texts:  # of the run before
            live.asked = {**live.asked, "tres_left": (core.restarts, job.texts["tres_given"])}
        if job.is_over and job.dependency:
            left[core.id] = job.dependency


def settle_arrays(twin: Twin) -> None:
    """Let tasks share the record of their array where they do in the dump, whatever was changed of all of them."""
    arrays = twin.engine.controller.eligibility.arrays
    for _, live in _lives(twin):
        if live.array is not None and live.own_id is None and live.core.state == JobState.PENDING:
            arrays.join(live.core)


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
    changed = []
    for job, live in _lives(twin):
        if job.priority is not None:
            live.core.priority = job.priority
            changed += [(record, job.priority) for record in queue.jobs.get(live.core.id, ())]
    queue.reprioritise([record for record, _ in changed], [priority for _, priority in changed])
    if isinstance(plugin, Basic) and (told := [job.priority for job in twin.jobs if job.priority]):
        plugin._next = min(told)  # later jobs come behind all that are there
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


def settle_cycles(engine: Engine, dump: Dump, moments: Moments) -> None:
    """Let backfill have come when sdiag says that it did last, and the priority thread since slurmctld began."""
    found = _CYCLE.search(dump.text("sdiag.txt"))
    policy = engine.controller.host.policy
    if found and hasattr(policy, "go_on_from") and 0 < int(found[1]) <= engine.now + LATEST_ANSWER_S:
        policy.go_on_from(int(found[1]), engine.now, waits=bool(engine.controller.state.queue.jobs))
    boot = _BOOT.search(dump.text("config.txt"))
    again = engine.controller.recalculation
    when = moments.read(boot[1], dump.path("config.txt"), 1, "BOOT_TIME") if boot else None
    if again.period_s and when is not None and when <= engine.now:
        again.next_at = engine.now + again.period_s - (engine.now - when) % again.period_s
