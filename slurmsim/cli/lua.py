"""``slurmsim lua test``: a site's job_submit.lua or cli_filter.lua on made-up submissions, without a cluster."""

from __future__ import annotations

import argparse
import json
import shlex
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from slurmsim.cli.terminal import show
from slurmsim.config.load import load_cluster
from slurmsim.errors import ConfigError
from slurmsim.hostlist import compress
from slurmsim.input_file import read_text
from slurmsim.lua import CLI_FILE, FILE
from slurmsim.releases import DEFAULT, RELEASES
from slurmsim.toml_file import read_toml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.lua.cases import Case, Outcome
    from slurmsim.lua.filter_cases import Made

DESCRIPTION = """Test a job_submit.lua: each case is an sbatch command line and what has to become of it (docs/lua.md).
A cli_filter.lua, known by its functions, is tried by sbatch, salloc and srun themselves.
Exit code: 0, 1 if a case fails, 2 if a file cannot be read."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["test"], help="what to do")
    parser.add_argument("script", type=Path, metavar="FILE", help=f"the site's {FILE} or {CLI_FILE}")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="the cases (default: FILE with .toml for .lua)")
    parser.add_argument("--conf", type=Path, metavar="FILE", help="a slurm.conf: the partitions the script is shown")
    parser.add_argument("--release", choices=RELEASES, default=DEFAULT, help=f"release to imitate ({DEFAULT})")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Try all cases, print what failed."""
    from slurmsim.lua.filter_cases import is_cli_filter

    text = _text(args.script)
    file = args.cases or args.script.with_suffix(".toml")
    outcomes = (_filtered if is_cli_filter(text) else _submitted)(text, file, args)
    failed = [one for one in outcomes if one.wrong]
    if args.json:
        print(json.dumps({"cases": [asdict(one) for one in outcomes], "failed": len(failed)}, indent=2))
    else:
        lines = [f"{'FAILED' if one.wrong else 'ok':6}  {one.case.name}" + "".join(f"\n        {w}" for w in one.wrong)
                 for one in outcomes]  # fmt: skip
        show("\n".join([*lines, f"{args.script}: {len(outcomes) - len(failed)} of {len(outcomes)} cases hold"]))
    return 1 if failed else 0


def _text(script: Path) -> str:
    """Return a script. Raises ConfigError."""
    expected = f"a {FILE} or {CLI_FILE}"
    try:
        return read_text(script)
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        why = "is no UTF-8"
    raise ConfigError(why, file=str(script), field="FILE", expected=expected)


def _submitted(text: str, file: Path, args: argparse.Namespace) -> list[Outcome]:
    """Try the cases of a job_submit.lua."""
    from slurmsim.lua.cases import read_cases, try_case
    from slurmsim.lua.job_submit import JobSubmit

    cases = read_cases(read_toml(str(file), "cases in TOML"), file)
    partitions, name = _partitions(args.conf, args.release)
    script = JobSubmit(text, args.release, name, lambda: 0, args.script.name)
    request_of = partial(_request, file=file, release=args.release)
    return [try_case(script, case, request_of, partitions, args.release) for case in cases]


def _filtered(text: str, file: Path, args: argparse.Namespace) -> list[Outcome]:
    """Try the cases of a cli_filter.lua: each is a call of its command, which loads the script."""
    from slurmsim.lua import filter_cases
    from slurmsim.lua.cases import read_cases

    if args.conf is not None:
        raise ConfigError(f"is for {FILE}: a {CLI_FILE} sees no partitions", field="--conf", expected="no --conf")
    filter_cases.load(text, args.script, args.release)
    cases = read_cases(read_toml(str(file), "cases in TOML"), file, filter_cases.KEYS)
    filter_cases.check(cases, file)
    call = partial(_call, script=args.script.resolve(), folder=file.resolve().parent, release=args.release)
    return [filter_cases.try_filter_case(case, file, call) for case in cases]


def _call(case: Case, words: list[str], *, script: Path, folder: Path, release: str) -> Made:
    """Return what a command makes of its words in a cluster with this script."""
    from slurmsim.lua.filter_cases import Made
    from slurmsim.upgrade.dry_calls import dry_call

    hello = {"cluster": "cluster", "slurm_version": release, "now": 0, "uid": case.uid, "cli_filter": str(script)}
    environ = {"USER": case.user, "HOME": f"/home/{case.user}", **case.environ}
    made = dry_call(case.command, words, release, folder, hello=hello, environ=environ)
    return Made(made.said, [] if made.filtered is None else made.filtered.judged, bool(made.jobs))


def _request(options: str, *, file: Path, release: str) -> dict[str, Any]:
    """Return the request that sbatch makes of some options. Raises ConfigError."""
    from slurmsim.upgrade.dry_calls import dry_call

    try:
        words = shlex.split(options)
    except ValueError as error:
        raise ConfigError(f"{options!r}: {error}", file=str(file), field="options", expected="sbatch options") from None
    made = dry_call("sbatch", [*words, "--wrap", "true"], release, Path.cwd())
    if made.code or not made.jobs:
        said = made.said.strip().rpartition("\n")[2] or "nothing is submitted"
        raise ConfigError(f"{options!r}: {said}", file=str(file), field="options", expected="sbatch options")
    return made.jobs[0]


def _partitions(conf: Path | None, release: str) -> tuple[list[dict[str, Any]], str]:
    """Return the partitions of a slurm.conf as scripts see them, and the cluster's name."""
    if conf is None:
        return [], "cluster"
    from slurmsim.lua.partitions import for_scripts

    cluster, _ = load_cluster(conf, release=release)
    return [
        for_scripts({
            "name": one.name, "default": one.default, "max_nodes": one.max_nodes, "min_nodes": one.min_nodes,
            "max_time": None if one.max_time_s is None else one.max_time_s // 60,
            "default_time": None if one.default_time_s is None else one.default_time_s // 60,
            "max_share": one.oversubscribe_max, "nodes": compress(list(one.nodes)), "total_nodes": len(one.nodes),
            "priority_tier": one.priority_tier, "priority_job_factor": one.priority_job_factor, "qos": one.qos or None,
            "state_up": one.state,
        })
        for one in cluster.partitions
    ], cluster.name  # fmt: skip
