"""``slurmsim bench SYSTEM``: experiments that put published numbers beside ours."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from slurmsim.cli import bench_all
from slurmsim.cli.terminal import show

DESCRIPTION = "Experiments on published systems: the paper's numbers beside ours, with a verdict."


def add_options(parser: argparse.ArgumentParser) -> None:
    names = parser.add_subparsers(metavar="SYSTEM", required=True)
    _add_lomonosov(names)
    _add_eurora(names)
    _add_pcp20(names)
    _add_titan(names)
    _add_parm(names)
    bench_all.add_parser(names, parser_of_one)


def parser_of_one() -> argparse.ArgumentParser:
    """Return a parser of the words after ``slurmsim bench``."""
    parser = argparse.ArgumentParser(prog="slurmsim bench --with")
    names = parser.add_subparsers(required=True)
    for add in (_add_lomonosov, _add_eurora, _add_pcp20, _add_titan, _add_parm):
        add(names)
    return parser


def _common(p: argparse.ArgumentParser, out: str, workers: int = 0) -> None:
    """Add the options of all experiments; `workers` is 1 where CPU times count, since side by side they disturb."""
    p.add_argument("--out", metavar="OUT", type=Path, default=Path(out), help="folder (default %(default)s)")
    p.add_argument("--workers", metavar="N", type=int, default=workers,
                   help=f"processes (default: {workers or 'as many as cores'})")  # fmt: skip
    p.add_argument("--fresh", action="store_true", help="make all runs again")
    p.add_argument("--pages", metavar="FOLDER", type=Path,
                   help="write the tables of its page there anew; results stay in FOLDER/results")  # fmt: skip
    shown = p.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="no progress bar, no tables")
    shown.add_argument("--json", action="store_true", help="print JSON instead of tables")


def _own_data(name: str = "") -> Path | None:
    """Return the user's folder of job logs, or a file in it."""
    folder = os.environ.get("SLURMSIM_DATA")
    return None if folder is None else Path(folder) / name


def _talkative(args: argparse.Namespace) -> bool:
    return not args.quiet and not args.json


def run(args: argparse.Namespace) -> int:
    """Make an experiment, print and write its results by its view. Raises SlurmSimError."""
    from slurmsim.experiments import pages
    from slurmsim.trace.jsonfile import to_json

    began = bench_all.cpu_s()
    found, view = args.experiment(args)
    files = view.write(found, args.out)
    facts = view.as_dict(found)
    if args.pages is not None:
        system = args.experiment.__name__
        kept = pages.kept_of(facts, bench_all.command(args), bench_all.spent_s(began))
        files += pages.keep(system, kept, args.pages)
    if args.json:
        print(to_json(facts), end="")
    elif _talkative(args):
        show(view.as_text(found))
        print(f"\nWritten: {files[0].parent}{f', {args.pages}' if args.pages else ''}")
    return 0


def _add_lomonosov(names: Any) -> None:
    p = names.add_parser(
        "lomonosov",
        help="per-user CPU-hour limits on backfill",
        description="Backfill with and without CPU-hour limits of users, on the synthetic partition regular4 of "
        "Lomonosov and on a job log with users. Runs that are in OUT already are not made again. Written: results.txt, "
        "results.json, results.parquet, lomonosov.png, lomonosov-users.png. About the paper and the result: "
        "docs/systems/lomonosov.md.",
    )
    p.add_argument("--parts", metavar="PART,…",
                   help="of states, regular4-easy, regular4-conservative, regular4-backfill, log-easy, "
                   "log-conservative, log-backfill, and LOGLOAD-easy with kth, ctc, sdsc and 85, 90, 95; or all "
                   "(default: states, regular4-easy, log-easy, log-backfill and all LOGLOAD-easy)")  # fmt: skip
    p.add_argument("--seeds", metavar="N", type=int, default=5, help="replicates of each run (default 5)")
    p.add_argument("--verdict-seeds", metavar="N", type=int, default=0,
                   help="replicates of the two limits that verdicts compare, if more than --seeds")  # fmt: skip
    p.add_argument("--log", metavar="FILE", type=Path,
                   help="job log with users (default: KTH-SP2-1996-2.swf.gz in the folder SLURMSIM_DATA)")  # fmt: skip
    p.add_argument("--windows", metavar="N", type=int, default=10,
                   help="replicates of LOGLOAD-easy: parts of a log (default %(default)s)")  # fmt: skip
    p.add_argument("--data", metavar="FOLDER", type=Path,
                   help="folder of the logs that are brought to higher loads (default: SLURMSIM_DATA)")  # fmt: skip
    p.add_argument("-o", "--option", metavar="KEY=VALUE", action="append", default=[],
                   help="parameter of the model lomonosov-regular4, see slurmsim generate --list")  # fmt: skip
    _common(p, "bench-lomonosov")
    p.set_defaults(func=run, experiment=lomonosov, parser=p)


