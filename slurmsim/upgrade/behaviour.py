"""What two releases do otherwise, from the tables that the commands and the scheduler go by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from slurmsim.commands.sacct import fields as sacct_fields
from slurmsim.commands.sinfo import columns as node_columns
from slurmsim.commands.squeue import columns as job_columns
from slurmsim.commands.submit.options import job_options
from slurmsim.config.option import earlier
from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.data_classes import dataclass, fields
from slurmsim.errors import ConfigError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.release_changes import CHANGES, REFUSED, SHOWN
from slurmsim.releases import has
from slurmsim.upgrade.sources import Came, came

SCHEDULED = "scheduled otherwise"
_NOT_ALL = "no longer: "
_HELD = "accounting_storage/none"


def _uses_gres(cluster: ClusterSpec) -> bool:
    return any(node.gres for node in cluster.nodes)


def _uses_accounting(cluster: ClusterSpec) -> bool:
    return str(cluster.option("AccountingStorageType") or _HELD).lower() != _HELD


NEEDS: dict[str, Callable[[ClusterSpec], bool]] = {
    "GRES": _uses_gres,
    "licenses": lambda cluster: bool(cluster.option("Licenses") or cluster.hierarchies),
    "switches": lambda cluster: any(one.switches for one in cluster.networks),
    "blocks": lambda cluster: any(one.blocks for one in cluster.networks),
    "power saving": lambda cluster: bool(cluster.option("SuspendProgram")),
    "sched/builtin": lambda cluster: str(cluster.option("SchedulerType")).lower() == "sched/builtin",
    "accounting": _uses_accounting,
    "no accounting": lambda cluster: not _uses_accounting(cluster),
}
"""What a cluster must have for a rule to decide anything there -> whether it has it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that the newer release does otherwise.

    Attributes
    ----------
    harm
        `SCHEDULED`, or as in `slurmsim.release_changes`: `REFUSED`, `OTHERWISE`, `SHOWN`.
    since
        The release with which it came; if that is unknown, the first recorded release that has it.
    sure
        False if it may have come before or after the two releases as well.
    command
        Where a user meets it; commands are joined by commas.
    text
        What the newer release does, a sentence.
    """

    harm: str
    since: str
    command: str
    text: str
    sure: bool = True


def check_order(old: str, new: str) -> None:
    """Raise ConfigError unless `new` is the later release."""
    if not earlier(old, new):
        raise ConfigError(f"{new} is not later than {old}", field="--to", expected="a release after that of --from")


def differences(old: str, new: str, cluster: ClusterSpec | None = None) -> list[Difference]:
    """Return what `new` does otherwise than `old`, by harm and release.

    Parameters
    ----------
    cluster
        Rules that decide nothing on this cluster are left out; None keeps all.
    """
    check_order(old, new)
    found = [*_rules(old, new, cluster), *_changes(old, new), *_names(old, new)]
    order = (REFUSED, SCHEDULED)
    return sorted(found, key=lambda one: (order.index(one.harm) if one.harm in order else 2, one.harm == SHOWN,
                                          one.since, one.command))  # fmt: skip


def _rules(old: str, new: str, cluster: ClusterSpec | None) -> Iterator[Difference]:
    for each in fields(ReleaseRules):
        if not each.metadata:
            continue
        since, until = (*each.metadata["span"], "")[:2]
        of, says = each.metadata["of"], each.metadata["says"]
        if of and cluster is not None and not NEEDS[of](cluster):
            continue
        there, gone = came(each.name, since, old, new), came(each.name, until, old, new)
        if there is gone is Came.YES:
            continue
        if there is not Came.NO:
            yield Difference(SCHEDULED, since, "slurmctld", says, there is Came.YES)
        if gone is not Came.NO:
            yield Difference(SCHEDULED, until, "slurmctld", _NOT_ALL + says, gone is Came.YES)


def _changes(old: str, new: str) -> Iterator[Difference]:
    for name, (since, command, text, harm) in CHANGES.items():
        there = came(name, since, old, new)
        if there is not Came.NO:
            yield Difference(harm, since, command, text, there is Came.YES)


def _names(old: str, new: str) -> Iterator[Difference]:
    """Options and fields that go and come, a line a command and release."""
    for command in job_options.ALL:
        rows = [
            ((f"--{row.name}",), row.since, row.until)
            for row in job_options.OPTIONS
            if command in row.commands and not row.hidden and row.status != job_options.REFUSED
        ]
        yield from _of_table(command, "options", rows, old, new)
    columns = (("squeue", job_columns.COLUMNS), ("sinfo", node_columns.COLUMNS))
    for command, table in columns:
        yield from _of_table(command, "fields", ((row.names, row.since, row.until) for row in table), old, new)
    sacct = (((row.name,), row.since, row.until) for row in sacct_fields.FIELDS)
    yield from _of_table("sacct", "fields", sacct, old, new)


def _of_table(
    command: str, what: str, rows: Iterable[tuple[tuple[str, ...], str, str]], old: str, new: str
) -> Iterator[Difference]:
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for names, since, until in rows:
        for name in names:
            if has(old, since, until):
                before[name] = until
            if has(new, since, until):
                after[name] = since
    gone = {name: before[name] for name in before.keys() - after.keys()}
    yield from _listed(command, f"The {what} that are gone: ", gone, REFUSED)
    fresh = {name: after[name] for name in after.keys() - before.keys()}
    yield from _listed(command, f"New {what}: ", fresh, SHOWN)


def _listed(command: str, head: str, names: dict[str, str], harm: str) -> Iterator[Difference]:
    for since in sorted(set(names.values())):
        some = ", ".join(f"`{name}`" for name in sorted(names) if names[name] == since)
        yield Difference(harm, since, command, f"{head}{some}.")
