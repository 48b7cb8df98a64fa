"""``slurmsim check``: what slurmsim does with each key of a slurm.conf, errors first."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slurmsim.cli.run import add_groups
from slurmsim.cli.terminal import show
from slurmsim.config.accounting.load import check_partitions, load_accounting
from slurmsim.config.accounting.missing import warn_missing
from slurmsim.config.findings import SEVERITIES, Finding, Place, Seen
from slurmsim.config.groups import check_groups, read_groups, warn_missing_groups
from slurmsim.config.load import Examination, examine, parse_override
from slurmsim.config.option import LATEST, OLDEST, Status
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting
from slurmsim.releases import DEFAULT, RELEASES, of_new
from slurmsim.toml_file import beside

_STATUS_ORDER = (Status.NOT_MODELLED, Status.HONOURED, Status.HARMLESS)

DESCRIPTION = """Read a slurm.conf as a new cluster would and say what counts. With --from and --to: say what an
upgrade of Slurm changes for it and for those who type commands, the worst first. Exit code: 0, with errors 2, 1 where
the newer release refuses the configuration or the script."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("conf", type=Path, nargs="?", help="the slurm.conf; gres.conf beside it is read too")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
                        help="override a key, as in `slurmsim run`")  # fmt: skip
    parser.add_argument("--accounting", action="append", default=[], metavar="FILE",
                        help="accounting data that go with it, as in `slurmsim run`")  # fmt: skip
    add_groups(parser)
    parser.add_argument("--strict", action="store_true", help="refuse whatever the real daemons refuse")
    parser.add_argument("--release", "--slurm-version", choices=RELEASES, default=of_new(os.environ),
                        help=f"release that gives the defaults (default {DEFAULT}, as of new clusters)")  # fmt: skip
    upgrade = parser.add_argument_group("an upgrade of Slurm")
    upgrade.add_argument("--from", dest="old", choices=RELEASES, help=f"the release that runs (default {OLDEST})")
    upgrade.add_argument("--to", dest="new", choices=RELEASES, help=f"the release to come (default {LATEST})")
    upgrade.add_argument("--script", type=Path, metavar="FILE",
                         help="say what sbatch of both makes of this job script; nothing is run")  # fmt: skip
    upgrade.add_argument("--all", action="store_true", help="list what is only shown otherwise, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the verdict; 0 when the configuration is usable, 2 when not."""
    overrides = [parse_override(text) for text in args.overrides]
    if args.old or args.new or args.script:
        from slurmsim.cli.check_upgrade import upgrade  # reads the tables of all commands

        return upgrade(args, overrides)
    if args.conf is None:
        raise ConfigError("nothing to read", field="conf", expected="a slurm.conf, or --script FILE")
    findings, seen, accounting = inspect(
        args.conf, overrides, strict=args.strict, release=args.release, accounting=args.accounting,
        groups=args.groups,
    )  # fmt: skip
    if args.json:
        print(json.dumps(_as_json(args.conf, findings, seen, accounting), indent=2))
    else:
        show("\n".join(_as_text(args.conf, findings, seen, accounting)))
    return 2 if any(finding.severity == "error" for finding in findings) else 0


def inspect(
    conf: Path,
    overrides: Sequence[tuple[str, str]] = (),
    *,
    strict: bool = False,
    release: str = OLDEST,
    accounting: Sequence[str] = (),
    groups: Sequence[str] = (),
) -> tuple[list[Finding], list[Seen], Accounting | None]:
    """All findings on a configuration, errors first, every known key it sets, and the accounting data."""
    try:
        examination = examine(conf, overrides, strict=strict, release=release)
    except ConfigError as error:
        return [_as_finding(error, "slurm.conf")], [], None
    report, data = examination.report, None
    if accounting:
        try:
            name = examination.cluster.name if examination.cluster is not None else ""
            data = load_accounting(accounting, cluster=name, report=report)
            if examination.cluster is not None:
                check_partitions(data, examination.cluster, report)
        except ConfigError as error:
            report.findings.append(_as_finding(error, "accounting"))
    else:
        try:
            warn_missing(report, overrides)
        except ConfigError as error:
            report.findings.append(_as_finding(error, "accounting"))
    try:
        members = read_groups(groups)
        if members is None:
            warn_missing_groups(report)
        elif examination.cluster is not None:
            check_groups(members, examination.cluster, report)
    except ConfigError as error:
        report.findings.append(_as_finding(error, "groups"))
    findings = report.findings + _policy_findings(examination, conf)
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)), report.seen, data


