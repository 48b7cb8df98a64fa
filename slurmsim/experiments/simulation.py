"""The parts of a run, for an experiment that looks inside one; `slurmsim.run` is enough for all others.

`prepare` reads and checks what `RunOptions` name. `simulate` makes the `Simulation` of that, not yet run, with a
`Recorder` of its rows; `execute` also runs it and writes its trace. A `Listener` is told what happens to each `Job`.
"""

from slurmsim.config.load import make_cluster
from slurmsim.core.records.job import Job
from slurmsim.replaying.instances import InstanceSaver
from slurmsim.replaying.jobs import FRAME
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import Prepared, new_policy, prepare
from slurmsim.replaying.replay import execute, simulate
from slurmsim.sim.listener import Listener
from slurmsim.sim.recorder import Recorder
from slurmsim.sim.simulation import Simulation

__all__ = [
    "FRAME",
    "InstanceSaver",
    "Job",
    "Listener",
    "Prepared",
    "Recorder",
    "RunOptions",
    "Simulation",
    "execute",
    "make_cluster",
    "new_policy",
    "prepare",
    "simulate",
]
