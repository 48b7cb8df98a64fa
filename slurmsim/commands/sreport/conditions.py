"""The words behind a report: which each kind of report knows, and what they ask for.

A word is known by its beginning, and each has a least length. Words without ``=`` are flags; any other is a name of
what the kind of report is mostly about.
"""

from __future__ import annotations

from slurmsim.commands.sreport.report import INFINITE, number
from slurmsim.commands.text.dates import BadDate, parse_date
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmsim.commands.sreport.report import Report

_FLAGS = {
    "association": "all_clusters:1 Tree:4", "wckey": "all_clusters:1 withdeleted:5", "cluster": "all_clusters:1",
    "job": "all_clusters:1 AcctAsParent:2 PrintJobCount:2 FlatView:2", "reservation": "all_clusters:1",
    "user": "all_clusters:1 group:1",
}  # fmt: skip
_KEYS = {
    "association": "Users:1 Accounts:2 Acct:4 Clusters:1 End:1 Format:1 QosLevel:1 Start:1",
    "wckey": "WCKeys:3 Clusters:3 End:1 Format:1 Start:1 User:1",
    "cluster": "Clusters:1 End:1 Format:1 Start:1",
    "job": "Clusters:1 Accounts:2 Acct:4 Associations:2 End:1 Format:2 Gid:2 grouping:2 Jobs:1 Nodes:1 Partitions:2 "
           "Start:1 Users:1 Wckeys:2",
    "reservation": "Names:1 Clusters:1 End:1 Flags:2 Format:2 Ids:1 Nodes:1 Start:1",
    "user": "Users:1 Accounts:2 Acct:4 Clusters:1 End:1 Format:1 Start:1 TopCount:1",
}  # fmt: skip
_ONE_WORD = {"acct": "accounts", "user": "users"}


def read(report: Report, kind: str, words: Iterable[str]) -> None:
    """Take the words of a report of `kind` in; what is wrong is said, and the rest holds."""
    report.words, report.flags, report.start, report.end = {}, set(), 0, 0
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            flag = _known(key, _FLAGS[kind], report.release)
            if flag:
                report.flags.add(flag)
                continue
            key, value = _KEYS[kind].partition(":")[0], word
        name = _known(key, _KEYS[kind], report.release)
        if not name:
            unknown = f" Unknown condition: {word}"
            report.wrong(unknown if kind == "wckey" else f"{unknown}\nUse keyword set to modify value")
            continue
        if equals and kind in ("association", "wckey", "cluster", "reservation"):
            value = value.removeprefix("=")
        _take(report, kind, name, value)
    if "all_clusters" in report.flags:
        report.words.pop("clusters", None)
    report.set_period()


def _known(key: str, listed: str, release: str) -> str:
    for entry in listed.split():
        name, _, least = entry.partition(":")
        there = name != "QosLevel" or since(release, "usage_by_qos")
        if there and len(key) >= int(least) and name.lower().startswith(key.lower()):
            return _ONE_WORD.get(name.lower(), name.lower())
    return ""


def _take(report: Report, kind: str, name: str, value: str) -> None:
    if name in ("start", "end"):
        try:
            at = parse_date(value, report.now, past=True)
        except BadDate as error:  # said, and the default stays
            report.io.error(error.line)
            return
        setattr(report, name, min(at, report.now) if name == "end" else at)
    elif name == "topcount":
        _take_top(report, value)
    elif name == "grouping" and value[:1].lower() == "i":
        report.flags.add("individual")
    elif name == "jobs":
        report.words.setdefault(name, []).extend(value.split(",")[:-1])  # the last is lost, as in Slurm
    elif name == "nodes":
        if name in report.words:
            report.wrong(f"sreport: error: You already specified nodes '{report.words[name][0]}'  combine your "
                         "request into 1 nodes=.")  # fmt: skip
        else:
            report.words[name] = [value]
    else:
        kept = report.words.setdefault(name, [])
        for text in _listed(value):
            if text not in kept:
                kept.append(text)


def _listed(value: str) -> list[str]:
    """Return the words of a list, in small letters; an empty one is a word of its own."""
    return [word.lower() for word in value.strip("\"'").split(",") if word] or [""]


def _take_top(report: Report, value: str) -> None:
    text = value.strip("\"'")
    count = number(text)
    if not count and text.lstrip("+-")[:1] not in "0123456789":
        report.wrong(f"sreport: error: Invalid value for TopCount ({text})")
        return
    report.words["topcount"] = [str(INFINITE if count < 0 else count)]
