"""``slurm-conformance [run|record|list]``."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from slurm_conformance import answers as kept
from slurm_conformance.judging import alike
from slurm_conformance.report import Verdict, differences, judge, table
from slurm_conformance.runner import Run, run
from slurm_conformance.scenario import FormatError, Scenario, read_all, release_number
from slurm_conformance.target import Slurmsim, Target, read

DESCRIPTION = """Run scenarios of Slurm's commands, and compare the answers with those of real Slurm 22.05, 24.11 and
26.05. Exit code: 0 if nothing differs, 1 if something does, 2 if it could not be run."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    parser.add_argument("action", nargs="?", choices=("run", "record", "list"), default="run",
                        help="run (default); record: write a real Slurm's answers, those that two runs give alike; "
                        "list: say which scenarios there are")  # fmt: skip
    parser.add_argument("--area", action="append", metavar="AREA", help="only scenarios of that area")
    parser.add_argument("--name", metavar="TEXT", default="", help="only scenarios with that text in their name")
    parser.add_argument("--every", metavar="N", type=int, default=1, help="only each N-th scenario")
    parser.add_argument("--target", type=Path, metavar="FILE", help="what is judged (default: slurmsim)")
    parser.add_argument("--release", metavar="V", default="26.05", help="release that slurmsim imitates (26.05)")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--quiet", action="store_true", help="print the table alone")


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="slurm-conformance", description=DESCRIPTION, allow_abbrev=False)
    add_options(parser)
    try:
        return act(parser.parse_args(argv))
    except FormatError as error:
        print(f"slurm-conformance: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("slurm-conformance: interrupted", file=sys.stderr)
        return 130


def act(options: argparse.Namespace) -> int:
    """Do what the parsed options say; return the exit status. Raises FormatError."""
    scenarios = chosen(options.area, options.name, options.every)
    if options.action == "list":
        print("\n".join(one.key for one in scenarios))
        return 0
    target = _target(options)
    return _record(target, scenarios) if options.action == "record" else _judge(target, scenarios, options)


def chosen(areas: list[str] | None, text: str, every: int) -> list[Scenario]:
    """Return each `every`-th scenario of those areas (or all) with `text` in its name. Raises FormatError."""
    found = [one for one in read_all() if (not areas or one.area in areas) and text in one.name]
    if every < 1 or not found:
        raise FormatError("no such scenario: slurm-conformance list has their names")
    return found[::every]


def _target(options: argparse.Namespace) -> Target:
    if options.target is not None:
        return read(options.target)
    release_number(options.release)
    return Slurmsim(options.release)


def _told(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _judge(target: Target, scenarios: list[Scenario], options: argparse.Namespace) -> int:
    answers = {area: kept.read(area) for area in {one.area for one in scenarios}}
    verdicts: list[Verdict] = []
    for one in run(target, scenarios, _told):
        verdicts.append(judge(one, answers[one.scenario.area], target.release))
        if not options.quiet and not options.json:
            print("\n".join(differences(verdicts[-1:])), end="\n" * (verdicts[-1].outcome == "differs"), flush=True)
    if all(one.outcome == "no answers" for one in verdicts):
        raise FormatError(f"{target.name}: nothing could be compared: no cluster or no answers for these scenarios")
    if options.json:
        print(json.dumps([asdict(one) for one in verdicts], indent=1))
    else:
        print("\n".join(table(verdicts, f"{target.name} as {target.release}")))
    return int(any(one.outcome == "differs" for one in verdicts))


def _record(target: Target, scenarios: list[Scenario]) -> int:
    first = {one.scenario.key: one for one in run(target, scenarios, _told)}
    second = {one.scenario.key: one for one in run(target, scenarios, _told)}
    dropped = 0
    for area in sorted({one.scenario.area for one in first.values()}):
        answers = kept.read(area)
        for one in (each for each in first.values() if each.scenario.area == area):
            dropped += _join(answers, one, second[one.scenario.key], target.release)
        kept.write(area, answers)
    print(f"{len(first)} scenarios; {dropped} answers were not the same twice")
    return 0


def _join(answers: kept.Answers, first: Run, second: Run, release: str) -> int:
    entries = answers.get(first.scenario.name, [])
    if len(entries) != len(first.answers):
        entries = [{} for _ in first.answers]
    dropped = 0
    for place, (one, other) in enumerate(zip(first.answers, second.answers, strict=True)):
        same = alike(one, other, exact=first.scenario.exact)
        dropped += not same
        entries[place] = kept.join(entries[place], release, one if same else None)
    answers[first.scenario.name] = entries
    return dropped


if __name__ == "__main__":
    sys.exit(main())
