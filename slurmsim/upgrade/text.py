"""What an upgrade changes as text and as JSON, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from slurmsim.config.findings import Finding
from slurmsim.release_changes import OTHERWISE, REFUSED, SHOWN
from slurmsim.releases import RECORDED_RELEASES
from slurmsim.upgrade.behaviour import SCHEDULED, Difference
from slurmsim.upgrade.configuration import Readings

_HEADS = {
    REFUSED: "refused that was taken",
    SCHEDULED: "scheduled otherwise on such a cluster",
    OTHERWISE: "done otherwise",
    SHOWN: "shown otherwise, or new",
}
_MAYBE = ", if it came between the two"


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
    for sure in (True, False):
        for harm, head in _HEADS.items():
            rows = [one for one in found if one.harm == harm and one.sure == sure]
            lines += _of_harm(head if sure else head + _MAYBE, rows, count=harm == SHOWN and not everything)
    return lines


def _of_harm(head: str, rows: list[Difference], *, count: bool) -> list[str]:
    """Return the lines about `rows`, or with `count` one with their numbers."""
    if not count or not rows:
        return _group(head, [_row(one) for one in rows])
    counts = Counter(command for one in rows for command in one.command.split(", "))
    said = ", ".join(f"{command} {number}" for command, number in counts.most_common())
    return ["", f"{head} ({len(rows)}): {said}; --all lists them"]


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
    """Return what is not known of releases of which nothing was recorded."""
    named = [release for release in (old, new) if release not in RECORDED_RELEASES]
    if not named:
        return []
    return [
        f"{' and '.join(named)}: known from Slurm's sources, not from recordings. What may have come between the two"
        " stands apart."
    ]