def _add_pcp20(names: Any) -> None:
    p = names.add_parser(
        "pcp20",
        help="dispatchers by constraint programming",
        description="PCP'20, PCP'19, HCP'19 and our own model on contested instances and in whole runs, beside EASY, "
        "conservative, Slurm's backfill and list scheduling. What is in OUT already is not made again. Written: "
        "results.txt, results.json, pcp20.png, pcp20.svg. About the paper and the result: docs/systems/pcp20.md.",
    )
    p.add_argument("--parts", metavar="PART,…", default="all",
                   help="of instances-eurora, instances-kit, variables-eurora, variables-mixed, systems-eurora, "
                   "systems-kit, systems-theta, quality-kth, quality-ctc, quality-theta, quality-mix; or all "
                   "(default)")  # fmt: skip
    p.add_argument("--data", metavar="FOLDER", type=Path,
                   help="folder of the logs, with seeds/ in it (default: SLURMSIM_DATA)")  # fmt: skip
    for name, size, about in (
        ("instances", 16, "contested instances a system, at most"),
        ("window", 150, "jobs of a log's window"), ("seeds", 3, "replicates of each window"),
    ):  # fmt: skip
        p.add_argument(f"--{name}", metavar="N", type=int, default=size, help=f"{about} (default %(default)s)")
    p.add_argument("--jobs", metavar="N", type=int, help="jobs of a system's run (default: 1000 of kit, else 400)")
    p.add_argument("--first", metavar="N", type=int,
                   help="number of the first job of a window, from 0 (default 1000; 12000 of theta)")  # fmt: skip
    _common(p, "bench-pcp20", workers=1)
    p.set_defaults(func=run, experiment=pcp20, parser=p)


def pcp20(args: argparse.Namespace) -> tuple[Any, Any]:
    """Run what is missing; what was found, and its view. Raises SlurmSimError."""
    from slurmsim.cli.progress import counting_bar
    from slurmsim.papers.pcp20 import view as pcp20_view
    from slurmsim.papers.pcp20.run import Sizes, experiment, parse_parts

    data = args.data or _own_data()
    sizes = Sizes(args.instances, args.jobs, args.window, args.first, args.seeds)
    parts = parse_parts(args.parts)
    with counting_bar(0, "runs and instances", shown=_talkative(args) and sys.stderr.isatty()) as progress:
        found = experiment(
            args.out, data, parts=parts, sizes=sizes, workers=args.workers, fresh=args.fresh, progress=progress
        )
    return found, pcp20_view


def _add_eurora(names: Any) -> None:
    p = names.add_parser(
        "eurora",
        help="constraint programming on the three batches of EURORA 2014",
        description="The paper's three batches of two hours, from the public trace, under its six models, beside PBS, "
        "list scheduling, EASY and a model of ours; as they are, with the rules that PBS had, and completed to the "
        "paper's numbers of jobs; its example on packing; and the first batch under budgets of watts. Runs "
        "that are in OUT already are not made again. Written: results.txt, results.json, results.parquet, a picture a "
        "batch. About the paper and the result: docs/systems/eurora.md.",
    )
    p.add_argument("--log", metavar="FILE", type=Path,
                   help="the public trace as CSV (default: seeds/eurora_2014-03-31_to_04-04.csv in the folder "
                   "SLURMSIM_DATA)")  # fmt: skip
    p.add_argument("--batches", metavar="N,…", default="all", help="of 1, 2, 3 (default: all)")
    p.add_argument("--dispatchers", metavar="NAME,…", default="all",
                   help="of mks, mks_wt_nl, nl, nl_mks_wt, wt, wt_mks_nl, ours_mks, ours_wt, ours_nl, list, list_wait, "
                   "easy, and rules_ before all but ours (default: all)")  # fmt: skip
    p.add_argument("--seeds", metavar="N", type=int, default=1,
                   help="completed batches beside each, 0 for none (default 1)")  # fmt: skip
    p.add_argument("--parts", metavar="PART,…", default="all",
                   help="of batches, packing, watts (of batch 1); or all (default)")  # fmt: skip
    _common(p, "bench-eurora")
    p.set_defaults(func=run, experiment=eurora, parser=p)


