"""Runs of a wild world in this process, bounded in turns and in seconds of the CPU."""

from __future__ import annotations

import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernel_switch import without_kernels

from slurmsim.errors import InvariantError, PolicyError, SlurmSimError
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
from slurmsim.sim.simulation import Simulation
from wild.world import World

MOST_TURNS = 20_000  # of the scheduler; worlds of 60 jobs need some hundreds, gangs some thousands
MOST_CPU_S = 60.0
STEP = 256  # turns after which a run says how far it is
TABLES = ("jobs.parquet", "requeued.parquet", "events.parquet", "usage.parquet", "phases.parquet")
ON_BACKFILL = ("backfill", "base=backfill")


class Endless(Exception):
    """The run was given up."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a run: ``ran``, ``refused`` (one line says why), ``traceback`` or ``endless``.

    `turns` of the scheduler are counted by the `STEP`: there are fewer than one `STEP` more.
    """

    how: str
    said: str = ""
    folder: Path | None = None
    turns: int = field(default=0, compare=False)


def run(world: World, files: Path, out: Path, *, plain: bool = False) -> Ran:
    """Run the files of `world`, with the kernels that are installed or without any of them."""
    options = world.run_options(files, out)
    if plain:
        options = replace(options, policy=without_atoms(world, options.policy))
    try:
        with warnings.catch_warnings(), _alarm(MOST_CPU_S):
            warnings.simplefilter("ignore")
            if not plain:
                return _run(world, options, out)
            with without_kernels():
                return _run(world, options, out)
    except Endless as error:
        return Ran("endless", str(error))
    except SlurmSimError as error:
        named = not isinstance(error, InvariantError | PolicyError) or "not modelled" in str(error)
        return Ran("refused" if named else "traceback", f"{type(error).__name__}: {error}")
    except Exception as error:
        return Ran("traceback", f"{type(error).__name__}: {error}\n{traceback.format_exc()}")


def without_atoms(world: World, policy: str | None) -> str | None:
    """The policy as it plans on nodes, where it has that choice."""
    if not any(word in world.policy for word in ON_BACKFILL):
        return policy
    given = policy or "backfill"
    return f"{given}{',' if ':' in given else ':'}atoms=0"


def _run(world: World, options: Any, out: Path) -> Ran:
    prepared = prepare(options)
    prepared.cluster = replace(prepared.cluster, release=world.release)
    turns = 0

    def progress(simulation: Simulation) -> None:
        nonlocal turns
        turns += STEP
        if turns > MOST_TURNS:
            raise Endless(
                f"{turns} turns at {int(simulation.env.now)}, {simulation.n_done} of {simulation.n_jobs} ended"
            )

    folder, _, _ = execute(prepared, report=False, progress=progress)
    return Ran("ran", "", folder, turns)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise Endless after so many seconds of the CPU."""

    def ring(*_: Any) -> None:
        raise Endless(f"{seconds:g} s of the CPU")

    old = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)
