"""What an upgrade changes as text and as JSON, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from slurmsim.config.findings import Finding
from slurmsim.release_changes import OTHERWISE, REFUSED, SHOWN
from slurmsim.releases import VERSIONS
from slurmsim.upgrade.behaviour import SCHEDULED, Difference, imitated
from slurmsim.upgrade.configuration import Readings

_HEADS = {
    REFUSED: "refused that was taken",
    SCHEDULED: "scheduled otherwise on such a cluster",
    OTHERWISE: "done otherwise",
    SHOWN: "shown otherwise, or new",
}


def as_text(
    conf: str, old: str, new: str, readings: Readings, found: Sequence[Difference], *, everything: bool
) -> list[str]:
    """Return the lines for people; what is only shown otherwise is counted unless `everything` is asked for."""
    lines = [f"{conf}: {old} -> {new}", *unsure(old, new)]
    lines += _group("slurmctld does not start", [_finding(one) for one in readings.refused])
    lines += _group(
        "decided otherwise, for the default is another",
        [f"{one.words}{f' ({one.place})' if one.place else ''}\n      {one.does}" for one in readings.changes],
    )
    lines += _group("read otherwise", [_finding(one) for one in readings.told])
    for harm, head in _HEADS.items():
        rows = [one for one in found if one.harm == harm]
        if harm == SHOWN and not everything:
            counts = Counter(command for one in rows for command in one.command.split(", "))
            said = ", ".join(f"{command} {count}" for command, count in counts.most_common())
            lines += ["", f"{head} ({len(rows)}): {said}; --all lists them"] if rows else []
        else:
            lines += _group(head, [_row(one) for one in rows])
    return lines


def as_json(conf: str, old: str, new: str, readings: Readings, found: Sequence[Difference]) -> dict[str, Any]:
    """Return the same for programs: nothing is left out."""
    return {
        "conf": conf,
        "from": old,
        "to": new,
        "unsure": unsure(old, new),
        "does_not_start": [asdict(one) for one in readings.refused],
        "decides": [asdict(one) for one in readings.changes],
        "told": [asdict(one) for one in readings.told],
        "differences": [asdict(one) for one in found],
    }


def _group(head: str, rows: list[str]) -> list[str]:
    return ["", f"{head} ({len(rows)})", *(f"  {row}" for row in rows)] if rows else []


def _finding(one: Finding) -> str:
    return str(one).replace(f"{one.severity}: ", "", 1)


def _row(one: Difference) -> str:
    command = "" if one.harm == SCHEDULED else f"{one.command}: "
    return f"{one.since}  {command}{one.text}"


def unsure(old: str, new: str) -> list[str]:
    """Return what is not known of releases that are not imitated."""
    named = [release for release in (old, new) if release not in VERSIONS]
    if not named:
        return []
    first, last = imitated(old, new)
    return [
        f"{' and '.join(named)}: not looked at {'itself' if len(named) == 1 else 'themselves'}. This is what changes"
        f" from {first} to {last}; what stands under a release may have come with any after the one before."
    ]
