"""``slurmsim predictors``: who may predict run times to a policy."""

import argparse
import json
from typing import Any

from slurmsim.cli.terminal import show
from slurmsim.errors import SlurmSimError

DESCRIPTION = "List the installed predictors, for --policy NAME:predictor=PREDICTOR."


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    """List them; one that cannot be loaded is listed as broken."""
    from slurmsim.policy import predictor_names

    shown = [_plain(name) for name in predictor_names()]
    if args.json:
        print(json.dumps(shown, indent=2))
    else:
        show(_table(shown))
    return 0


def _plain(name: str) -> dict[str, Any]:
    from slurmsim.policy import load_predictor

    try:
        found = load_predictor(name)
    except SlurmSimError as error:
        return {"name": name, "broken": str(error)}
    return {
        "name": name, "broken": None, "oracle": found.oracle, "needs": list(found.needs), "summary": found.summary
    }  # fmt: skip


def _table(shown: list[dict[str, Any]]) -> str:
    from slurmsim.report.text import table

    lines = [["predictor", "goes by", "what it says"]]
    for one in shown:
        goes_by = "broken" if one["broken"] else ", ".join(one["needs"])
        lines.append([one["name"], goes_by, one["broken"] or one["summary"]])
    return table(lines, left=3)
