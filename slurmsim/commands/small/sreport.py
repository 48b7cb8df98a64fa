"""sreport: how the cluster was used, of the hours slurmdbd has summed up.

Mirrors sreport 22.05: ``cluster Utilization``, ``AccountUtilizationByUser``, ``UserUtilizationByAccount``,
``user TopUsage`` and ``job SizesByAccount``. Other reports are refused by name.
"""

from __future__ import annotations

import time

from slurmsim import releases
from slurmsim.commands.text.dashed_table import ENDING, NO_ENDING, NUMBER, PADDED, TEXT, Head, Style, heading, line
from slurmsim.commands.text.database_away import database_away
from slurmsim.commands.text.dates import BadDate, parse_date
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import NO, REQUIRED, Parser, options
from slurmsim.commands.text.release import release_of
from slurmsim.fast_imports import dataclass, field
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from slurmsim.commands.io import Io

    Share = tuple[str, str | None, Mapping[str, int]]
_OPTIONS = options(
    ("all_clusters", NO, "a"), ("cluster", REQUIRED, "M"), ("help", NO, "h"), ("immediate", NO, "i"),
    ("local", NO, "local"), ("noheader", NO, "n"), ("parsable", NO, "p"), ("parsable2", NO, "P"),
    ("quiet", NO, "Q"), ("tres", REQUIRED, "T"), ("usage", NO, "h"), ("verbose", NO, "v"),
    ("version", NO, "V"), ("time", REQUIRED, "t"),
)  # fmt: skip
_HELP = """\
sreport [OPTIONS] [REPORT [CONDITION=VALUE...]]
  -n, -p, -P            without heading; cells separated by |
  -t FORMAT             Seconds, Minutes, Hours, Percent, SecPer, MinPer or HourPer
  -T TRES,...           which TRES, cpu by default; ALL
Reports: cluster Utilization | AccountUtilizationByUser | UserUtilizationByAccount, user TopUsage, job SizesByAccount
Conditions: Start, End, Accounts, Users, Format, TopCount, Grouping
"""
_RULE = "-" * 80
_TIMES = {"seconds": "Seconds", "secper": "Seconds/Percentage of Total", "minutes": "Minutes",
          "minper": "Minutes/Percentage of Total", "hours": "Hours", "hourper": "Hours/Percentage of Total",
          "percent": "Percentage of Total"}  # fmt: skip
_HOUR = 3600
_PLANNED_DOWN = {"22.05": "PLND Down", "24.11": "Planned", "26.05": "PLND Down"}
_JOB_SIZES = (50, 250, 500, 1000)


