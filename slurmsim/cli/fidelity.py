"""``slurmsim fidelity``: how close a replay comes to recordings of a real slurmctld, or to a site's own log."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slurmsim.cli.run import add_impossible, add_release
from slurmsim.cli.terminal import show
from slurmsim.config.option import OLDEST
from slurmsim.errors import ConfigError

DESCRIPTION = None


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("files", nargs="+", metavar="FILE", help="recording (JSON), its workload beside it; or a job log "
                   "with its real starts: sacct -P dump, SWF, Parquet")  # fmt: skip
    p.add_argument("--workload", metavar="FILE", help="the recordings' workload, when it is not beside them")
    p.add_argument("--accounting", action="append", default=[], metavar="FILE", help="accounting data, several files "
                   "for a log; of recordings when they are not where the oracle kit keeps them")  # fmt: skip
    p.add_argument("--reservations", metavar="FILE", help="logs: advance reservations")
    p.add_argument("--conf", metavar="FILE", help="slurm.conf of the logs")
    add_release(p)
    p.add_argument("--set", action="append", default=[], metavar="Key=Value", help="logs: override a slurm.conf key")
    add_impossible(p)
    p.add_argument("--repeats", action="store_true", help="compare recordings of one workload with each other: how far "
                   "real Slurm is from itself, and the replay from it")  # fmt: skip
    form = p.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON, for programs")
    form.add_argument("--markdown", action="store_true", help="as a Markdown table, for documents")


def run(args: argparse.Namespace) -> int:
    """Replay and compare. Raises ConfigError or WorkloadError; returns 0."""
    from slurmsim.fidelity import assess
    from slurmsim.fidelity.log import assess_log
    from slurmsim.fidelity.recording import read_recording
    from slurmsim.fidelity.repeats import compare_repeats

    workload = Path(args.workload) if args.workload else None
    accounting = Path(args.accounting[0]) if args.accounting else None
    recordings = [name for name in args.files if _is_recording(name)]
    logs = [name for name in args.files if name not in recordings]
    if recordings:
        _check_beside_recordings(args)
    found: list[Sequence[Any]] = []
    if args.repeats:
        found.append(compare_repeats(read_recording(Path(name), workload, accounting) for name in args.files))
    else:
        found.append([assess(Path(name), workload, accounting) for name in recordings])
        found.append([assess_log(_log_options(name, args)) for name in logs])
    found = [group for group in found if group]
    if args.json:
        print(json.dumps([f.as_dict() for group in found for f in group], indent=2))
        return 0
    if lines := [text for group in found for f in group if (text := getattr(f, "missing", ""))]:
        print("\n".join(lines) + "\n")
    show("\n\n".join(_table([f.as_row() for f in group], markdown=args.markdown) for group in found))
    return 0


def _check_beside_recordings(args: argparse.Namespace) -> None:
    """Raise ConfigError for options that a recording cannot have."""
    if len(args.accounting) > 1:
        raise ConfigError("several files beside a recording", field="--accounting", expected="one")
    if args.release != OLDEST:
        raise ConfigError("a recording is replayed as the release it is of", field="--release", expected="logs only")


def _is_recording(name: str) -> bool:
    return name.endswith(".json")


def _log_options(name: str, args: argparse.Namespace) -> Any:
    from slurmsim.cli.run import run_keywords
    from slurmsim.replaying.options import RunOptions

    return RunOptions.of(**run_keywords(args) | {"workload": name, "out": ""})


def _table(lines: Sequence[dict[str, str]], *, markdown: bool) -> str:
    from slurmsim.report.text import table

    head, rows = list(lines[0]), [list(line.values()) for line in lines]
    if not markdown:
        return table([head, *rows])
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
