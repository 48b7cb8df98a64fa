"""Start a cluster from its folder: history, clock, server. The daemon's composition root."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from slurmsim.slurmctld.base.clock import REAL, Clock
from slurmsim.slurmctld.history.compaction import Compaction
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.history import History
from slurmsim.slurmctld.history.initial_engine import make_engine
from slurmsim.slurmctld.history.replaying import replay
from slurmsim.slurmctld.history.starter import Progress
from slurmsim.slurmctld.history.state_folder import StateFolder
from slurmsim.slurmctld.processes.real_jobs import RealJobs
from slurmsim.slurmctld.server.connections import more_descriptors
from slurmsim.slurmctld.server.server import Server, run_server
from slurmsim.slurmd.script_runner import Executor

__all__ = ["make_engine", "new_header", "open_cluster", "replay", "serve"]


def open_cluster(held: StateFolder, header: Mapping[str, Any] | None, progress: Progress | None = None) -> Server:
    """Return the server of the cluster in a folder; `header` for a new one, None to go on with what is there.

    `progress` is told how far the journal has been carried out again.
    """
    folder = held.path
    history = History(folder, header, progress)
    try:
        found = history.restored
        clock = Clock(None if found.mode == REAL else found.now, found.mode, found.rate)
        engine = found.engine
        if engine.runs_jobs:
            engine.real = RealJobs(engine, Executor(folder / "jobs"), history.journal.reserve)
        engine = history.reread(engine, max(clock.now(), engine.now))
        if engine.real is not None:
            engine.real.adopt(engine)
        history.journal.sync()
        compaction = Compaction(history)
        compaction.at_start(engine, clock)
        return Server(held, engine, clock, history, compaction)
    except BaseException:
        history.close()
        raise


def serve(
    folder: StateFolder, header: Mapping[str, Any] | None, progress: Progress | None = None,
    ready: Callable[[], None] | None = None,
) -> int:  # fmt: skip
    """Run the daemon in this process until it is told to stop; the exit code. `ready` is called when it answers.

    The folder is held until the process ends.
    """
    folder.for_life = True
    more_descriptors()
    return run_server(open_cluster(folder, header, progress), ready)
