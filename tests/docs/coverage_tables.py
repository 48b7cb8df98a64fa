"""Writes docs/coverage.md from the commands' own tables: ``python tests/docs/coverage_tables.py``.

Options are what each command gives its option reader in a release; fields are its column tables. A field is *partial*
when the daemon has no value behind it, so it prints what Slurm prints for "not set".
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.commands.sacct import fields as sacct_fields
from slurmsim.commands.sacctmgr import fields as sacctmgr_fields
from slurmsim.commands.sinfo import columns as node_columns
from slurmsim.commands.squeue import columns as job_columns
from slurmsim.commands.squeue import step_columns
from slurmsim.commands.submit.options import job_options
from slurmsim.commands.text.option_reader import LongOption, Parser
from slurmsim.commands.text.print_fields import Column
from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.live.programs import NAMES
from slurmsim.protocol import Unreachable
from slurmsim.release_changes import CHANGES
from slurmsim.releases import RECORDED_RELEASES, RELEASES, VERSION_VARIABLE
from slurmsim.slurmctld.fields.job_fields import FIELDS as JOB_FIELDS
from slurmsim.slurmctld.fields.node_fields import NODE_FIELDS, PARTITION_FIELDS
from slurmsim.slurmctld.fields.reservation_fields import RESERVATION_FIELDS
from slurmsim.upgrade.sources import is_inferred

TARGET = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"
SUBMITTING = ("sbatch", "srun", "salloc")
STATUS = {job_options.SUPPORTED: "yes", job_options.ACCEPTED: "partial", job_options.REFUSED: "refused"}
HEAD = """# What the commands can

Made from the commands' tables by `python tests/docs/coverage_tables.py`; a test compares.

- **yes**: as in Slurm, as far as a machine without a real cluster can show it. An option about other clusters or
  federations is read, and answered as a cluster answers that has none.
- **partial**: accepted and checked, without effect; of fields: always what Slurm prints for "not set".
- **refused**: by name, with exit code 1, as Slurm refuses an option it does not know.

What is not here is not known to the release that is imitated, or refused. In brackets the releases that have it, where
that is not all of {releases}.

