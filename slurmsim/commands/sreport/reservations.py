"""The report of reservations: what jobs used of them, and what stood idle."""

from __future__ import annotations

import time

from slurmsim.commands.sreport import conditions
from slurmsim.commands.sreport.columns import chosen
from slurmsim.commands.sreport.report import TIMES
from slurmsim.commands.text.clock_text import long_clock
from slurmsim.protocol import DENIED, Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from slurmsim.commands.sreport.report import Report


def utilization(report: Report, words: list[str]) -> None:
    """Report the use of each TRES of each reservation, a line each."""
    conditions.read(report, "reservation", words)
    try:
        found = report.ask("reservations")
    except Refusal as error:
        if error.text != DENIED:
            raise
        report.wrong(f"sreport: error: {error.text}\n Problem with reservation query.")
        return
    unit = TIMES[report.time]
    report.title(
        "Reservation Utilization", f"Usage reported in {'' if report.time == 'percent' else 'TRES '}{unit}",
        seconds=False,
    )  # fmt: skip
    columns = chosen(report, "reservation", "Cl,name,start,end,TresName,al,i")
    rows = [
        _row(report, columns, found["name"], one, tres)
        for one in found["reservations"] if report.here(found) and _meant(report, one)
        for tres in found["tres"] if tres in one["tres"] and (report.tres_text is None or tres in report.tres)
    ]  # fmt: skip
    report.table([head for _, head in columns], rows)


def _meant(report: Report, one: Mapping[str, Any]) -> bool:
    names, ids, nodes = (report.words.get(key) for key in ("names", "ids", "nodes"))
    if nodes:
        from slurmsim.hostlist import expand

        if set(expand(nodes[0])).isdisjoint(expand(one["nodes"]) if one["nodes"] else ()):
            return False
    return (not names or one["name"].lower() in names) and (not ids or str(one["id"]) in ids)


def _row(report: Report, columns: Sequence[Any], cluster: str, one: Mapping[str, Any], tres: str) -> list[str | None]:
    seconds, count = one["end"] - one["start"], one["tres"][tres]
    total, used = seconds * count, one["used"].get(tres, 0)
    cells: dict[str, str] = {
        "cluster": cluster, "name": one["name"], "tres": tres, "count": str(count), "id": str(one["id"]),
        "nodes": one["nodes"], "flags": one["flags"], "associations": ",".join(map(str, one["associations"])),
        "start": _date(one["start"]), "end": _date(one["end"]), "total": long_clock(seconds),
        "time": long_clock(total), "allocated": report.amount(used, total),
        "idle": report.amount(max(0, total - used), total),
    }  # fmt: skip
    return [cells.get(what) for what, _ in columns]


def _date(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at))
