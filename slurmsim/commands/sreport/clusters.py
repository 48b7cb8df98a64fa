"""Reports of the cluster: how it was used as a whole, and by accounts, users, QOS and WCKeys; and of users: the top."""

from __future__ import annotations

from slurmsim.commands.small.sshare import tree_name
from slurmsim.commands.sreport import conditions
from slurmsim.commands.sreport.columns import chosen, set_width
from slurmsim.commands.sreport.report import INFINITE, by_usage, sorted_as_qsort
from slurmsim.release_changes import since
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from slurmsim.commands.sreport.report import Report

    Sums = Mapping[str, int]
    Column = tuple[str, Any]

_UTILIZATION = {"22.05": "PLNDDown", "24.11": "planned", "26.05": "PLNDDown"}
_ORDER = ("allocated", "down", "planned_down", "idle", "over", "planned")


def utilization(report: Report, words: list[str]) -> None:
    """Report what was allocated, down, idle and waited for."""
    if "node" in report.tres and report.tres_text is not None and report.tres_text.lower() != "all":
        raise report.fatal("TRES node usage is no longer reported in the Cluster Utilization report.  "
                           "Please use TRES CPU instead.")  # fmt: skip
    conditions.read(report, "cluster", words)
    found = report.ask("cluster")
    names = "" if report.tres_text is None else "TresName,"
    columns = chosen(report, "cluster", f"Cl,{names}al,d,{row(_UTILIZATION, report.release)},i,res,rep")
    known: dict[str, list[int]] = {}
    if report.here(found):
        known = {name: sums for name, *sums in found["cluster"] if name in report.tres}
    most = {what: max([sums[at] for sums in known.values()], default=0) for at, what in enumerate(_ORDER, 1)}
    most["reported"] = max([_reported(sums) for sums in known.values()], default=0)
    most["energy"] = most["allocated"]
    columns = set_width(columns, {what: report.width(seconds) for what, seconds in most.items()})
    report.title("Cluster Utilization", seconds=False)
    rows = [_utilization_row(report, columns, found["name"], name, known[name])
            for name in report.tres if name in known]  # fmt: skip
    report.table([head for _, head in columns], rows)


def _reported(sums: Sequence[int]) -> int:
    """Return all seconds told of; what was over-committed is not among them."""
    return sums[1] + sums[2] + sums[3] + sums[4] + sums[6]


def _utilization_row(
    report: Report, columns: Sequence[Column], cluster: str, tres: str, sums: Sequence[int]
) -> list[str | None]:
    total = _reported(sums)
    cells: dict[str, str] = {"cluster": cluster, "tres": tres, "count": str(sums[0])}
    cells |= {what: report.amount(sums[at], total) for at, what in enumerate(_ORDER, 1)}
    whole = sums[0] * (report.end - report.start)
    cells["reported"] = report.amount(total, total if tres == "energy" and not sums[0] else whole)
    cells["energy"] = report.amount(0, 0)
    return [cells.get(what) for what, _ in columns]


# -- by account, user, QOS and WCKey ---------------------------------------------------------------------------------


def account_by_user(report: Report, words: list[str]) -> None:
    """Report the usage of each account and its users, down the tree."""
    _by_account(report, words, "associations", "Cluster/Account/User Utilization", "Login,Proper,")


def account_by_qos(report: Report, words: list[str]) -> None:
    """Report the usage of each account in each QOS."""
    _by_account(report, words, "qos", "Cluster/Account/QOS Utilization", "QOS,")


def _by_account(report: Report, words: list[str], kind: str, title: str, who: str) -> None:
    conditions.read(report, "association", words)
    tree = "tree" in report.flags
    columns = _columns(report, f"Cluster,Ac,{who}", tree=tree)
    found = report.ask(kind)
    rows = []
    if report.here(found):
        rows = [one for one in found[kind] if _meant(report, one, found[kind], below=True)]
    seen: list[tuple[str, str, str]] = []

    def account(one: Any) -> str:
        name, user, parent = one[0], one[1] if kind == "associations" else None, one[2]
        if not tree:
            return str(name)
        return tree_name(f"|{name}" if user else name, name, name if user else parent, seen)

    cells: dict[str, Callable[[Any], str | None]] = {"account": account}
    if kind == "associations":
        cells |= {"login": lambda one: one[1], "proper": lambda one: proper_name(one[1])}
    else:
        cells |= {"qos": lambda one: one[1], "qosid": lambda one: str(one[3])}
    _print(report, found, columns, rows, cells, title)


def _meant(report: Report, one: Sequence[Any], rows: Sequence[Any], *, below: bool) -> bool:
    """Return True if a row is of an account and a user that were asked for; `below`: or of an account in one."""
    accounts, users = report.words.get("accounts"), report.words.get("users")
    if users and one[1] not in users:
        return False
    if not accounts:
        return True
    above = {row[0]: row[2] for row in rows if row[2] is not None and row[2] != row[0]}
    account: str | None = one[0]
    while account is not None:
        if account in accounts:
            return True
        account = above.get(account) if below else None
    return False


def user_by_account(report: Report, words: list[str]) -> None:
    """Report the usage of each user in each account, the largest first."""
    conditions.read(report, "association", words)
    columns = _columns(report, "Cluster,Login,Proper,Ac,", tree="tree" in report.flags)
    found = report.ask("associations")
    rows = [(one[1], one[0], one[-1]) for one in found["associations"]
            if one[1] and _meant(report, one, found["associations"], below=False)]  # fmt: skip
    rows = sorted_as_qsort(rows if report.here(found) else [], by_usage(report, "cpu"))
    _print(report, found, columns, rows, _OF_USERS, "Cluster/User/Account Utilization")