def eurora(args: argparse.Namespace) -> tuple[Any, Any]:
    """Run what is missing; what was found, and its view. Raises SlurmSimError."""
    from slurmsim.cli.progress import counting_bar
    from slurmsim.errors import ConfigError
    from slurmsim.experiments.names import parse_names
    from slurmsim.papers.eurora import view as eurora_view
    from slurmsim.papers.eurora.data import BEGINS, LOG
    from slurmsim.papers.eurora.run import PARTS, POLICIES, experiment

    log = args.log or _own_data(LOG)
    if log is None:
        raise ConfigError("no trace", field="--log", expected=f"the public trace, or SLURMSIM_DATA with {LOG}")
    numbers = [int(name) for name in parse_names(args.batches, [str(n) for n in BEGINS], "--batches")]
    names = parse_names(args.dispatchers, list(POLICIES), "--dispatchers")
    parts = parse_names(args.parts, PARTS, "--parts", "part")
    with counting_bar(0, "runs", shown=_talkative(args) and sys.stderr.isatty()) as progress:
        found = experiment(
            args.out, log, numbers=numbers, seeds=args.seeds, names=names, parts=parts, workers=args.workers,
            fresh=args.fresh, progress=progress,
        )  # fmt: skip
    return found, eurora_view


def lomonosov(args: argparse.Namespace) -> tuple[Any, Any]:
    """Run what is missing; what was found, and its view. Raises SlurmSimError."""
    from slurmsim.cli.convert import parse_option_list
    from slurmsim.cli.progress import counting_bar
    from slurmsim.papers.lomonosov import view as lomonosov_view
    from slurmsim.papers.lomonosov.run import DEFAULT_PARTS, LOG, experiment, parse_parts

    parts = DEFAULT_PARTS if args.parts is None else parse_parts(args.parts)
    with counting_bar(0, "runs", shown=_talkative(args) and sys.stderr.isatty()) as progress:
        found = experiment(
            args.out, parts=parts, seeds=args.seeds, log=args.log or _own_data(LOG), data=args.data or _own_data(),
            windows=args.windows, verdict_seeds=args.verdict_seeds, workers=args.workers, fresh=args.fresh,
            progress=progress,
            model_options=tuple(sorted(parse_option_list(args.option).items())),
        )  # fmt: skip
    return found, lomonosov_view


def _add_titan(names: Any) -> None:
    p = names.add_parser(
        "titan",
        help="using up an allocation, and Titan's queue",
        description="The model of allocation utilisation, its second validation, and a synthetic Titan: with and "
        "without boosts and the limit on queued jobs, under Slurm's own rules, with a project like HEP110, "
        "with fixed bins beside one drawn anew for each job, for a year. "
        "What is in OUT already is not made again. Written: results.txt, results.json, titan.png. About the paper and "
        "the result: docs/systems/titan.md.",
    )
    p.add_argument("--parts", metavar="PART,…", default="all",
                   help="of model, validation, queue, slurm, project, hypothesis, year; or all (default)")  # fmt: skip
    p.add_argument("--seeds", metavar="N", type=int, default=5, help="replicates of the queue (default 5)")
    p.add_argument("--verdict-seeds", metavar="N", type=int, default=0,
                   help="replicates of the queue under Titan's policy alone, if more than --seeds")  # fmt: skip
    p.add_argument("--years", metavar="N", type=int, default=1, help="replicates of the year (default %(default)s)")
    p.add_argument("--jobs", metavar="N", type=int, default=140_500,
                   help="jobs of each, 46,800 a month (default %(default)s, three months); a ninth of them under "
                   "Slurm's rules, beside a project and for the hypothesis")  # fmt: skip
    _common(p, "bench-titan")
    p.set_defaults(func=run, experiment=titan, parser=p)


def titan(args: argparse.Namespace) -> tuple[Any, Any]:
    """Run what is missing; what was found, and its view. Raises SlurmSimError."""
    from slurmsim.cli.progress import counting_bar
    from slurmsim.papers.titan import view as titan_view
    from slurmsim.papers.titan.run import experiment, parse_parts

    parts = parse_parts(args.parts)
    with counting_bar(0, "runs", shown=_talkative(args) and sys.stderr.isatty()) as progress:
        found = experiment(
            args.out, parts=parts, seeds=args.seeds, verdict_seeds=args.verdict_seeds, years=args.years,
            jobs=args.jobs, workers=args.workers, fresh=args.fresh, progress=progress,
        )  # fmt: skip
    return found, titan_view


