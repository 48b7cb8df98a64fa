"""``slurmsim dispatch FILE``: one dispatching problem, solved by one dispatcher, and its plan drawn."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from slurmsim.cli.problem_file import read_problem
from slurmsim.cli.terminal import show
from slurmsim.errors import ConfigError, InputError

NAMES = "list, cp_eurora, pcp19, hcp19, pcp20, cp_classes"


@runtime_checkable
class Dispatcher(Protocol):
    """A policy that also plans a single instance, given and answered as plain data."""

    def dispatch(self, instance: Mapping[str, Any], clock: Callable[[], float] | None = None) -> dict[str, Any]:
        """Return the answer; raises InputError with the field of what is wrong."""


DESCRIPTION = """Solve the problem in FILE (nodes, jobs that run, jobs that wait, and now) with a dispatcher that
optimises, and draw its plan. The file: docs/systems/eurora.md."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("file", metavar="FILE", type=Path, help="the problem, as TOML (or JSON, if it ends in .json)")
    p.add_argument("--policy", metavar="NAME[:key=value,…]", required=True,
                   help=f"{NAMES}, with options as `slurmsim policies` lists them")  # fmt: skip
    p.add_argument("--out", metavar="PICTURE", type=Path, help="also draw the plan into this .png or .svg file")
    p.add_argument("--json", action="store_true", help="print the answer as JSON instead of the drawing")


def run(args: argparse.Namespace) -> int:
    """Solve, print and draw. Raises SlurmSimError."""
    if args.out is not None and args.out.suffix not in (".png", ".svg"):
        raise ConfigError(
            f"{str(args.out)!r} is no picture", field="--out", expected="a name that ends in .png or .svg"
        )
    problem = read_problem(args.file, "now, nodes and jobs")
    dispatcher = _dispatcher(args.policy)
    try:
        answer = dispatcher.dispatch(problem, time.process_time)
    except ConfigError:
        raise
    except InputError as error:
        raise InputError(error.message, file=str(args.file), field=error.field, expected=error.expected) from None
    if args.json:
        print(json.dumps(answer, indent=2))
    else:
        from slurmsim.report.plan_text import as_text

        show(as_text(problem, answer, args.policy))
    if args.out is not None:
        from slurmsim.report.build import render, write_file
        from slurmsim.report.plan_figure import figure

        picture = write_file(args.out, render(figure(problem, answer, args.policy), args.out.suffix[1:]))
        if not args.json:
            print(f"\nWritten: {picture}")
    return 0


def _dispatcher(text: str) -> Dispatcher:
    from slurmsim.policy import choose_policy

    policy = choose_policy(text).make()
    if not isinstance(policy, Dispatcher):
        raise ConfigError(f"policy {policy.name!r} plans no single instances", field="--policy",
                          expected=f"{NAMES}, or one with a dispatch method")  # fmt: skip
    return policy
