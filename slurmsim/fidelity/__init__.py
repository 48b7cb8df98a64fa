"""How close slurmsim comes to recordings of a real slurmctld.

A recording (a JSON file of the oracle kit) holds the workload, what slurmctld decided for each job, and its
slurm.conf. It is replayed in three ways:

- *in step* (`instep`): each job lasts as recorded, and passes come when the recording shows that they came. Compared
  are the decisions: start order and node lists.
- *locked* (`locked`): everything is as recorded, and before each recorded moment the controller is asked what it would
  do. Compared are its starts and the reasons of those that wait; a wrong answer spoils nothing after it.
- *freely* (`free`): nothing recorded but submissions and the mean latency of a launch. Compared are the times, and
  whether order and nodes are the same in spite of them.

Real Slurm does not repeat itself: how far its own runs of one workload are apart, and the free replay from them, says
`repeats`. What is measured and why is in docs/fidelity.md.
"""

from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.data_classes import asdict, dataclass
from slurmsim.errors import WorkloadError
from slurmsim.fidelity.free import Free, launch_latency, replay_freely
from slurmsim.fidelity.instep import InStep, replay_in_step
from slurmsim.fidelity.locked import Locked, replay_locked
from slurmsim.fidelity.measures import NEVER, launches, share_in_order, share_of_nodes, starts
from slurmsim.fidelity.recording import Recording, read_recording


@dataclass(frozen=True, slots=True)
class Assessment:
    """One recording compared. Times in seconds, shares in [0, 1].

    In step: `order` (start order, ties within one second aside), `nodes` (same node list), `seconds` with starts, of
    which `reordered` needed another order of events inside the second and `unexplained` fit no order.
    Locked: `locked_starts` (recorded starts that our pass makes too, on the recorded nodes), `locked_in_time` (jobs our
    passes would start that the recording does not keep waiting for more than a backfill interval), `locked_reasons`
    (looks at pending jobs that show our reason). `locked_late` is a count of starts: they are made only if nodes of a
    job that ended up to five seconds before are still completing, which no recording shows.
    Freely: `launch_s` is what a job took beyond its work, mean; the free replay is told this one number. `free_order`,
    `free_nodes` and the start differences compare the starts. `drift_s` is the median difference of the last tenth of
    the starts, and `longest_chain` is that of launches in the recording. Then there is the mean latency of a launch,
    recorded and replayed.
    `explained` is the share of jobs with a start difference that is, to a second, the difference of the latencies added
    up along their chains.
    """

    recording: str
    slurm: str
    jobs: int
    order: float
    nodes: float
    seconds: int
    reordered: int
    unexplained: int
    locked_starts: float
    locked_in_time: float
    locked_reasons: float
    launch_s: float
    free_order: float
    free_nodes: float
    median_start_diff_s: float
    max_start_diff_s: float
    makespan_s: int
    median_share_of_makespan: float
    drift_s: float
    longest_chain: int
    latency_recorded_s: float
    latency_replayed_s: float
    explained: float
    mean_wait_recorded_s: float
    mean_wait_replayed_s: float
    not_started: int
    locked_late: int

    @property
    def missing(self) -> str:
        """What must be said before any figure: jobs that never started when replayed freely; empty when all did."""
        if not self.not_started:
            return ""
        return (f"{self.recording}: {self.not_started:,} of {self.jobs:,} jobs never started in the free replay: its "
                "differences and waits are of the others.")  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """All fields, for programs."""
        return asdict(self)

    def as_row(self) -> dict[str, str]:
        """Return the line a person reads."""
        return {
            "recording": self.recording.removesuffix(".json"), "Slurm": self.slurm, "jobs": str(self.jobs),
            "same order": f"{self.order:.1%}", "same nodes": f"{self.nodes:.1%}",
            "seconds (reordered, unexplained)": f"{self.seconds} ({self.reordered}, {self.unexplained})",
            "locked: starts": f"{self.locked_starts:.1%}" + (f" ({self.locked_late} late)" if self.locked_late else ""),
            "in time": f"{self.locked_in_time:.1%}",
            "reasons": f"{self.locked_reasons:.1%}",
            "launch": f"{self.launch_s:.2f} s",
            "free: order": f"{self.free_order:.1%}", "nodes": f"{self.free_nodes:.1%}",
            "median start difference": f"{self.median_start_diff_s:.0f} s ({self.median_share_of_makespan:.2%})",
            "drift": f"{self.drift_s:+.0f} s", "launches in a row": str(self.longest_chain),
            "latency real, replay": f"{self.latency_recorded_s:.2f}, {self.latency_replayed_s:.2f} s",
            "explained": f"{self.explained:.0%}",
            "mean wait real, replay": f"{self.mean_wait_recorded_s:.1f}, {self.mean_wait_replayed_s:.1f} s",
        }  # fmt: skip


