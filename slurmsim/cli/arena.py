"""``slurmsim arena``: every installed policy on a fixed set of workloads, and a leaderboard."""

import argparse
import sys
from pathlib import Path

from slurmsim.cli.sweep import add_running, finish

DESCRIPTION = """Run installed policies on a fixed, versioned set of workloads and write a leaderboard: places with
intervals for waits, slowdowns and use, and for each policy the policies that beat it, and where. A cell that has been
run is not run again: a new policy costs its own cells. The set: docs/campaigns.md."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="folder for results, leaderboard.md and leaderboard.html"
    )
    p.add_argument("--policy", metavar="NAME[:key=value,…]", action="append", default=[],
                   help="a policy to run beside the baseline, once or more (default: all installed ones)")  # fmt: skip
    p.add_argument("--full", action="store_true", help="the full set instead of the quick one")
    add_running(p)
    shown = p.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="no progress bar, no page")
    shown.add_argument("--json", action="store_true", help="print the rankings as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the set and write the page. Raises SlurmSimError; exit codes as of ``slurmsim sweep``."""
    from slurmsim.campaign.arena import FULL, QUICK, grid, html, leaderboard, markdown
    from slurmsim.campaign.grid import read_grid
    from slurmsim.campaign.results import put_text
    from slurmsim.campaign.sweep import plan
    from slurmsim.cli.sweep import run_planned

    of = FULL if args.full else QUICK
    found = run_planned(plan(read_grid(grid(args.policy, of))), args)
    if not found.interrupted:
        board = leaderboard(found, of)
        put_text(args.out / "leaderboard.md", text := markdown(board))
        put_text(args.out / "leaderboard.html", html(board))
        if not args.quiet and not args.json:
            print(text, end="")
    if args.json:
        print((found.folder / "ranking.json").read_text("utf-8"), end="")
    sys.stdout.flush()
    return finish(found, strict=args.strict)
