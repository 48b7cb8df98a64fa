"""Replay locked: the recorded run as facts, and before each of its moments the question what we would do.

The controller is told the recorded submissions, starts (on their recorded nodes) and ends, so a wrong decision cannot
spoil the next. A pass is made on a copy of it, whenever the recording shows that one started something, and whenever
the controller itself wants one. Three questions:

- a recorded start: is the job among those our pass starts, and on the same nodes?
- a job that our passes would start: does it start in the recording too, within one backfill interval?
- a look of the recorder at a pending job: does it show the reason we show?
"""

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.messages import Fact, JobEnded, Launch, Submit
from slurmsim.data_classes import dataclass, field
from slurmsim.fidelity.copies import Original
from slurmsim.fidelity.instep import orders
from slurmsim.fidelity.recording import RecordedJob, Recording
from slurmsim.hostlist import expand
from slurmsim.model.submission import Submission
from slurmsim.policy import load_policy
from slurmsim.sim.network import Behaviour
from slurmsim.sim.submissions import Submissions
from slurmsim.states import JobState

MAX_ORDERS = 60  # orders of the events of one second that are tried
LOOK_S = 5  # the recorder looked at pending jobs that often
FREED_S = 5  # a node may report that long after its job's end that it is free; each does so on its own
LATE_S = 4  # a look may show what a pass of so many seconds before or after decided: 3 s between passes, 1 s of a look

_Best = tuple[tuple[int, int, int], Controller, dict[int, str]]
"""(on the recorded nodes, started, less what should not start), the copy, and what it started where."""


@dataclass(slots=True)
class Locked:
    """What was counted."""

    # starts, agreed, on_nodes: recorded starts; those our pass makes too; those of them on the recorded nodes
    starts: int = 0
    agreed: int = 0
    on_nodes: int = 0
    # wanted, kept_waiting: jobs our passes would start; those of them that the recording starts more than one backfill
    # interval after we first wanted to, having wanted to ever since
    wanted: int = 0
    kept_waiting: int = 0
    # looks, same_reason: looks at pending jobs; those that show our reason
    looks: int = 0
    same_reason: int = 0
    # recorded starts that could not be given their recorded nodes, because for us these were not free
    displaced: int = 0
    # of `on_nodes`, starts that our pass makes only without nodes of a job that ended up to `FREED_S` before
    unreported: int = 0
    missed: list[int] = field(default_factory=list)  # job ids of the starts that we would not make

    @property
    def share_agreed(self) -> float:
        """Share of recorded starts that our pass makes too, on the recorded nodes."""
        return self.on_nodes / self.starts if self.starts else 1.0

    @property
    def share_in_time(self) -> float:
        """Share of the jobs our passes would start that the recording does not keep waiting."""
        return 1 - self.kept_waiting / self.wanted if self.wanted else 1.0

    @property
    def share_of_reasons(self) -> float:
        """Share of looks that show our reason."""
        return self.same_reason / self.looks if self.looks else 1.0


def replay_locked(recording: Recording, held: Mapping[int, Allocation] | None = None) -> Locked:
    """Walk through `recording` second by second; see the module.

    Parameters
    ----------
    held
        What each job had of its nodes as far as known (a recording has node lists only): as `InStep` found it. Used
        where the nodes are the recorded ones; else it is what our own pass gives it.
    """
    return _Walk(recording, held or {}).run()


