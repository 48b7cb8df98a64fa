"""What two releases do otherwise, from the tables that the commands and the scheduler go by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields

from slurmsim.commands.sacct import fields as sacct_fields
from slurmsim.commands.sinfo import columns as node_columns
from slurmsim.commands.squeue import columns as job_columns
from slurmsim.commands.submit.options import job_options
from slurmsim.config.option import earlier
from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.errors import ConfigError
from slurmsim.model.cluster import ClusterSpec
from slurmsim.release_changes import CHANGES, REFUSED, SHOWN
from slurmsim.releases import RELEASES, short

SCHEDULED = "scheduled otherwise"
_NOT_ALL = "no longer: "
_HELD = "accounting_storage/none"


def _uses_gres(cluster: ClusterSpec) -> bool:
    return any(node.gres for node in cluster.nodes)


def _uses_accounting(cluster: ClusterSpec) -> bool:
    return str(cluster.option("AccountingStorageType") or _HELD).lower() != _HELD


NEEDS: dict[str, Callable[[ClusterSpec], bool]] = {
    "GRES": _uses_gres,
    "licenses": lambda cluster: bool(cluster.option("Licenses")),
    "switches": lambda cluster: bool(cluster.switches),
    "blocks": lambda cluster: bool(cluster.blocks),
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
        The release with which it came; if that is unknown, the first release imitated here that has it.
    command
        Where a user meets it; commands are joined by commas.
    text
        What the newer release does, a sentence.
    """

    harm: str
    since: str
    command: str
    text: str


def check_order(old: str, new: str) -> None:
    """Raise ConfigError unless `new` is the later release."""
    if not earlier(old, new):
        raise ConfigError(f"{new} is not later than {old}", field="--to", expected="a release after that of --from")


def imitated(old: str, new: str) -> tuple[str, str]:
    """Return the releases to compare in their place: the last imitated one up to `old`, the first one from `new` on.

    >>> imitated("23.11", "24.05"), imitated("24.11", "26.05")
    (('22.05', '24.11'), ('24.11', '26.05'))
    """
    return short(old), next((one for one in RELEASES if not earlier(one, new)), RELEASES[-1])


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


def _came(since: str, old: str, new: str) -> bool:
    """Return True if `since` is after `old` and not after `new`, or may be: only few rows know the releases between."""
    if since in RELEASES:
        old, new = imitated(old, new)
    return bool(since) and earlier(old, since) and not earlier(new, since)


def _rules(old: str, new: str, cluster: ClusterSpec | None) -> Iterator[Difference]:
    for each in fields(ReleaseRules):
        if not each.metadata:
            continue
        since, *until = each.metadata["span"]
        of = each.metadata["of"]
        if of and cluster is not None and not NEEDS[of](cluster):
            continue
        there = _came(since, old, new), bool(until) and _came(until[0], old, new)
        if there == (True, False):
            yield Difference(SCHEDULED, since, "slurmctld", each.metadata["says"])
        elif there == (False, True):
            yield Difference(SCHEDULED, until[0], "slurmctld", _NOT_ALL + each.metadata["says"])


def _changes(old: str, new: str) -> Iterator[Difference]:
    for since, command, text, harm in CHANGES.values():
        if _came(since, old, new):
            yield Difference(harm, since, command, text)


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
    old, new = imitated(old, new)
    for names, since, until in rows:
        for name in names:
            for release, found in ((old, before), (new, after)):
                if not (since and earlier(release, since)) and not (until and not earlier(release, until)):
                    found[name] = since
            if name in before and until:
                before[name] = until
    gone, came = before.keys() - after.keys(), after.keys() - before.keys()
    yield from _listed(command, f"The {what} that are gone: ", {name: before[name] for name in gone}, REFUSED)
    yield from _listed(command, f"New {what}: ", {name: after[name] for name in came}, SHOWN)


def _listed(command: str, head: str, names: dict[str, str], harm: str) -> Iterator[Difference]:
    for since in sorted(set(names.values())):
        some = ", ".join(f"`{name}`" for name in sorted(names) if names[name] == since)
        yield Difference(harm, since, command, f"{head}{some}.")
