"""Columns of reports: the names that ``format=`` takes, their headings and widths.

A name is known by its beginning, and each has a least length; the first that fits counts.
"""

from __future__ import annotations

from slurmsim.commands.sreport.report import number
from slurmsim.commands.text.dashed_table import DATE, NUMBER, TEXT, Head
from slurmsim.release_changes import since
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.commands.sreport.report import Report

# names with least lengths | heading | width, and that beside percentages | what is printed | first release
_CLUSTER = """
Accounts:2 | Account | 15 | account
allocated:2 | Allocated | 12 20 | allocated
Cluster:2 | Cluster | 9 | cluster
down:1 | Down | 10 18 | down
idle:1 | Idle | 12 20 | idle
Login:1 | Login | 9 | login
overcommitted:1 | Over Comm | 9 18 | over
{planned}
Proper:2 | Proper Name | 15 | proper
QOS:1 | QOS | 12 | qos | 24.11
QOSID:4 | QOS ID | 8 | qosid | 24.11
{reported}
TresCount:5 cpucount:2 count:2 | TRES Count | 10 | count
TresName:5 | TRES Name | 14 | tres
Used:1 | Used | 10 18 | used
WCKey:2 | WCKey | 15 | wckey
Energy:1 | Energy | 10 18 | energy
"""
_PLANNED = {
    "22.05": "PlannedDown:2 PLNDDown:2 | PLND Down | 10 18 | planned_down",
    "24.11": "planned:2 reserved:3 | Planned | 9 18 | planned\n"
             "PlannedDown:2 PLNDDown:2 | PLND Down | 10 18 | planned_down",
}  # fmt: skip
_REPORTED = {
    "22.05": "reported:3 | Reported | 12 20 | reported\nreserved:3 planned:4 | Planned | 9 18 | planned",
    "24.11": "reported:3 | Reported | 12 20 | reported",
}
_JOB = """
Account:1 Acct:4 | Account | 9 | name
Cluster:2 | Cluster | 9 | cluster
Duration:1 | Duration | 12 | none
JobCount:2 | Job Count | 9 | none
NodeCount:2 | Node Count | 9 | none
TresCount:5 CpuCount:2 count:2 | TRES Count | 10 | none
User:1 | User | 9 | none
Wckey:1 | Wckey | 9 | name
"""
_RESERVATION = """
allocated:2 | Allocated | 20 29 | allocated
Associations:2 | Associations | 15 | associations
Cluster:2 | Cluster | 9 | cluster
End:2 | End | 19 | end
Flags:2 | Flags | 20 | flags
Idle:1 | Idle | 20 29 | idle
Name:2 | Name | 9 | name
Nodes:2 | Nodes | 15 | nodes
ReservationId:2 | Id | 8 | id
Start:2 | Start | 19 | start
TotalTime:2 | TotalTime | 9 | total
TresCount:5 CpuCount:2 count:2 | TRES count | 10 | count
TresName:5 | TRES Name | 14 | tres
TresTime:2 CpuTime:5 | TRES Time | 9 | time
"""
_USER = """
Accounts:1 | Account | 15 | account
Cluster:1 | Cluster | 9 | cluster
Energy:1 | Energy | 10 18 | energy
Login:1 | Login | 9 | login
Partition:2 | Partition | 15 | partition | 26.05
{proper} | Proper Name | 15 | proper
TresName:5 | TRES Name | 14 | tres
Used:1 | Used | 10 18 | used
"""
_PROPER = {"22.05": "Proper:1", "26.05": "Proper:2"}
_KINDS = {"cluster": _CLUSTER, "job": _JOB, "reservation": _RESERVATION, "user": _USER}
_NUMBERS = ("count", "id", "qosid", "total", "time")
_AMOUNTS = ("allocated", "down", "idle", "over", "planned", "planned_down", "reported", "used", "energy")


def chosen(report: Report, kind: str, default: str, *, tree: bool = False) -> list[tuple[str, Head]]:
    """Return what each column prints, and its head: those of ``format=``, else of `default`. What is wrong is said."""
    found: list[tuple[str, Head]] = []
    text = _KINDS[kind].format(
        planned=row(_PLANNED, report.release), reported=row(_REPORTED, report.release),
        proper=row(_PROPER, report.release),
    )  # fmt: skip
    rows = [[part.strip() for part in one.split("|")] for one in text.strip().splitlines()]
    for word in report.words.get("format") or default.lower().split(","):
        name, _, width = word.partition("%")
        column = next((one for one in rows if _fits(name, one[0]) and (one[4:] or [""])[0] <= report.release), None)
        if column is None:
            report.wrong(f" Unknown field '{name}'")
            continue
        what, widths = column[3], [int(part) for part in column[2].split()]
        wide = widths[-1] if report.per else widths[0]
        if what == "account" and tree:
            wide = -20
        elif what == "wckey" and tree:
            wide = 20
        found.append((what, Head(column[1], number(width) or wide, _kind(what, report.release))))
    return found


def _fits(name: str, names: str) -> bool:
    for entry in names.split():
        full, _, least = entry.partition(":")
        if len(name) >= int(least) and full.lower().startswith(name):
            return True
    return False


def _kind(what: str, release: str) -> str:
    if what in ("start", "end"):
        return DATE
    if what in _NUMBERS or (what in _AMOUNTS and not since(release, "amounts_cut")):
        return NUMBER
    return TEXT


def set_width(columns: Sequence[tuple[str, Head]], widths: dict[str, int]) -> list[tuple[str, Head]]:
    """Return the columns with these widths of amounts, whatever ``format=`` asked for."""
    return [(what, head._replace(width=widths[what]) if what in widths else head) for what, head in columns]