@dataclass
class Report:
    """What is asked for."""

    io: Io
    release: str
    style: Style = field(default_factory=Style)
    time: str = "minutes"
    tres: list[str] = field(default_factory=lambda: ["cpu"])
    tres_given: bool = False
    start: int = 0
    end: int = 0
    accounts: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    top: int = 10
    lines: list[str] = field(default_factory=list)
    now: int = 0

    @property
    def usage_of(self) -> str:
        """What the usage is counted in."""
        kinds = "TRES" if self.tres_given else "CPU"
        return _TIMES[self.time] if self.time == "percent" else f"{kinds} {_TIMES[self.time]}"

    def amount(self, seconds: int, total: int) -> str:
        """Usage in the unit that was asked for."""
        percent = f"{100 * seconds / (total or 1):.2f}%"
        unit = {"s": 1, "m": 60, "h": 3600}.get(self.time[0], 1)
        if self.time == "percent":
            return percent
        text = f"{seconds / unit:.0f}"
        return f"{text}({percent})" if self.time.endswith("per") else text

    def width(self, seconds: int) -> int:
        """Of a usage column."""
        return max(8, len(self.amount(seconds, seconds)))

    def title(self, name: str, *, seconds: bool = True, usage: str = "") -> None:
        """Print the lines above the table."""
        if not self.style.header:
            return
        dates = " - ".join(time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at)) for at in (self.start, self.end - 1))
        more = f" ({self.end - self.start} secs)" if seconds else ""
        self.lines += [_RULE, f"{name} {dates}{more}", usage or f"Usage reported in {self.usage_of}", _RULE]

    def table(self, heads: list[Head], rows: list[list[str | None]]) -> None:
        """Print all."""
        above = "".join(text + "\n" for text in self.lines)
        self.io.out(above + heading(heads, self.style) + "".join(line(heads, row, self.style) for row in rows))


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sreport call in the world `io`; the exit code."""
    report, words = _read(argv, io)
    make = _find(words, io)
    try:
        report.now = int(io.client.call("ping")["now"])
        _conditions(report, words[2:])
        _period(report)
        found = io.client.call("usage", start=report.start, end=report.end)
    except Unreachable as error:
        io.error(database_away("sreport", error, "fatal: Problem connecting to the database: {}"))
        return 1
    except Refusal as error:
        text = error.text
        io.error(f"sreport: error: {text}" if "disabled" not in text else
                 "You are not running a supported accounting_storage plugin\n"
                 "Only 'accounting_storage/slurmdbd' is supported.")  # fmt: skip
        return 1
    make(report, found)
    return 0


def _read(argv: list[str], io: Io) -> tuple[Report, list[str]]:
    release = release_of(io)
    report = Report(io, release)
    parsable, header = PADDED, True
    parser = Parser(_OPTIONS, permute=True)
    for key, value in parser.parse_for("sreport", argv, io):
        if key in ("h", "V"):
            io.out(_HELP if key == "h" else releases.version_line(release) + "\n")
            raise Stop(0)
        if key in ("p", "P"):
            parsable = ENDING if key == "p" else NO_ENDING
        elif key == "n":
            header = False
        elif key == "t":
            report.time = _time_format(value or "", io)
        elif key == "T":
            named = [word.lower() for word in (value or "").split(",") if word]
            report.tres = ["cpu", "mem", "node", "billing"] if named == ["all"] else named
            report.tres_given = True
    report.style = Style(parsable, "|", header)
    return report, parser.rest


def _time_format(text: str, io: Io) -> str:
    for name in ("secper", "seconds", "minper", "minutes", "hourper", "hours", "percent"):
        if text and name.startswith(text.lower()):
            return name
    io.error(f"unknown time format {text}")
    raise Stop(1)


def _find(words: list[str], io: Io) -> Callable[[Report, Mapping[str, Any]], None]:
    kind = next((name for name in _REPORTS if words and name.startswith(words[0].lower())), "")
    if not kind:
        io.error("no input" if not words else f"invalid keyword: {words[0]}")
        raise Stop(1)
    asked = words[1].lower() if len(words) > 1 else ""
    for name, make in _REPORTS[kind].items():
        if asked and name.lower().startswith(asked):
            return make
    io.error(f"Not valid report {words[1] if asked else '(null)'}")
    io.error(f"Valid {kind} reports are, " + ", ".join(f'"{name}"' for name in _REPORTS[kind]))
    raise Stop(1)


def _conditions(report: Report, words: list[str]) -> None:
    for word in words:
        key, _, value = word.partition("=")
        short, now = key.lower().rstrip("+-"), report.now
        try:
            if short and "start".startswith(short):
                report.start = parse_date(value, now, past=True)
            elif short and "end".startswith(short):
                report.end = min(parse_date(value, now, past=True), now)  # sanity_check_endtime
            elif short and "accounts".startswith(short):
                report.accounts = [name.lower() for name in value.split(",") if name]
            elif short and "users".startswith(short):
                report.users = [name for name in value.split(",") if name]
            elif len(short) > 1 and "topcount".startswith(short):
                report.top = int(value)
            elif short and ("clusters".startswith(short) or "format".startswith(short) or "tree".startswith(short)):
                continue
            else:
                raise ValueError(word)
        except BadDate as error:  # said, and the default stays
            report.io.error(error.line)
        except ValueError:
            report.io.error(f" Unknown condition: {word}\nUse keyword set to modify value")
            raise Stop(1) from None


def _period(report: Report) -> None:
    """Whole hours: yesterday, unless dates are given. An end that is rounded up takes an hour of today in."""
    now = report.now
    local = time.localtime(now)
    begun = since(report.release, "hours_begun")
    today = now - local.tm_hour * _HOUR - local.tm_min * 60 - local.tm_sec
    end = today + (_HOUR if begun and (local.tm_min or local.tm_sec) else 0)
    if report.end:
        end = (report.end + (_HOUR - 1 if begun else _HOUR // 2)) // _HOUR * _HOUR
    start = today - 24 * _HOUR
    if report.start:
        start = (report.start + (0 if begun else _HOUR // 2)) // _HOUR * _HOUR
    report.start, report.end = start, max(end, start + _HOUR)


# -- reports ----------------------------------------------------------------------------------------------------


def _utilization(report: Report, found: Mapping[str, Any]) -> None:
    cluster = found["cluster"]
    width = report.width(max((sums[4] for sums in cluster.values()), default=0))
    heads = [Head("Cluster", 9)] + ([Head("TRES Name", 14)] if report.tres_given else [])
    planned_down = releases.row(_PLANNED_DOWN, report.release)
    names = ["Allocated", "Down", planned_down, "Idle", "Planned", "Reported"]
    heads += [Head(name[:width], width, NUMBER) for name in names]
    rows: list[list[str | None]] = []
    for tres in report.tres:
        if tres not in cluster:
            continue
        busy, down, idle, planned, total = cluster[tres]
        second = planned if planned_down == "Planned" else 0
        cells = [report.amount(each, total) for each in (busy, down, second, idle, planned, total)]
        rows.append([found["name"], *([tres] if report.tres_given else []), *cells])
    report.title("Cluster Utilization", seconds=False)
    report.table(heads, rows)


def _chosen(report: Report, found: Mapping[str, Any]) -> list[Share]:
    return [
        (account, user, tres) for account, user, tres in found["associations"]
        if (not report.accounts or account in report.accounts)
        and (user is None or not report.users or user in report.users)
    ]  # fmt: skip


def _by_person(
    report: Report, found: Mapping[str, Any], title: str, columns: tuple[str, ...], shares: list[Share]
) -> None:
    """Print a row for each share and TRES: the columns named, then how much was used."""
    total = {name: sums[4] for name, sums in found["cluster"].items()}
    width = report.width(max((used for *_, tres in shares for used in tres.values()), default=0))
    widths = {"Cluster": 9, "Login": 9, "Proper Name": 15, "Account": 15}
    heads = [Head(name, widths[name], TEXT) for name in columns]
    heads += [Head("TRES Name", 14)] if report.tres_given else []
    heads += [Head("Used", width, NUMBER)] + ([] if report.tres_given else [Head("Energy", width, NUMBER)])
    rows: list[list[str | None]] = []
    for account, user, tres in shares:
        cells = {"Cluster": found["name"], "Login": user, "Proper Name": user, "Account": account}
        for name in report.tres:
            used = report.amount(tres.get(name, 0), total.get(name, 0))
            more = [name, used] if report.tres_given else [used, report.amount(0, 1)]
            rows.append([*(cells[column] for column in columns), *more])
    report.title(title)
    report.table(heads, rows)


def _account_by_user(report: Report, found: Mapping[str, Any]) -> None:
    shares = sorted(
        _chosen(report, found), key=lambda one: (one[0] != "root", one[0], one[1] is not None, one[1] or "")
    )
    _by_person(
        report, found, "Cluster/Account/User Utilization", ("Cluster", "Account", "Login", "Proper Name"), shares
    )


def _user_by_account(report: Report, found: Mapping[str, Any]) -> None:
    shares = [one for one in _chosen(report, found) if one[1] is not None]
    shares.sort(key=lambda one: -one[2].get(report.tres[0], 0))
    _by_person(
        report, found, "Cluster/User/Account Utilization", ("Cluster", "Login", "Proper Name", "Account"), shares
    )


def _top(report: Report, found: Mapping[str, Any]) -> None:
    shares = [one for one in _chosen(report, found) if one[1] is not None]
    shares.sort(key=lambda one: -one[2].get(report.tres[0], 0))
    columns = ("Cluster", "Login", "Proper Name", "Account")
    _by_person(report, found, f"Top {report.top} Users", columns, shares[: report.top])


def _sizes(report: Report, found: Mapping[str, Any]) -> None:
    tres, bounds = report.tres[0], _JOB_SIZES
    label = "CPUs" if tres == "cpu" else f"{tres.upper()}s"
    names = [f"{low}-{high - 1} {label}" for low, high in zip((0, *bounds), bounds, strict=False)]
    names.append(f">= {bounds[-1]} {label}")
    sums: dict[str, list[int]] = {}
    for account, counts, seconds in found["jobs"]:
        if not report.accounts or account in report.accounts:
            count = counts.get(tres, 0)
            sums.setdefault(account, [0] * len(names))[sum(count >= bound for bound in bounds)] += count * seconds
    total = sum(map(sum, sums.values()))
    heads = [Head("Cluster", 9), Head("Account", 9), *(Head(name, 13, NUMBER) for name in names),
             Head("% of cluster", 12, NUMBER)]  # fmt: skip
    rows: list[list[str | None]] = [
        [found["name"], account, *(report.amount(one, sum(groups)) for one in groups),
         f"{100 * sum(groups) / (total or 1):.2f}%"]
        for account, groups in sorted(sums.items())
    ]  # fmt: skip
    report.title("Job Sizes", usage=f"Time reported in {_TIMES[report.time]}")
    report.table(heads, rows)


_REPORTS: dict[str, dict[str, Callable[[Report, Mapping[str, Any]], None]]] = {
    "cluster": {
        "AccountUtilizationByUser": _account_by_user, "UserUtilizationByAccount": _user_by_account,
        "Utilization": _utilization,
    },
    "user": {"TopUsage": _top},
    "job": {"SizesByAccount": _sizes},
}  # fmt: skip