class _Walk:
    """The controller, told what was recorded, and what is asked of copies of it."""

    def __init__(self, recording: Recording, held: Mapping[int, Allocation]) -> None:
        self.recording, self.epoch, self.held = recording, recording.epoch, held
        policy = load_policy(recording.scheduler)()
        self.c = Controller(
            recording.cluster, policy, recording.up_since, accounting=recording.accounting, enforce_limits=False
        )
        if recording.reservations:
            self.c.note(recording.up_since, recording.facts)
        self.main_only = policy.name == "builtin"  # no pass but the main scheduler's
        self.found = Locked()
        self.jobs = {job.id: job for job in recording.jobs}
        self.submits: dict[int, list[Submit]] = defaultdict(list)
        self.ends: dict[int, list[JobEnded]] = defaultdict(list)
        self.starts: dict[int, list[RecordedJob]] = defaultdict(list)
        behaviour: dict[int, Behaviour] = {}
        submit = recording.workload.ints["submit"].tolist()
        for row, sub, how in Submissions(recording.workload).rows():
            self.submits[submit[row]].append(Submit(sub))
            behaviour[sub.job_id] = how
        for job in recording.jobs:
            how = behaviour[job.id]
            self.starts[self.epoch + job.start].append(job)
            self.ends[self.epoch + job.end].append(JobEnded(job.id, how.state, how.exit_code, 0))
        self.wanted_since: dict[int, int] = {}  # jobs our passes would start, since when without a break
        self.ever_wanted: set[int] = set()
        self.placed: dict[int, Allocation] = {}  # what our latest pass gave a job, CPU for CPU
        self.freed: list[tuple[int, Bitmap]] = []  # when jobs ended lately, and their nodes
        self.ahead: set[int] = set()  # jobs that a pass of ours started in the second before
        self.shown: dict[int, list[tuple[int, str]]] = defaultdict(list)  # job -> (since when, our reason)
        self.interval = int(recording.cluster.scheduler_parameters.get("bf_interval") or 30)
        self.mark: Original[None] | None = None  # the controller as it was some time ago, if `since` tells the rest
        self.since: list[tuple[int, list[Fact], bool]] = []  # what it was told: when, what, True if it was to step

    def run(self) -> Locked:
        times = sorted(self.submits.keys() | self.ends.keys() | self.starts.keys())
        for now, following in zip(times, [*times[1:], times[-1]], strict=True):
            self._moment(now)
            self._until(now, following)
        self.found.wanted = len(self.ever_wanted)
        self._count_looks()
        return self.found

    # -- moments of the recording ---------------------------------------------------------------------------------

    def _moment(self, now: int) -> None:
        """Carry out what the recording holds of the second `now`, after its passes have been tried."""
        self.c.state.events.clear()  # are for a recorder, which is not here: copies would carry them along
        recorded = {job.id: job for job in self.starts.get(now, ()) if job.id not in self.ahead}
        facts: list[Fact] = [*self.ends.get(now, ()), *self.submits.get(now, ())]
        self.freed = [entry for entry in self.freed if entry[0] >= now - FREED_S]
        self.freed += [(now, self.c.state.jobs[fact.job_id].nodes) for fact in self.ends.get(now, ())]
        best: _Best | None = None
        if recorded:
            best = self._best(now, recorded, [()], None)
            if best[0][0] < len(recorded):
                reported = best[0][0]
                best = self._best(now, recorded, self._late(recorded), best)
                self.found.unreported += best[0][0] - reported
            (exact, n_agreed, _), _, started = best
            self.found.starts += len(recorded)
            self.found.agreed += n_agreed
            self.found.on_nodes += exact
            self.found.missed += [job_id for job_id in recorded if job_id not in started]
            early = self._after_the_turn(now, started, recorded)
            whole = self.main_only or any(job.scheduler == "Backfill" for job in recorded.values())
            self._want(now, started, recorded | early, whole=whole)
        for job in self.starts.get(now, ()):
            if job.id in self.ahead:  # started by a pass of the second before, so before anything of this one
                self._start(job)
        self.c.note(now, facts)
        self.since.append((now, facts, False))
        if best is not None:
            self._adopt(best[1])
        for job in recorded.values():
            self._start(job)
        self._show(now)

    def _best(
        self, now: int, recorded: dict[int, RecordedJob], suppositions: Iterable[Sequence[Bitmap]], best: _Best | None
    ) -> _Best:
        """Return the pass that comes closest to what is recorded, under one of the suppositions, or `best`."""
        original = Original(self.c, None)
        for late in suppositions:
            for fork, started in self._passes(now, recorded, late, original):
                agreed = [job_id for job_id in recorded if job_id in started]
                exact = sum(expand(started[job_id]) == expand(recorded[job_id].nodes) for job_id in agreed)
                score = exact, len(agreed), -len(started)
                if best is None or score > best[0]:
                    best = score, fork, started
                if score == (len(recorded), len(recorded), -len(recorded)):
                    return best
        assert best is not None
        return best

    def _late(self, recorded: dict[int, RecordedJob]) -> Iterator[Sequence[Bitmap]]:
        """Yield the nodes that may still be completing in each pass of this second: freed, and without a new job.

        With several starts the nodes of the last of them may have come back between two passes.
        """
        index, freed = self.c.state.table.index, 0
        for _, nodes in self.freed:
            freed |= nodes
        taken, after = 0, []
        for job in sorted(recorded.values(), key=lambda job: [r.key for r in self.c.state.queue.jobs.get(job.id, ())]):
            taken |= from_indices(sorted(index[name] for name in expand(job.nodes)))
            after.append(freed & ~taken)
        if after[-1]:
            yield after[-1:]
        for first in after[:-1]:
            if first != after[-1]:
                yield first, after[-1]

    def _passes(
        self, now: int, recorded: dict[int, RecordedJob], late: Sequence[Bitmap], original: Original[None]
    ) -> Iterator[tuple[Controller, dict[int, str]]]:
        """Yield the passes the recording shows in this second, on copies of `original`, likeliest order first.

        `late` has the nodes that are still completing in each pass, the last of them in further ones, too.
        """
        ends = {fact.job_id: fact for fact in self.ends.get(now, ())}
        subs = [fact.sub for fact in self.submits.get(now, ())]
        kinds = sorted({job.scheduler == "Backfill" for job in recorded.values()})
        kinds += kinds[-1:] * (len(late) - len(kinds))
        for order in islice(orders(sorted(ends), subs, kinds), MAX_ORDERS):
            fork, _ = original.copy()
            started: dict[int, str] = {}
            completing = list(late)
            for item in order:
                if isinstance(item, bool):
                    if completing:
                        fork.completing.nodes = completing.pop(0) if len(completing) > 1 else completing[0]
                    for action in fork.run_pass(now, backfill=item):
                        if isinstance(action, Launch):
                            alloc = action.job.alloc
                            assert alloc is not None
                            self.placed[action.job.id] = alloc
                            started[action.job.id] = fork.state.cluster.node_list(alloc)
                else:
                    fork.note(now, [Submit(item) if isinstance(item, Submission) else ends[item]])
            yield fork, started

    def _after_the_turn(
        self, now: int, started: dict[int, str], recorded: dict[int, RecordedJob]
    ) -> dict[int, RecordedJob]:
        """Return starts of our pass that are recorded in the next second, on the same nodes: it ran across the turn."""
        following = {job.id: job for job in self.starts.get(now + 1, ())}
        early = {
            job_id: following[job_id]
            for job_id, names in started.items()
            if job_id in following and expand(names) == expand(following[job_id].nodes)
        }
        self.ahead |= early.keys()
        self.found.starts += len(early)
        self.found.agreed += len(early)
        self.found.on_nodes += len(early)
        return early

    def _start(self, recorded: RecordedJob) -> None:
        """Start the job on its recorded nodes; elsewhere, or not at all, where ours are not free."""
        self.mark = None
        c, job = self.c, self.c.state.jobs.get(recorded.id)
        if job is None or not job.queued:
            self.found.displaced += 1
            return
        mask = from_indices(sorted(c.state.table.index[name] for name in expand(recorded.nodes)))
        records = [r for r in c.state.queue.jobs[job.id] if not mask & ~r.partition.mask] or list(
            c.state.queue.jobs[job.id]
        )
        record = records[0]
        known = (alloc for alloc in (self.held.get(job.id), self.placed.get(job.id)) if alloc is not None)
        alloc = next((alloc for alloc in known if alloc.mask == mask and _is_free(c, alloc)), None)
        if alloc is None:
            exact = copy.copy(record.request)
            exact.required = exact.candidates = mask
            exact.min_nodes = exact.target_nodes = exact.node_need = mask.bit_count()
            exact.max_nodes = max(exact.max_nodes, exact.min_nodes)
            exact.by_count, exact.switches = False, 0
            alloc = c.state.selector.place(exact, c.state.table, mask)
        if alloc is None:
            self.found.displaced += 1
            alloc = c.state.selector.place(record.request, c.state.table)
        if alloc is not None:
            c.life_cycle.start(record, alloc, recorded.scheduler)

    # -- moments of our own ---------------------------------------------------------------------------------------

    def _until(self, now: int, following: int) -> None:
        """Try the passes that the controller wants before the recording goes on; their starts are not carried out."""
        while True:
            at = self.c.wake_at()
            if at is None or max(at, now + 1) >= following:
                return
            now = max(at, now + 1)
            if self.mark is None:
                self.mark, self.since = Original(self.c, None), []
            passes = self.c.host.passes
            started = {action.job.id: "" for action in self.c.step(now, []) if isinstance(action, Launch)}
            self._want(now, started, {}, whole=self.main_only or self.c.host.passes > passes)
            if not started:
                self.since.append((now, [], True))
            else:
                ahead, self.c = self.c, self._as_before(self.mark)
                self.c.note(now, [])
                self._adopt(ahead)
                now += LOOK_S  # it will want the same again
            self._show(now)

    def _as_before(self, mark: Original[None]) -> Controller:
        """Return the controller as it was before its latest step: a copy at `mark`, told again what came since.

        Most steps start nothing. To step on a copy each time took a third of the whole replay.
        """
        c, _ = mark.copy()
        for when, facts, steps in self.since:
            if steps:
                c.step(when, facts)
            else:
                c.note(when, facts)
        return c

    def _want(self, now: int, started: dict[int, str], recorded: dict[int, RecordedJob], *, whole: bool) -> None:
        """Note what a pass of ours would start at `now`, and what the recording starts.

        `whole`: the pass was such that it starts whatever may start; what it does not start is not wanted any more.
        """
        if whole:
            for job_id in [k for k in self.wanted_since if k not in started and k not in recorded]:
                del self.wanted_since[job_id]
        for job_id in started:
            self.ever_wanted.add(job_id)
            self.wanted_since.setdefault(job_id, now)
        for job_id in recorded:
            since = self.wanted_since.pop(job_id, now)
            self.found.kept_waiting += now - since > self.interval

    # -- reasons --------------------------------------------------------------------------------------------------

    def _adopt(self, fork: Controller) -> None:
        """Take over what a pass on a copy found out about jobs pending in both: their reasons, and CPUs for them.

        Waits for switches that began with it begin here, too.
        """
        self.mark = None
        for job_id, job in self.c.state.jobs.items():
            other = fork.state.jobs.get(job_id)
            if other is not None and job.state == other.state == JobState.PENDING:
                self.c.state.set_reason(job, other.reason)
                if job.request.switches and fork.switch_wait.begun(other):
                    self.c.switch_wait.look(job)
                if other.tried_cpus and job.queued:  # else its first priority would count them
                    self.c.found_cpus.found(job, other.tried_cpus)
        self.c.host.keep_time(fork.host)

    def _show(self, now: int) -> None:
        for job in self.c.state.jobs.values():
            if job.state == JobState.PENDING:
                history = self.shown[job.id]
                if not history or history[-1][1] != job.reason:
                    history.append((now, job.reason))

    def _count_looks(self) -> None:
        """Compare reasons at every look: LOOK_S apart from the first on, until the recorded start."""
        for job in self.recording.jobs:
            ours = self.shown.get(job.id, [])
            for look in range(job.reasons[0][0], job.start, LOOK_S) if job.reasons else ():
                reason = [text for when, text in job.reasons if when <= look][-1]
                at = self.epoch + look
                self.found.looks += 1
                self.found.same_reason += reason in _within(ours, at - LATE_S, at + LATE_S)


def _is_free(c: Controller, alloc: Allocation) -> bool:
    if alloc.whole:
        return not alloc.mask & ~c.state.table.idle
    at = alloc.indices()
    enough = (c.state.table.free_cpus[at] >= alloc.cpus).all() and (c.state.table.free_mem[at] >= alloc.mem).all()
    return bool(enough) and all((c.state.table.free_gres[kind][at] >= count).all() for kind, count in alloc.gres)


def _within(history: list[tuple[int, str]], begin: int, end: int) -> set[str]:
    """Return the reasons that held at some time in ``[begin, end]``."""
    found = {reason for when, reason in history if begin <= when <= end}
    held = [reason for when, reason in history if when < begin]
    return found | set(held[-1:])
