"""``slurmsim when``: when waiting jobs of a real cluster start and end, and what another request would change."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmsim.cli.terminal import show
from slurmsim.cli.twin import add_reading
from slurmsim.errors import ConfigError

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_job import LiveJob
    from slurmsim.slurmctld.engine.engine import Engine

DESCRIPTION = """Forecast start and end of waiting jobs of a real cluster, from what slurmsim twin collect wrote. Copies
of its twin live on, with run times and arrivals like those of its sacct records. Beside the answer stands how often
such intervals held on waits of the past, and what another request would change (docs/twin.md)."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("jobs", metavar="JOBID", nargs="+", help="job id, or ARRAY_TASK")
    p.add_argument("--from", metavar="DUMP", dest="dump", type=Path, required=True, help="folder or tar of answers")
    add_reading(p)
    p.add_argument("--no-advice", action="store_true", help="try no other request")
    p.add_argument("--no-backtest", action="store_true", help="do not ask the same of waits of the past")
    p.add_argument("--json", action="store_true", help="print as JSON, a list with an object a job")


def run(args: argparse.Namespace) -> int:
    """Forecast and show. Raises SlurmSimError."""
    from slurmsim.live.waiting.onlooker import Onlooker
    from slurmsim.twin.backtest import backtest
    from slurmsim.twin.dump import read_dump
    from slurmsim.twin.forecast import Forecaster
    from slurmsim.twin.forecast_view import as_text
    from slurmsim.twin.opened import opened
    from slurmsim.twin.past import known
    from slurmsim.twin.run_times import read_run_times

    run_times = read_run_times(args.run_times) if args.run_times is not None else None
    with opened(args.dump, args.slurm_version or "", run_times) as (folder, twin), Onlooker(folder) as onlooker:
        forecaster = Forecaster(onlooker, known(twin.past) if twin.past is not None else [])
        if not forecaster.knows_enough or twin.past is None:
            raise ConfigError("too few jobs have ended to draw run times from", file=str(args.dump), field="sacct.txt",
                              expected="some weeks of sacct records")  # fmt: skip
        lives = [_waiting(onlooker.engine, name) for name in args.jobs]
        held = None if args.no_backtest else backtest(read_dump(args.dump), twin.past, twin.engine.release)
        told: list[dict[str, Any]] = []
        for name, live in zip(args.jobs, lives, strict=True):
            advice = [] if args.no_advice else list(forecaster.advice(live))
            told.append({"job": name, "now": twin.now, **forecaster.forecast(live), "advice": advice, "held": held})
    if args.json:
        print(json.dumps(told, indent=2))
    else:
        show("\n\n".join(map(as_text, told)))
    return 0


def _waiting(engine: Engine, name: str) -> LiveJob:
    from slurmsim.states import JobState

    found = [live for live in engine.job_table.find(name.strip()) if live.core.state == JobState.PENDING]
    if not found:
        raise ConfigError(f"no waiting job {name!r}", field="JOBID", expected="the id of a job that waits in the dump")
    return found[0]
