"""What an ended run has left: its script, and steps with tasks that take time to die.

Mirrors slurmd's _rpc_terminate_job and _pause_for_job_completion (req.c, 22.05): all that is left of a job gets CONT
and TERM, and KILL when KillWait is over. The node daemon looks whether it is gone: a few times within the first second,
then every second, and from the eleventh on every ten. When it finds nothing the node is clean.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.occupancy.completing import BY_THEMSELVES
from slurmsim.core.records.messages import ProcessesGone
from slurmsim.slurmctld.base.simulated import is_real, term_s
from slurmsim.slurmctld.base.step import BATCH, Step
from slurmsim.slurmctld.processes import node_programs

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob

DEATH_S = 5  # seconds after KILL at which processes count as gone without a message
_EVERY_SECOND_S, _SELDOM_S = 11, 10


def seen_after(seconds: int, kill_wait: int) -> int:
    """When slurmd sees that processes are gone which took so long to die, in seconds after they were told to.

    >>> [seen_after(seconds, 30) for seconds in (0, 1, 10, 11, 20, 21, 30)]
    [0, 2, 11, 21, 21, 30, 30]
    """
    if not 0 < seconds < kill_wait:
        return seconds
    late = max(seconds + 1 - _EVERY_SECOND_S, 0)
    return min(_EVERY_SECOND_S + -(-late // _SELDOM_S) * _SELDOM_S if late else seconds + 1, kill_wait)


def lasts(cluster: LiveCluster, live: LiveJob, state: str) -> int:
    """Seconds the processes of a run that ends in `state` and its epilog take at most, 0 if there are none by then."""
    return _processes_last(cluster, live, state) + node_programs.lasts(cluster, live)


def _processes_last(cluster: LiveCluster, live: LiveJob, state: str) -> int:
    kill_wait = int(cluster.spec.option("KillWait"))
    by_itself = state in BY_THEMSELVES
    if steps_of(live, live.core.restarts) or (_runs(cluster, live) and not by_itself):
        return kill_wait + DEATH_S
    return 0 if by_itself else _seems_to_die(cluster, live)


def _seems_to_die(cluster: LiveCluster, live: LiveJob) -> int:
    """Seconds that a script which only seems to run takes to die."""
    return 0 if _runs(cluster, live) else min(term_s(live.asked), int(cluster.spec.option("KillWait")))


def _runs(cluster: LiveCluster, live: LiveJob) -> bool:
    return cluster.runs_jobs and is_real(live.asked) and not live.configures


def steps_of(live: LiveJob, run: int) -> list[Step]:
    """Return the steps of that run that have tasks left, as far as their srun has told."""
    return [step for step in live.steps if step.run == run and step.asked and (step.end is None or step.supposed)]


def left(cluster: LiveCluster, live: LiveJob, run: int) -> None:
    """End a run: nodes on which it had nothing are clean at once."""
    nodes = cluster.controller.completing.of(live.core.id, run)
    clean = nodes & ~_nodes(live, run)
    if node_programs.has(cluster, live, node_programs.EPILOG):
        node_programs.begin_epilog(cluster, live, run, clean)
    elif clean and clean != nodes and not _seems_to_die(cluster, live):
        cluster.network.tell_later(ProcessesGone(live.core.id, run, clean))


def look(cluster: LiveCluster, live: LiveJob, run: int) -> None:
    """Find the clean nodes of an ended run, as slurmd does, now that a process of it is gone.

    The processes that a real script left behind are killed after the last of its steps.
    """
    busy = _nodes(live, run)
    if not busy and cluster.real is not None and _runs(cluster, live):
        cluster.real.executor.kill(live.core.id, run)
    completing = cluster.controller.completing
    since, clean = completing.since(live.core.id, run), completing.of(live.core.id, run) & ~busy
    if since is None or not clean:
        return
    kill_wait = int(cluster.spec.option("KillWait"))
    took = max(cluster.now - since, _seems_to_die(cluster, live))
    cluster.timers.clean_at(since + seen_after(took, kill_wait), live, run, clean)


def _nodes(live: LiveJob, run: int) -> Bitmap:
    """Nodes on which the script of that run or one of its steps is left."""
    script = [step for step in live.steps if step.run == run and step.number == BATCH and step.end is None]
    return from_indices(node for step in (*script, *steps_of(live, run)) for node in step.nodes)


def kill(cluster: LiveCluster, core_id: int, run: int) -> None:
    """KillWait is over for that run's script. Of what it started, sruns are left to tell how their tasks end."""
    live = cluster.jobs.get(core_id)
    told_of = live is not None and any(step.end is None for step in steps_of(live, run))
    if cluster.real is not None:
        cluster.real.executor.signal(core_id, run, int(signal.SIGKILL), script_only=told_of)


def gone(cluster: LiveCluster, live: LiveJob, run: int, nodes: Bitmap) -> None:
    """Note that these nodes of that run are clean; where there is an epilog, it begins."""
    if node_programs.has(cluster, live, node_programs.EPILOG):
        node_programs.begin_epilog(cluster, live, run, nodes)
        return
    cluster.network.tell(cluster.now, [ProcessesGone(live.core.id, run, nodes)])
