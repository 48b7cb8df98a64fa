"""``slurmsim generate``: a workload from a model, into a file; or the list of models and their parameters."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from slurmsim.cli.convert import parse_option_list
from slurmsim.errors import ConfigError

if TYPE_CHECKING:
    from slurmsim.workload import Workload
    from slurmsim_workloads.generators import Model

DESCRIPTION = """Make a workload from a model. Equal options and seed make equal jobs. OUT is replaced only when the
new file is complete. Models and their parameters: slurmsim generate --list, or docs/generators.md."""

# Options that are parameters of the model under a shorter spelling.
_COMMON = {
    "jobs": ("N", "jobs to make"),
    "nodes": ("N", "nodes of the cluster"),
    "cpus_per_node": ("C", "CPUs a node"),
    "load": ("L", "offered load, 0.9 for 90 %%"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="?",
        help="lublin, mix, titan, lomonosov-regular4, llm-training, inference or interactive",
    )
    parser.add_argument("--list", action="store_true", help="show the models (or MODEL) with their parameters and stop")
    for name, (metavar, text) in _COMMON.items():
        parser.add_argument("--" + name.replace("_", "-"), dest=name, metavar=metavar, help=text)
    parser.add_argument("--seed", metavar="S", default="1", help="seed (default 1)")
    parser.add_argument(
        "-o", "--option", action="append", default=[], metavar="KEY=VALUE",
        help="parameter of the model, see --list; may be repeated",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", help="file to write: .parquet, .swf, .swf.gz")
    parser.add_argument(
        "--lossy",
        action="store_true",
        help="leave out what the output format cannot hold (otherwise refused) and say it",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing when all went well")


def run(args: argparse.Namespace) -> int:
    """Generate. Raises ConfigError, WorkloadError or OutputError; returns 0."""
    from slurmsim_workloads import generators, write_workload
    from slurmsim_workloads.registry import choose_output_format

    chosen = None if args.model is None else generators.model(args.model)
    if args.list:
        models = generators.MODELS.values() if chosen is None else (chosen,)
        print("\n\n".join(describe_model(m) for m in models))
        return 0
    if chosen is None:
        raise ConfigError("no model given", field="MODEL", expected="one of " + ", ".join(generators.MODELS))
    if args.out is None:
        raise ConfigError("no file given", field="--out", expected="a .parquet, .swf or .swf.gz file")
    choose_output_format(Path(args.out), None)  # a hopeless output is reported before the work
    workload = generators.generate(chosen.name, _options(args, chosen), _seed(args.seed))
    lost = write_workload(workload, args.out, lossy=args.lossy)
    if not args.quiet:
        for what in lost:
            print(f"left out  {what}")
        print(f"{args.out}: {summary(workload)}")
        if "Failures" in workload.header.fields:
            print(f"failures  {workload.header.fields['Failures']}")
    return 0


def describe_model(model: Model) -> str:
    """Return the model's name, its sentence and a line for each parameter: name, default, unit, meaning."""
    rows = model.parameters()
    names = max(len(r.name) for r in rows)
    defaults = max(len(r.default) for r in rows)
    units = max(len(r.unit) for r in rows)
    lines = [f"  {r.name:{names}}  {r.default:>{defaults}} {r.unit:{units}}  {r.help}" for r in rows]
    return "\n".join([f"{model.name}: {model.summary}", *lines])


def summary(workload: Workload) -> str:
    """Return what was made, in one line."""
    submit, run_time = workload.ints["submit"], workload.ints["run_time"]
    days = (submit[-1] - submit[0]) / 86_400
    return f"{len(workload):,} jobs submitted over {days:,.1f} days, mean run time {run_time.mean():,.0f} s"


def _options(args: argparse.Namespace, model: Model) -> dict[str, str]:
    """Return the model's parameters as given, by ``-o`` and by the common options."""
    options = parse_option_list(args.option)
    for name in _COMMON:
        text = getattr(args, name)
        if text is None:
            continue
        flag = "--" + name.replace("_", "-")
        if not model.has(name):
            raise ConfigError(f"the model {model.name} has no such parameter", field=flag)
        if name in options:
            raise ConfigError(f"also given as -o {name}", field=flag, expected="one of the two")
        options[name] = text
    return options


def _seed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"bad value {text!r}", field="--seed", expected="an integer of at least 0") from None