def user_by_wckey(report: Report, words: list[str]) -> None:
    """Report the usage of each user with each WCKey, the largest first."""
    conditions.read(report, "wckey", words)
    columns = _columns(report, "Cluster,Login,Proper,WCKey,", energy=False)
    found = report.ask("wckeys")
    rows = sorted_as_qsort([(user, key, used) for key, user, used in _wckeys(report, found)], by_usage(report, "cpu"))
    _print(report, found, columns, rows, _OF_USERS | {"wckey": lambda one: one[1]}, "Cluster/User/WCKey Utilization")


def wckey_by_user(report: Report, words: list[str]) -> None:
    """Report the usage of each WCKey and its users."""
    conditions.read(report, "wckey", words)
    columns = _columns(report, "Cluster,WCKey,Login,Proper,", energy=False)
    found = report.ask("wckeys")
    rows: list[Any] = []
    for key in dict.fromkeys(key for key, *_ in _wckeys(report, found)):
        mine = [(name, user, used) for name, user, used in _wckeys(report, found) if name == key]
        total: dict[str, int] = {}
        for *_, used in mine:
            for tres, seconds in used.items():
                total[tres] = total.get(tres, 0) + seconds
        rows += [(key, None, total), *mine]
    cells: dict[str, Callable[[Any], str | None]] = {
        "wckey": lambda one: one[0], "login": lambda one: one[1], "proper": lambda one: proper_name(one[1]),
    }  # fmt: skip
    _print(report, found, columns, rows, cells, "Cluster/WCKey/User Utilization")


def _wckeys(report: Report, found: Mapping[str, Any]) -> list[Any]:
    keys, users = report.words.get("wckeys"), report.words.get("users")
    rows = found["wckeys"] if report.here(found) else []
    return [one for one in rows if (not keys or one[0] in keys) and (not users or one[1] in users)]


def top_usage(report: Report, words: list[str]) -> None:
    """Report the users who used most, each account of theirs by itself unless they are grouped."""
    conditions.read(report, "user", words)
    found = report.ask("associations", by_user=True)
    columns = _columns(report, "Cl,L,Pr,A,", kind="user", short=True)
    mine = [one for one in found["associations"]
            if one[1] and _meant(report, one, found["associations"], below=False)]  # fmt: skip
    rows = [(user, account, used) for account, user, _, _, used in sorted(mine, key=lambda one: (one[1], one[3]))]
    if "group" in report.flags:
        rows = _grouped(rows)
    rows = sorted_as_qsort(rows if report.here(found) else [], by_usage(report, "cpu"))
    rows = sorted_as_qsort(rows, by_usage(report, report.tres[0]))
    top = int(report.words.get("topcount", ["10"])[0])
    shown = "ALL" if top == INFINITE and since(report.release, "usage_by_qos") else str(top)
    _print(report, found, columns, rows, _OF_USERS, f"Top {shown} Users", limit=max(top, 1))


def _grouped(rows: Sequence[tuple[str, str, Sums]]) -> list[tuple[str, str, Sums]]:
    found: dict[str, tuple[list[str], dict[str, int]]] = {}
    for user, account, used in rows:
        accounts, sums = found.setdefault(user, ([], {}))
        if account not in accounts:
            accounts.append(account)
        for tres, seconds in used.items():
            sums[tres] = sums.get(tres, 0) + seconds
    return [(user, ", ".join(accounts), sums) for user, (accounts, sums) in found.items()]


def _columns(
    report: Report, who: str, *, kind: str = "cluster", tree: bool = False, energy: bool = True, short: bool = False
) -> list[Column]:
    used = "U" if short and report.tres_text is None else "Used"
    more = f"TresName,{used}" if report.tres_text is not None else f"{used},Energy" if energy else used
    return chosen(report, kind, who + more, tree=tree)


def proper_name(user: str | None) -> str | None:
    """Return the full name of a user as this machine knows it; None of one it does not know."""
    if not user:
        return None
    import pwd

    try:
        return pwd.getpwnam(user).pw_gecos.split(",")[0]
    except KeyError:
        return None


_OF_USERS: dict[str, Callable[[Any], str | None]] = {
    "account": lambda one: one[1],
    "login": lambda one: one[0],
    "proper": lambda one: proper_name(one[0]),
}


def _print(
    report: Report, found: Mapping[str, Any], columns: Sequence[Column], rows: Sequence[Any],
    cells: Mapping[str, Callable[[Any], str | None]], title: str, limit: int = 1 << 40,
) -> None:  # fmt: skip
    """Print a row for each of `rows` and each TRES; the last value of a row is its usage."""
    total: Sums = found["total"]
    first: Sums = rows[0][-1] if rows else total
    energy = any(what == "energy" for what, _ in columns)
    most = max([first.get(name, 0) for name in (("cpu",) if energy else report.tres)], default=0)
    widths = {"used": report.width(most), "energy": report.width(0)}
    columns = set_width(columns, widths)
    report.title(title)
    table: list[list[str | None]] = []
    for one in rows[:limit]:
        for tres in report.tres:
            shown = {what: cells[what](one) for what, _ in columns if what in cells}
            shown |= {"cluster": found["name"], "tres": tres, "energy": report.amount(0, 0),
                      "used": report.amount(one[-1].get(tres, 0), total.get(tres, 0))}  # fmt: skip
            table.append([shown.get(what) for what, _ in columns])
    report.table([head for _, head in columns], table)