def assess(recording: Path, workload: Path | None = None, accounting: Path | None = None) -> Assessment:
    """Replay one recording in all three ways and compare.

    Parameters
    ----------
    workload
        Its workload file; default: the one it names, in the same folder.
    accounting
        Its accounting data; default: where the oracle kit keeps them.

    Raises
    ------
    WorkloadError
        A file is missing or no recording, or asks for what the replay does not model.
    ConfigError
        The recorded slurm.conf or the accounting data cannot be used.
    """
    return compare(read_recording(recording, workload, accounting))


def compare(recording: Recording) -> Assessment:
    """Replay `recording` in all three ways and measure."""
    step = replay_in_step(recording)
    return measure(step, replay_locked(step.recording, step.held), replay_freely(step.recording))


def measure(step: InStep, locked: Locked, free: Free) -> Assessment:
    """Return the three replays of one recording beside what was recorded."""
    recording = step.recording
    jobs, epoch = recording.jobs, recording.epoch
    ids = [j.id for j in jobs]
    submit, start, end = (np.array([getattr(j, name) for j in jobs], np.int64) for name in ("submit", "start", "end"))
    lists = [j.nodes for j in jobs]
    stepped = starts(ids, {k: j.start_time for k, j in step.jobs.items()}, epoch)
    freely = starts(ids, {k: j.start_time for k, j in free.jobs.items()}, epoch)
    free_lists = [free.nodes.get(i, "") for i in ids]
    ran = freely != NEVER
    diff = np.where(ran, freely - start, 0)  # of those that ran
    makespan = int(end.max() - submit.min())
    work = np.array([j.runtime if j.ended_by_itself else j.elapsed for j in jobs], np.int64)
    ended = starts(ids, {k: j.end_time for k, j in free.jobs.items()}, epoch)
    real = launches(ids, submit, start, end, work, lists)
    ours = launches(ids, submit, freely, ended, work, free_lists)
    by_start = np.argsort(start, kind="stable")
    by_start = by_start[ran[by_start]]
    if not len(by_start):
        raise WorkloadError("no job starts when it is replayed freely", file=recording.name)
    late = diff[by_start[-max(1, len(by_start) // 10) :]]
    size = np.abs(diff[ran])
    median = float(np.median(size))
    return Assessment(
        recording.name, recording.slurm, len(jobs),
        share_in_order(start, stepped), share_of_nodes(lists, [step.nodes.get(i, "") for i in ids]),
        len(set(start.tolist())), len(step.reordered), len(step.unexplained),
        locked.share_agreed, locked.share_in_time, locked.share_of_reasons, launch_latency(recording),
        share_in_order(start, freely), share_of_nodes(lists, free_lists),
        median, float(size.max()), makespan, median / max(1, makespan),
        float(np.median(late)), int(real.length.max()),
        float(real.latency.mean()), float(ours.latency[ran].mean()),
        float((np.abs(diff - (ours.total - real.total)) <= 1)[ran].mean()),
        float((start - submit)[ran].mean()), float((freely - submit)[ran].mean()), int((~ran).sum()), locked.unreported,
    )  # fmt: skip
