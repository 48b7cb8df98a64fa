"""``slurmsim sweep FILE.toml``: every cell of a grid of runs, and how the policies in it compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from slurmsim.cli.terminal import show
from slurmsim.errors import ConfigError

if TYPE_CHECKING:
    from slurmsim.campaign.sweep import Failure, Plan, Sweep

DESCRIPTION = """Run each combination of the workloads, windows, loads, settings, policies and seeds in FILE once, in
processes side by side, and compare the policies. Cells that have been run are not run again, so a sweep that was
interrupted or killed goes on where it was. Ctrl-C once finishes what runs, twice stops. The file: docs/campaigns.md."""

SHOWN = 10  # different failures that are printed; all are in sweep.json


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("file", metavar="FILE", type=Path, help="the grid, in TOML")
    p.add_argument("--out", metavar="DIR", type=Path, help="folder for results; a sweep that is there goes on")
    p.add_argument("--dry-run", action="store_true", help="show the cells, hours and bytes, and run nothing")
    p.add_argument("--allow-code", action="store_true",
                   help="let policies in FILE name code in their options, which runs with your rights")  # fmt: skip
    add_running(p)
    shown = p.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="no progress bar, no tables")
    shown.add_argument("--json", action="store_true", help="print the ranking as JSON")


def add_running(parser: argparse.ArgumentParser) -> None:
    """Where cells run, and what counts as an error."""
    parser.add_argument("--workers", type=int, default=0, metavar="N",
                        help="processes at most (default: one a core)")  # fmt: skip
    parser.add_argument("--dask", metavar="local|slurm|ADDRESS",
                        help="run on Dask (extra dask): on this machine, in N jobs of the Slurm on PATH, or by the "
                        "scheduler at tcp://127.0.0.1:… or tls://…; workers see the same folders")  # fmt: skip
    parser.add_argument("--strict", action="store_true",
                        help="exit code 1 where in some cell most jobs never started")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Sweep. Raises SlurmSimError; returns 0, 1 when cells failed (or, strictly, starved), 130 after Ctrl-C."""
    from slurmsim.campaign.grid import read_grid
    from slurmsim.campaign.sweep import plan

    if args.out is None and not args.dry_run:
        raise ConfigError("no folder given", field="--out", expected="a folder for results")
    planned = plan(read_grid(args.file, allow_code=args.allow_code))
    if args.dry_run:
        return _say_estimate(planned, args.out or Path(), args.workers)
    talkative = not args.quiet and not args.json
    found = run_planned(planned, args, _too_few(planned) if talkative else "")
    if args.json:
        print((found.folder / "ranking.json").read_text("utf-8"), end="")
    elif not args.quiet:
        print(f"{found.done:,} of {found.cells:,} cells are done, {found.ran:,} of them now; in {found.folder}")
        if ranking := (found.folder / "ranking.txt").read_text("utf-8"):
            show("\n" + ranking.rstrip("\n"))
    return finish(found, strict=args.strict)


def run_planned(planned: Plan, args: argparse.Namespace, said: str = "") -> Sweep:
    """Run the cells into ``--out`` with a progress bar, after `said`; Ctrl-C once finishes what runs."""
    from slurmsim.campaign.stopping import stopping_gently
    from slurmsim.campaign.sweep import make, runner
    from slurmsim.cli.progress import counting_bar

    do = runner(args.workers, args.dask, args.out)
    shown = not args.quiet and not args.json and sys.stderr.isatty()
    with stopping_gently() as stopping, counting_bar(len(planned.cells), "cells", shown=shown) as progress:
        progress = _telling(said, progress) if said else progress
        return make(planned, args.out, do, progress=progress, stopping=stopping)


def _telling(said: str, progress: Callable[[int, int], None] | None) -> Callable[[int, int], None]:
    """Return a progress that first prints `said`."""

    def tell(done: int, cells: int) -> None:
        nonlocal said
        if said and done < cells:
            print(said, flush=True)
        said = ""
        if progress is not None:
            progress(done, cells)

    return tell


def _too_few(planned: Plan) -> str:
    from slurmsim.campaign.conclusions import too_few
    from slurmsim.campaign.sweep import fewest_pairs

    return too_few(*fewest_pairs(planned))


def finish(found: Sweep, *, strict: bool) -> int:
    """Say what went wrong; the exit code."""
    from slurmsim.campaign.view import headline

    alike: dict[str, list[Failure]] = {}
    for failure in found.failed:
        alike.setdefault(failure.error, []).append(failure)
    for error, (first, *others) in list(alike.items())[:SHOWN]:
        more = f" (and {len(others):,} more, in {found.folder / 'sweep.json'})" if others else ""
        print(f"slurmsim: {first.cell}{more}: {error}\n  {first.command}", file=sys.stderr)
    if left := sum(map(len, list(alike.values())[SHOWN:])):
        print(f"slurmsim: {left:,} more cells failed: {found.folder / 'sweep.json'}", file=sys.stderr)
    starved = headline(found.frame())
    for line in starved:
        print(f"slurmsim: warning: {line}", file=sys.stderr)
    if found.interrupted:
        print(f"slurmsim: interrupted; the same command goes on with the {found.cells - found.done:,} cells that are "
              "missing", file=sys.stderr)  # fmt: skip
        return 130
    return 1 if found.failed or (strict and starved) else 0


def _say_estimate(planned: Plan, folder: Path, workers: int) -> int:
    """Cells, hours and bytes, and which will fail; returns 1 where some will."""
    from slurmsim.campaign.estimate import estimate
    from slurmsim.campaign.memory import cores
    from slurmsim.campaign.store import Store
    from slurmsim.report.text import duration, size

    n = workers or cores()
    for cell in planned.cells.values():
        print(cell.name)
    found = estimate(planned, Store(folder))
    basis = f"{found.known:,} of them like ones that have run" if found.known else "roughly, by the number of jobs"
    hours = f"about {found.seconds / 3600:,.2f} hours of one core ({basis}), {duration(found.seconds / n)}"
    print(f"\n{len(planned.cells):,} cells, {found.cells:,} to run: {hours} with {n} processes; "
          f"about {size(found.n_bytes)} on disk")  # fmt: skip
    if few := _too_few(planned):
        print(few)
    for line in found.failing:
        print(f"slurmsim: will fail: {line}", file=sys.stderr)
    return 1 if found.failing else 0