def _add_parm(names: Any) -> None:
    p = names.add_parser(
        "parm",
        help="moldable and malleable jobs under a budget of watts",
        description="PARM's versions beside Slurm's backfill, uniform caps and selection alone, on the paper's testbed "
        "of 38 nodes under 3,300 W, with jobs made up by its rules, on a synthetic Intrepid of 40,960 nodes and on "
        "Theta's log; the testbed and that Intrepid with what the paper leaves open varied; sweeps of its alpha and of "
        "how many levels of power there are. Runs that are in OUT already are not made again. "
        "Written: results.txt, results.json, a picture a part. About the paper and the result: docs/systems/parm.md.",
    )
    p.add_argument("--parts", metavar="PART,…", default="testbed",
                   help="of testbed, choices, intrepid, theta, sweeps, contested; or all (default "
                   "%(default)s)")  # fmt: skip
    p.add_argument("--seeds", metavar="N", type=int, default=10,
                   help="replicates on the testbed, and of contested (default 10)")  # fmt: skip
    p.add_argument("--testbed-seeds", metavar="N", type=int, help="replicates on the testbed, if other than --seeds")
    p.add_argument("--large-seeds", metavar="N", type=int, default=1,
                   help="replicates of each of the three windows of a large machine (default 1)")  # fmt: skip
    p.add_argument("--slow-seeds", metavar="N", type=int, default=0,
                   help="of versions and baselines at its slowest arrivals, if more than --large-seeds")  # fmt: skip
    p.add_argument("--level-seeds", metavar="N", type=int, default=0,
                   help="of the sweep over levels of power, if more than --large-seeds")  # fmt: skip
    p.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        help="jobs of a window (default: 1000 of intrepid, 200 of theta, 300 of a sweep)",
    )
    p.add_argument("--log", metavar="FILE", type=Path,
                   help="log of theta (default: ALCF-Theta-2022.swf.gz in the folder SLURMSIM_DATA)")  # fmt: skip
    _common(p, "bench-parm")
    p.set_defaults(func=run, experiment=parm, parser=p)


def parm(args: argparse.Namespace) -> tuple[Any, Any]:
    """Run what is missing; what was found, and its view. Raises SlurmSimError."""
    from slurmsim.cli.progress import counting_bar
    from slurmsim.experiments.names import parse_names
    from slurmsim.papers.parm import view as parm_report
    from slurmsim.papers.parm.choices import run as parm_choices
    from slurmsim.papers.parm.contested import run as parm_contested
    from slurmsim.papers.parm.large import run as parm_large
    from slurmsim.papers.parm.sweeps import run as parm_sweeps
    from slurmsim.papers.parm.testbed.run import experiment

    parts = parse_names(args.parts, parm_report.PARTS, "--parts", "part")
    log = args.log or _own_data(parm_large.LOG)
    testbed, large, sweeps, choices, contested = None, [], None, None, None
    for part in (name for name in parm_report.PARTS if name in parts):
        with counting_bar(0, f"runs of {part}", shown=_talkative(args) and sys.stderr.isatty()) as progress:
            how: dict[str, Any] = {"workers": args.workers, "fresh": args.fresh, "progress": progress}
            if part == "testbed":
                count = args.seeds if args.testbed_seeds is None else args.testbed_seeds
                testbed = experiment(args.out, seeds=count, **how)
            elif part == "choices":
                choices = parm_choices.experiment(args.out, seeds=args.seeds, **how)
            elif part == "contested":
                contested = parm_contested.experiment(args.out, seeds=args.seeds, count=args.jobs, **how)
            elif part == "sweeps":
                seeds = {"seeds": args.large_seeds, "level_seeds": args.level_seeds}
                sweeps = parm_sweeps.experiment(args.out, **seeds, count=args.jobs, **how)
            else:
                seeds = {"seeds": args.large_seeds, "slow_seeds": args.slow_seeds}
                large.append(parm_large.experiment(part, args.out, **seeds, count=args.jobs, log=log, **how))
    return parm_report.Parts(testbed, large, sweeps, choices, contested), parm_report
