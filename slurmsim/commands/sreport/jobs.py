"""Reports of jobs by their size: how much jobs of so many CPUs used, by account, WCKey, or both."""

from __future__ import annotations

from slurmsim.commands.sreport import conditions
from slurmsim.commands.sreport.columns import chosen
from slurmsim.commands.sreport.report import TIMES, number
from slurmsim.commands.text.dashed_table import NUMBER, TEXT, Head
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from slurmsim.commands.sreport.report import Report

_SIZES = ["50", "250", "500", "1000"]
_MOST = 0xFFFFFFFF


class _Group:
    """The jobs of one account or WCKey: how many and how much, by size."""

    def __init__(self, name: str, sizes: int) -> None:
        self.name = name
        self.counts = [0] * sizes
        self.used = [0] * sizes


def sizes_by_account(report: Report, words: list[str]) -> None:
    """Report sizes of the jobs of each account; all of them in one line unless some are named."""
    _run(report, words, "account")


def sizes_by_wckey(report: Report, words: list[str]) -> None:
    """Report sizes of the jobs with each WCKey."""
    _run(report, words, "wckey")


def sizes_by_account_and_wckey(report: Report, words: list[str]) -> None:
    """Report sizes of the jobs of each account with each WCKey."""
    _run(report, words, "both")


def _run(report: Report, words: list[str], kind: str) -> None:
    conditions.read(report, "job", words)
    flat = "flatview" in report.flags and kind != "wckey"
    found = report.ask("jobs", cond=_condition(report, flat))
    if len(report.tres) > 1:
        report.wrong(" Job report only supports a single --tres type.\n"
                     " Generate a separate report for each TRES type.")  # fmt: skip
        return
    jobs = [job for job in found["jobs"] if report.here(found)]
    sizes, bounds = _sizes(report, jobs)
    columns = chosen(report, "job", {"account": "Cl,a", "wckey": "Cl,wc", "both": "Cl,a%-20"}[kind])
    if not sizes:
        report.wrong(" We need a grouping list to set up the print.")
        return
    of_release = _groups_asked(report, found, kind, flat)
    groups = _counted(report, jobs, kind, of_release, bounds)
    more = [] if report.tres_text is None else [f"TRES type is {report.tres_text.split(',')[0]}"]
    count = "printjobcount" in report.flags
    more.append("Units are in number of jobs ran" if count else f"Time reported in {TIMES[report.time]}")
    report.title(f"Job Sizes {'by Wckey ' if kind == 'wckey' else ''}".rstrip(), *more)
    heads = [head for _, head in columns] + _heads(report, sizes, count=count)
    total = sum(sum(group.counts if count else group.used) for group in groups)
    report.table(heads, [_row(report, columns, found["name"], group, total, count=count) for group in groups])


def _condition(report: Report, flat: bool) -> dict[str, Any]:
    words = report.words
    cond: dict[str, Any] = {"partitions": words.get("partitions"), "wckeys": words.get("wckeys")}
    if flat:
        cond["accounts"] = words.get("accounts")
    if words.get("nodes"):
        cond["nodes"] = words["nodes"][0]
    if words.get("jobs"):
        cond["jobs"] = [[number(job), None] for job in words["jobs"]]
    for key, name in (("gids", "gid"), ("associations", "associations")):
        if words.get(name):
            cond[key] = [number(one) for one in words[name]]
    if words.get("users"):
        ids = report.io.client.call("users", names=words["users"])["uids"]
        for name, uid in zip(words["users"], ids, strict=True):
            if uid is None and not name.isdigit():
                report.wrong(f"sreport: error: Invalid user id: {name}")
        cond["uids"] = [int(name) if name.isdigit() else uid for name, uid in zip(words["users"], ids, strict=True)
                        if name.isdigit() or uid is not None]  # fmt: skip
    return {key: value for key, value in cond.items() if value}


