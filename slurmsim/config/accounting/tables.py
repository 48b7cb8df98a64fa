"""Tables of ``sacctmgr show assoc|qos|user|account … -P`` (or ``-p``): a header, then a row a line, split at ``|``.

Columns may come in any order, also those of ``format=``; ``ParentName``, ``ParentID`` with ``ID``, or the indentation
of ``tree`` tells which account is part of which, and ``ID`` the order of creation.
"""

from __future__ import annotations

from slurmsim.config.accounting.draft import NO_QOS, ROOT, Draft, Item, Key, fail
from slurmsim.config.findings import Place
from slurmsim.numerals import is_number

_PLACES = {"cluster", "account", "user", "partition", "parentname", "parname", "id", "parentid", "name"}
_DEFAULT = ("defacct", "defaultaccount")
Row = tuple[int, dict[str, str]]


def header_of(line: str) -> list[str]:
    """Columns of a header in lower case without spaces; [] for a line that is none."""
    if "|" not in line:
        return []
    titles = [title.replace(" ", "").lower() for title in line.rstrip("\n").split("|")]
    return titles[:-1] if titles and not titles[-1] else titles


def read_table(text: str, file: str, draft: Draft, cluster: str) -> None:
    """Add what the table says to `draft`; of several clusters only `cluster`. Raises ConfigError."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    head, titles = lines[0], header_of(lines[0][1])
    raw_titles = [title.strip() for title in head[1].split("|")][: len(titles)]
    for title in titles:
        if titles.count(title) > 1:
            fail(Place(file, head[0]), title, "the column comes twice", "each once")
    rows: list[Row] = []
    for number, line in lines[1:]:
        cells = line.split("|")
        if len(cells) == len(titles) + 1 and not cells[-1].strip():
            cells.pop()
        if len(cells) != len(titles):
            fail(Place(file, number), "", f"{len(cells)} values", f"{len(titles)}, as the header has")
        rows.append((number, dict(zip(titles, cells, strict=True))))
    shown = dict(zip(titles, raw_titles, strict=True))
    if "account" in titles and ("share" in titles or "user" in titles or "parentname" in titles):
        _associations(rows, shown, file, draft, cluster)
    elif "user" in titles and any(title in titles for title in _DEFAULT):
        for number, row in rows:
            _default(row, Place(file, number), draft)
    elif "name" in titles:
        draft.implicit_qos = False
        for number, row in rows:
            place = Place(file, number)
            item = draft.add_qos(row["name"].strip().lower(), place)
            for title, value in row.items():
                if title != "name" and value.strip():
                    draft.set_qos(item, shown[title], value, place)
    elif titles[:1] != ["account"]:  # "show account" alone says nothing of use
        fail(Place(file, head[0]), "", f"no table of associations, QOS or users: columns {', '.join(raw_titles)}",
             "the output of sacctmgr show assoc -P or show qos -P")  # fmt: skip


def _default(row: dict[str, str], place: Place, draft: Draft) -> None:
    for title in _DEFAULT:
        if row.get(title, "").strip() and row.get("user", "").strip():
            draft.set_default(row["user"].strip(), row[title].strip(), place)


def _associations(rows: list[Row], shown: dict[str, str], file: str, draft: Draft, cluster: str) -> None:
    rows = _of_cluster(rows, file, draft, cluster)
    if "id" in shown:
        rows.sort(key=lambda item: _number(item[1]["id"], Place(file, item[0])))
    parents = _Parents(rows, shown)
    for number, row in rows:
        place = Place(file, number)
        account = row["account"].strip().lower()
        user = row.get("user", "").strip()
        key: Key = (account, user, row.get("partition", "").strip())
        if not account:
            fail(place, shown["account"], "no account is given", "the account of the association")
        parent = "" if user else parents.of(row, account, place, key == ROOT)
        item = draft.add(key, place, "" if key == ROOT else parent or ("root" if not user else ""))
        _fill(item, row, shown, place, draft)
        _default(row, place, draft)
    if parents.unknown:
        draft.report.warning(Place(file, 1), "ParentName", "", "the table does not say which account is part of which: "
                             "all are taken as children of root (use sacctmgr show assoc tree -P)")  # fmt: skip
    draft.open_root = draft.open_root or "qos" not in shown


class _Parents:
    """The parent of each account, by name, by id, or by how far the account is indented."""

    def __init__(self, rows: list[Row], shown: dict[str, str]) -> None:
        self._shown = shown
        self._by_id = {row["id"].strip(): row["account"].strip().lower() for _, row in rows if "id" in row}
        self._named = "parentname" in shown or "parname" in shown
        self._indented = any(row["account"].startswith(" ") for _, row in rows)
        self._above: list[str] = []  # accounts from the root down, by depth of indentation
        self.unknown = False  # True if there are accounts and the table tells the parent of none

    def of(self, row: dict[str, str], account: str, place: Place, is_root: bool) -> str:
        """Return the parent of an account; "" if the row does not tell. Rows come in the order of the table."""
        above = self._above
        depth = len(row["account"]) - len(row["account"].lstrip(" "))
        if depth > len(above):
            fail(place, self._shown["account"], f"indented by {depth} under an account indented by {len(above) - 1}",
                 "one blank more than the account above")  # fmt: skip
        above[depth:] = [account]
        if is_root:
            return ""
        self.unknown = not (self._named or self._indented or "parentid" in self._shown)
        if self._named:
            return (row.get("parentname") or row.get("parname") or "").strip().lower()
        if "parentid" in row and "id" in row:
            return self._by_id.get(row["parentid"].strip(), "")
        return above[depth - 1] if self._indented and depth else ""


def _fill(item: Item, row: dict[str, str], shown: dict[str, str], place: Place, draft: Draft) -> None:
    for title, value in row.items():
        if title in _PLACES or title in _DEFAULT:
            continue
        if value.strip() or title == "qos":
            draft.set_association(item, shown[title], value, place)
            if title == "qos" and not value.strip():
                item.values["qos"] = NO_QOS


def _of_cluster(rows: list[Row], file: str, draft: Draft, cluster: str) -> list[Row]:
    names = list(dict.fromkeys(row["cluster"].strip().lower() for _, row in rows if "cluster" in row))
    if len(names) == 1:
        draft.cluster = draft.cluster or names[0]
    if len(names) < 2:
        return rows
    wanted = cluster.lower()
    if wanted not in names:
        fail(Place(file, 1), "Cluster", f"associations of {', '.join(names)}, none of {cluster or 'a named cluster'}",
             "ClusterName to be one of them")  # fmt: skip
    draft.cluster = wanted
    return [item for item in rows if item[1]["cluster"].strip().lower() == wanted]


def _number(text: str, place: Place) -> int:
    if not is_number(text.strip()):
        fail(place, "ID", f"{text.strip()!r} is not a number", "a whole number")
    return int(text)