def _as_finding(error: ConfigError, key: str) -> Finding:
    return Finding("error", error.file, error.line, error.field or key, "", error.message, error.expected or "",
                   error.log)  # fmt: skip


def _policy_findings(examination: Examination, conf: Path) -> list[Finding]:
    """Return an error if SchedulerType names no installed policy, or gives it options it does not have."""
    from slurmsim.policy import configured_policy  # needs NumPy, which the command line must not wait for

    cluster = examination.cluster
    if cluster is None:
        return []
    named = cluster.option("SchedulerType")
    try:
        configured_policy(named, beside(conf))
    except ConfigError as error:
        if error.file is not None:
            return [_as_finding(error, "SchedulerType")]
        places = [seen.place for seen in examination.report.seen if seen.key == "SchedulerType"]
        place = places[-1] if places else Place()
        return [Finding("error", place.file, place.line, "SchedulerType", named, error.message, error.expected or "")]
    return []


def _as_text(conf: Path, findings: Sequence[Finding], seen: Sequence[Seen], accounting: Accounting | None) -> list[str]:
    lines = [line for one in findings for line in (str(one), *(f"  slurmctld: {said}" for said in one.log))]
    rows = _rows(seen)
    if lines and rows:
        lines.append("")
    if rows:
        header = ("STATUS", "LINE", "KEY", "VALUE", "WHY")
        cells = [header, *(tuple(str(row[name.lower()] or "") for name in header) for row in rows)]
        widths = [min(max(len(cell[i]) for cell in cells), 40) for i in range(len(header) - 1)]
        for cell in cells:
            lines.append("  ".join([*(_fit(cell[i], width) for i, width in enumerate(widths)), cell[-1]]).rstrip())
        lines.append("")
    counts = [f"{sum(row['status'] == status for row in rows)} {status}" for status in Status]
    errors, warnings = (sum(finding.severity == severity for finding in findings) for severity in SEVERITIES[:2])
    if accounting is not None:
        lines.append(f"{accounting.source}: {_accounting_text(accounting)}")
    lines.append(f"{conf}: {_many(errors, 'error')}, {_many(warnings, 'warning')}; keys: {', '.join(counts)}")
    return lines


def _accounting_text(accounting: Accounting) -> str:
    facts = _accounting_facts(accounting)
    counts = [_many(facts[what], what[:-1]) for what in ("accounts", "users", "associations")]
    return f"{', '.join(counts)}; {len(accounting.qos)} QOS: {', '.join(facts['qos'])}"


def _accounting_facts(accounting: Accounting) -> dict[str, Any]:
    return {
        "source": accounting.source,
        "accounts": sum(not a.user for a in accounting.associations),
        "users": len({a.user for a in accounting.associations if a.user}),
        "associations": len(accounting.associations),
        "qos": [qos.name for qos in accounting.qos],
    }


def _as_json(
    conf: Path, findings: Sequence[Finding], seen: Sequence[Seen], accounting: Accounting | None
) -> dict[str, Any]:
    more = {} if accounting is None else {"accounting": _accounting_facts(accounting)}
    return more | {
        "conf": str(conf),
        "errors": sum(finding.severity == "error" for finding in findings),
        "warnings": sum(finding.severity == "warning" for finding in findings),
        "findings": [
            {name: getattr(finding, name) for name in Finding.__dataclass_fields__} for finding in findings
        ],
        "keys": _rows(seen),
    }  # fmt: skip


def _rows(seen: Sequence[Seen]) -> list[dict[str, Any]]:
    """One row a key (not a line): the last place and value count; the not modelled ones first."""
    last: dict[tuple[str, str], Seen] = {(item.group, item.key): item for item in seen}
    rows = [
        {
            "status": item.option.status.value,
            "file": item.place.file,
            "line": item.place.line,
            "key": f"{item.group}.{item.key}" if item.group else item.key,
            "value": item.value,
            "why": item.option.why,
        }
        for item in last.values()
    ]
    return sorted(rows, key=lambda row: [status.value for status in _STATUS_ORDER].index(row["status"]))


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