def _sizes(report: Report, jobs: Sequence[Any]) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the sizes that columns are for, and the least and most CPUs of each column."""
    if "individual" in report.flags and not report.words.get("grouping"):
        counts = sorted({tres["cpu"] for *_, tres, _, _ in jobs if "cpu" in tres})
        return [str(count) for count in counts], [(count, count) for count in counts]
    sizes = report.words.get("grouping") or _SIZES
    low, bounds = 0, []
    for size in sizes:
        bounds.append((low, number(size) - 1))
        low = number(size)
    return sizes, [*bounds, (low, _MOST)] if low else bounds


def _heads(report: Report, sizes: Sequence[str], *, count: bool) -> list[Head]:
    unit = "CPUs" if (report.tres_text or "cpu").split(",")[0].lower() == "cpu" else "TRES"
    kind = NUMBER if count or not since(report.release, "amounts_cut") else TEXT
    low, heads = 0, []
    for size in sizes:
        many = number(size)
        name = f"{many} {unit}" if "individual" in report.flags else f"{low}-{(many - 1) % (1 << 32)} {unit}"
        heads.append(Head(name, number(size.partition("%")[2]) or (20 if report.per else 13), kind))
        low = many
    if low and "individual" not in report.flags:
        heads.append(heads[-1]._replace(name=f">= {low} {unit}"))
    if since(report.release, "total_count_of_jobs"):
        heads.append(Head("Total Count", 11))
    return [*heads, Head("% of cluster", 12, TEXT if since(report.release, "amounts_cut") else NUMBER)]


def _groups_asked(report: Report, found: Mapping[str, Any], kind: str, flat: bool) -> list[tuple[str, str]] | None:
    """Return the groups there may be, as account and WCKey, in the order they are tried; None: as jobs come."""
    if flat:
        return None
    used = dict.fromkeys(job[2] for job in found["jobs"])
    keys = [key for key in used if not report.words.get("wckeys") or key in report.words["wckeys"]]
    if kind == "wckey":
        return [("", key) for key in keys]
    wanted = report.words.get("accounts")
    if "acctasparent" in report.flags:
        parents = wanted or ["root"]
        accounts = [name for name, parent in found["accounts"] if parent in parents]
    else:
        accounts = [name for name, _ in found["accounts"] if not wanted or name in wanted]
    return [(name, key) for name in accounts for key in (keys if kind == "both" else [""])]


def _counted(
    report: Report, jobs: Sequence[Any], kind: str, asked: Sequence[tuple[str, str]] | None,
    bounds: Sequence[tuple[int, int]],
) -> list[_Group]:  # fmt: skip
    """Put jobs into groups and sizes; groups without jobs are left out."""
    groups: dict[tuple[str, str], _Group] = {}
    tres_name = report.tres[0]
    for account, path, wckey, tres, count, seconds in jobs:
        where = (account if kind != "wckey" else "", wckey if kind != "account" else "")
        if asked is not None:
            fits = (one for one in asked if (not one[0] or one[0] in path) and one[1] == where[1])
            where = next(fits, ("", ""))
            if where == ("", ""):
                continue
        group = groups.setdefault(where, _Group(":".join(part for part in where if part), len(bounds)))
        for at, (low, high) in enumerate(bounds):
            if "cpu" in tres and low <= tres["cpu"] <= high:
                group.counts[at] += count
                group.used[at] += tres.get(tres_name, 0) * seconds
    return [groups[where] for where in sorted(groups) if any(groups[where].counts)]


def _row(
    report: Report, columns: Sequence[Any], cluster: str, group: _Group, total: int, *, count: bool
) -> list[str | None]:
    cells: dict[str, str] = {"cluster": cluster, "name": group.name}
    amounts = group.counts if count else group.used
    mine = sum(amounts)
    row: list[str | None] = [cells.get(what) for what, _ in columns]
    row += [str(one) if count else report.amount(one, mine) for one in amounts]
    if since(report.release, "total_count_of_jobs"):
        row.append(str(mine) if count else report.amount(mine, 0))
    return [*row, f"{100 * (mine / (total or 1)):.2f}%"]
