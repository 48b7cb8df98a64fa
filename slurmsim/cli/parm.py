"""``slurmsim parm FILE``: one decision of PARM, which jobs run on how many nodes at which power cap."""

import argparse
import json
from pathlib import Path
from typing import Any

from slurmsim.cli.problem_file import read_problem
from slurmsim.cli.terminal import show
from slurmsim.errors import InputError

DESCRIPTION = """Solve the decision in FILE (nodes, a budget of watts, and what each job may be given): which jobs run,
on how many nodes, at which cap. The file: docs/systems/parm.md."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("file", metavar="FILE", type=Path, help="the decision, as TOML (or JSON, if it ends in .json)")
    p.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Solve and print. Raises SlurmSimError."""
    from slurmsim_policies.parm.exact import choose
    from slurmsim_policies.parm.plain import decision_from, plain_from

    data = read_problem(args.file, "nodes, budget_w and jobs")
    try:
        decision = decision_from(data)
    except InputError as error:
        raise InputError(error.message, file=str(args.file), field=error.field, expected=error.expected) from None
    answer = plain_from(decision, choose(decision))
    if args.json:
        print(json.dumps(answer, indent=2))
    else:
        show(_as_text(data, answer))
    return 0


def _as_text(data: dict[str, Any], answer: dict[str, Any]) -> str:
    from slurmsim.report.text import table

    if answer["status"] == "infeasible":
        return "infeasible: what runs has no room in these nodes and watts"
    head = (
        f"{answer['status']}: objective {answer['objective']:,.6g}, none above {answer['bound']:,.6g}; "
        f"{answer['nodes']:,} of {data['nodes']:,} nodes, {answer['watts']:,.6g} of {data['budget_w']:,.6g} W"
    )
    rows = [[job, str(nodes), f"{watts:g}"] for job, (nodes, watts) in answer["chosen"].items()]
    lines = [head, "", table([["job", "nodes", "cap, W"], *rows])] if rows else [head]
    if answer["waiting"]:
        lines += ["", "waiting: " + ", ".join(answer["waiting"])]
    return "\n".join(lines)