Answers and decisions of {recorded} were recorded and are compared. Of the other releases fields,
columns and the options of sbatch, srun, salloc, squeue, sinfo and sacct were looked up in the sources of Slurm. The
[last table](#what-changes-from-release-to-release) marks what only recordings show: there a release between two
recorded ones is taken to be as the older of the two.
"""
CHANGES_HEAD = """## What changes from release to release

Beside options and fields that come and go, which are above, and decisions of the scheduler, which are in
[fidelity-figures.md](fidelity-figures.md#other-versions-of-slurm). Of {rows} changes {looked} were looked up in the
sources or change logs of Slurm, and so were {looked_rules} of the {rules} decisions. A release with a question mark is
the first recorded one with the change: it may have come with any after the one of {releases} before.

Decisions whose release is not known: {unknown}.
"""


class Nobody:
    """A client without a daemon."""

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        raise Unreachable("nobody is there")

    def __getattr__(self, name: str) -> Any:
        return self.call


class Seen(Exception):
    """The options of the command are known."""

    def __init__(self, options: list[LongOption]) -> None:
        self.options = options


def options_of(command: str, release: str) -> list[LongOption]:
    """What a command gives its option reader; empty when it uses none."""
    before = Parser.parse

    def parse(self: Parser, words: Any) -> Any:
        raise Seen(list(self._options))

    Parser.parse = parse  # type: ignore[method-assign]
    world = Io(Nobody(), stdin=io.StringIO(), stdout=io.StringIO(), stderr=io.StringIO(),  # type: ignore[arg-type]
               environ={VERSION_VARIABLE: release, "PATH": "/usr/bin"}, cwd="/", now=lambda: 0.0)  # fmt: skip
    try:
        import_module(MODULES[command]).run(["x"], world)
    except Seen as seen:
        return seen.options
    finally:
        Parser.parse = before  # type: ignore[method-assign]
    return []


def enumerated(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def releases_text(known: Iterable[str]) -> str:
    """`` (24.11 on)``, or nothing for all."""
    there = [release for release in RELEASES if release in set(known)]
    if len(there) == len(RELEASES):
        return ""
    first, last = there[0], there[-1]
    if len(there) > 1 and RELEASES.index(last) - RELEASES.index(first) == len(there) - 1:
        return f" ({first} on)" if last == RELEASES[-1] else f" ({first} to {last})"
    return f" ({', '.join(there)})"


def between(since: str, until: str) -> list[str]:
    return [release for release in RELEASES if since <= release and (not until or release < until)]


def joined(items: dict[str, list[str]]) -> str:
    return ", ".join(f"`{name}`{releases_text(known)}" for name, known in sorted(items.items())) or "–"


def option_rows(command: str) -> dict[str, dict[str, list[str]]]:
    """Status -> option -> releases."""
    found: dict[str, dict[str, list[str]]] = {"yes": {}, "partial": {}, "refused": {}}
    status = {}
    if command in SUBMITTING:
        status = {row.name: row.status for row in job_options.OPTIONS if command in row.commands}
    for release in RELEASES:
        for option in options_of(command, release):
            name = f"--{option.name}" if option.name else f"-{option.key}"
            if option.name and len(option.key) == 1:
                name = f"-{option.key} {name}"
            kind = STATUS[status.get(option.name or "", job_options.SUPPORTED)]
            found[kind].setdefault(name, []).append(release)
    return found


def column_rows(
    columns: Iterable[Column], known: Iterable[str], constant: Iterable[str]
) -> dict[str, dict[str, list[str]]]:
    """Status -> field (letters and names) -> releases."""
    have, same = set(known), set(constant)
    found: dict[str, dict[str, list[str]]] = {"yes": {}, "partial": {}}
    for column in columns:
        words = [f"%{column.letter}"] if column.letter else []
        names = "/".join([*words, *column.names])
        good = all(field in have for field in column.fields) and not (
            column.fields and all(field in same for field in column.fields)
        )
        if names:
            found["yes" if good else "partial"].setdefault(names, []).extend(between(column.since, column.until))
    return found


def constants(table: dict[str, Any]) -> list[str]:
    """Fields whose value is always the same."""
    found = []
    for name, getter in table.items():
        code = getattr(getter, "__code__", None)
        if code is not None and not code.co_names and not code.co_freevars:
            found.append(name)
    return found


def table(rows: dict[str, dict[str, list[str]]]) -> list[str]:
    lines = ["| | |", "|---|---|"]
    lines += [f"| {status} | {joined(items)} |" for status, items in rows.items() if items]
    return [*lines, ""]


def change_rows() -> list[str]:
    """A line a change: release, command, text; `|` written as tables need it."""
    ordered = sorted(CHANGES.items(), key=lambda change: change[1][:2])
    return [
        f"| {first}{'?' if is_inferred(name, first) else ''} | {command} | {text.replace('|', chr(92) + '|')} |"
        for name, (first, command, text, _) in ordered
    ]


def changes_head() -> str:
    """Return what stands before the table of changes: how many rows are known from sources."""
    rules = [(each.name, each.metadata["span"]) for each in fields(ReleaseRules) if each.metadata]
    unknown = sorted(name for name, span in rules if any(is_inferred(name, first) for first in span))
    return CHANGES_HEAD.format(
        releases=", ".join(RECORDED_RELEASES),
        rows=len(CHANGES),
        looked=sum(not is_inferred(name, row[0]) for name, row in CHANGES.items()),
        rules=len(rules),
        looked_rules=len(rules) - len(unknown),
        unknown=", ".join(f"`{name}`" for name in unknown),
    )


def text() -> str:
    """The whole document."""
    lines = [
        HEAD.format(releases=", ".join(RELEASES), recorded=enumerated(RECORDED_RELEASES)).rstrip(),
        "",
        "## Commands",
        "",
    ]
    there = MODULES
    missing = [name for name in NAMES if name not in there and name != "slurmrestd"]  # it has a page of its own
    lines += [f"There: {', '.join(f'`{name}`' for name in there)}.", ""]
    if missing:
        lines += [f"Refused as a whole: {', '.join(f'`{name}`' for name in missing)}.", ""]
    for command in there:
        rows = option_rows(command)
        if any(rows.values()):
            lines += [f"## {command}: options", "", *table(rows)]
    sets = {**NODE_FIELDS, **PARTITION_FIELDS, **RESERVATION_FIELDS}
    lines += ["## squeue: fields of `-o` and `-O`", "", *table(
        column_rows(job_columns.COLUMNS, JOB_FIELDS, constants(dict(JOB_FIELDS))))]  # fmt: skip
    steps = {field for column in step_columns.COLUMNS for field in column.fields}
    lines += ["## squeue --steps: fields", "", *table(column_rows(step_columns.COLUMNS, steps, ()))]
    shown = {field for column in node_columns.COLUMNS for field in column.fields}
    of_nodes = column_rows(node_columns.COLUMNS, shown, constants(dict(sets)))
    lines += ["## sinfo: fields of `-o` and `-O`", "", *table(of_nodes)]
    rows: dict[str, dict[str, list[str]]] = {"yes": {}, "partial": {}}
    for field in sacct_fields.FIELDS:
        kind = "yes" if field.job is not None or field.step is not None else "partial"
        rows[kind].setdefault(field.name, []).extend(between(field.since, field.until))
    lines += ["## sacct: fields of `--format`", "", *table(rows)]
    rows = {"yes": {}}
    for entry in sacctmgr_fields.FIELDS:
        rows["yes"].setdefault(entry.names.split()[0].partition(":")[0], []).extend(between(entry.since, entry.until))
    lines += ["## sacctmgr: fields of `format=`", "", *table(rows)]
    lines += [
        "",
        changes_head(),
        "| since | command | what changed |",
        "|---|---|---|",
        *change_rows(),
    ]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), "utf-8")
