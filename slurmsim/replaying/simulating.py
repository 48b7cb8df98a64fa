"""The simulation of a prepared run."""

from dataclasses import replace
from typing import TypeVar

from slurmsim.replaying.preparation import Prepared
from slurmsim.sim.boot_times import BootTime
from slurmsim.sim.listener import Listener
from slurmsim.sim.network import Durations
from slurmsim.sim.simulation import Simulation

S = TypeVar("S", bound=Simulation)


def simulation_of(prepared: Prepared, listener: Listener, kind: type[S]) -> S:
    """Return a simulation of `kind` (`Simulation` or derived from it), not yet run; `listener` is told of it."""
    options = prepared.options
    boot = BootTime.parse("" if options.boot_time is None else str(options.boot_time))
    simulation = kind(
        replace(prepared.cluster, watched=True) if options.as_live else prepared.cluster,
        prepared.workload, prepared.policy, accounting=prepared.accounting, timed=prepared.timed,
        endless=prepared.endless, until=prepared.until, seed=options.seed,
        listener=listener,
        durations=Durations(
            boot.seconds, boot.drawn_by(options.seed), options.epilog_time, options.term_time,
            solver_s=options.solver_latency,
        ),
    )  # fmt: skip
    simulation.controller.state.triggers.ticks = options.as_live
    if options.as_live:
        simulation.controller.state.triggers.changed = True  # nodes register while slurmctld comes up
    return simulation
