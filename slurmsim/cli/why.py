"""``slurmsim why``: what keeps a job waiting, in a live cluster as it is now or in the trace of a run."""

import argparse
import json
import os
from pathlib import Path

from slurmsim.cli.terminal import show
from slurmsim.errors import ConfigError, OutputError
from slurmsim.protocol import cluster_folder
from slurmsim.slurmctld.history.header import JOURNAL

DESCRIPTION = """Explain a job's wait. Without DIR, or with the folder of a live cluster: the rule that holds it with
its numbers, the jobs before it, its planned start, and what would start it now. With the folder of a run, from its
trace: the reasons the job showed and for how long, the first job in line meanwhile, the jobs that started, and the jobs
that freed its nodes."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", nargs="?", help="folder that slurmsim run wrote, or of a cluster")
    parser.add_argument("jobs", metavar="JOBID", nargs="*", help="job id, or ARRAY_TASK")
    parser.add_argument(
        "--from", metavar="DUMP", dest="dump", help="of a real cluster: what slurmsim twin collect wrote (docs/twin.md)"
    )
    parser.add_argument("--user", metavar="NAME", help="with --from: each of that user's waiting jobs in a line")
    parser.add_argument("--state", metavar="DIR", help="a live cluster's folder")
    parser.add_argument(
        "--no-offers",
        action="store_true",
        help="do not let copies of the cluster live on, to find what would start a job, and when it will",
    )
    parser.add_argument("--json", action="store_true", help="print as JSON, a list with an object a job")


def run(args: argparse.Namespace) -> int:
    """Print the explanations."""
    jobs = list(args.jobs)
    if args.dump is not None:
        return _of_dump([*([] if args.dir is None else [args.dir]), *jobs], args)
    if args.user is not None:
        raise ConfigError("a dump is needed", field="--user", expected="--from DUMP beside it")
    if args.dir is None or not (jobs or args.dir.replace("_", "").isdecimal()):
        raise ConfigError("no job is named", field="JOBID", expected="the id of a job")
    if args.state is not None:
        return _of_cluster(Path(args.state).absolute(), [*([] if args.dir is None else [args.dir]), *jobs], args)
    if args.dir is not None and not Path(args.dir).exists() and args.dir.replace("_", "").isdecimal():
        jobs.insert(0, args.dir)  # no folder is given
        return _of_cluster(Path(cluster_folder(os.environ)).absolute(), jobs, args)
    if args.dir is None:
        return _of_cluster(Path(cluster_folder(os.environ)).absolute(), jobs, args)
    if (Path(args.dir) / JOURNAL).is_file():
        return _of_cluster(Path(args.dir).absolute(), jobs, args)
    return _of_trace(Path(args.dir), jobs, args)


def _of_cluster(folder: Path, jobs: list[str], args: argparse.Namespace) -> int:
    from slurmsim.live import daemon
    from slurmsim.live.waiting.explain import explain
    from slurmsim.live.waiting.text import as_text

    if not (folder / JOURNAL).is_file():
        raise OutputError(f"{folder}: no cluster is there: start one with slurmsim up, or name the folder of a run")
    try:
        now = int(daemon.call(folder, "clock", action="show")["now"])
    except daemon.Silent:
        raise
    except OutputError:
        now = None  # it does not run: what it was when it stopped
    found = [explain(folder, job, now, offers=not args.no_offers) for job in jobs]
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        show("\n\n".join(map(as_text, found)))
    return 0


def _of_dump(jobs: list[str], args: argparse.Namespace) -> int:
    from slurmsim.live.waiting.explain import explain
    from slurmsim.live.waiting.text import as_text
    from slurmsim.twin.opened import opened
    from slurmsim.twin.waiting import of_user, summary

    if bool(jobs) == (args.user is not None):
        raise ConfigError("one of them is needed", field="--from", expected="job ids, or --user NAME")
    with opened(Path(args.dump)) as (folder, twin):
        names = jobs or of_user(twin, args.user)
        found = [explain(folder, job, offers=not args.no_offers and args.user is None) for job in names]
    if args.json:
        print(json.dumps(found, indent=2))
    elif args.user is not None:
        show(summary(args.user, found, twin))
    else:
        show("\n\n".join(map(as_text, found)))
    return 0


def _of_trace(folder: Path, jobs: list[str], args: argparse.Namespace) -> int:
    from slurmsim.trace.jsonfile import to_json
    from slurmsim.trace.reader import read_trace
    from slurmsim.why import explain
    from slurmsim.why.text import as_text

    trace = read_trace(folder)
    found = [explain(trace, job) for job in jobs]
    if args.json:
        print(to_json([f.as_dict() for f in found]), end="")
        return 0
    epoch = int((trace.manifest.get("workload") or {}).get("epoch") or 0)
    show("\n\n".join(as_text(f, epoch=epoch) for f in found))
    return 0
