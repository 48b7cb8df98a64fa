"""The accounting data of a dump, and the usage that fair share and limits rest on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmsim.core.accounting.usage_decay import BILLED, FIRST_TRES, WALL
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.twin.dump import Dump
from slurmsim.twin.findings import Findings, Weight

_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,18})?", re.ASCII)
_USED = re.compile(r"[^()]{0,40}\((\d{1,18})\)", re.ASCII)
_NAME = re.compile(r"(.*?)(?:\(\d+\))?\Z", re.ASCII)
_TABLES = (("assoc.txt", "accounting-0.txt"), ("qos.txt", "accounting-1.txt"), ("user.txt", "accounting-2.txt"))
Usage = dict[tuple[str, str, str], dict[str, float]]


def accounting_texts(dump: Dump, used: set[str], findings: Findings) -> dict[str, str]:
    """Return the tables of accounting data, by the names they have in the twin's folder.

    `used` are the QOS of the jobs, which all may use where no table says which there are.
    """
    found = {ours: dump.text(theirs) for theirs, ours in _TABLES if len(dump.text(theirs).splitlines()) > 1}
    if "accounting-0.txt" in found:
        return found
    qos = sorted({"normal", *_of_assoc_mgr(dump.text("assoc_mgr.txt"))[1], *used} - {""})
    made = _table_of_shares(dump.text("sshare.txt"), ",".join(qos))
    if made:
        findings.add(Weight.HEAVY, "no assoc.txt: accounts and shares are those of sshare, without any limit")
        names = found.get("accounting-1.txt") or "Name|Priority\n" + "".join(f"{name}|0\n" for name in qos)
        return {"accounting-0.txt": made, "accounting-1.txt": names}
    findings.add(Weight.HEAVY, "no accounting data: no fair share, no limits of accounts, users and QOS")
    return {}


def _table_of_shares(text: str, qos: str) -> str:
    """Return a table of associations made of ``sshare -alP``; "" where there is none."""
    lines = [line for line in text.splitlines() if "|" in line]
    if len(lines) < 2:
        return ""
    titles = lines[0].split("|")
    if not {"Account", "User", "RawShares"} <= set(titles):
        return ""
    rows = ["Cluster|Account|User|Partition|Share|Def QOS|QOS"]
    for line in lines[1:]:
        cells = dict(zip(titles, line.split("|"), strict=False))
        indent = len(cells["Account"]) - len(cells["Account"].lstrip())
        share = cells["RawShares"] if _NUMBER.fullmatch(cells["RawShares"]) or cells["RawShares"] == "parent" else "1"
        rows.append(f"|{' ' * indent}{cells['Account'].strip()}|{cells['User'].strip()}||{share}||{qos}")
    return "\n".join(rows) + "\n"


def settle_usage(engine: Engine, dump: Dump, findings: Findings) -> None:
    """Let associations and QOS of `engine` have used what the dump says."""
    book = engine.controller.accounting.book
    if book is None:
        return
    book.period(engine.now)
    associations, qos = _of_assoc_mgr(dump.text("assoc_mgr.txt"))
    if not associations:
        associations = _of_sshare(dump.text("sshare.txt"))
    if not associations:
        findings.add(Weight.HEAVY, "no assoc_mgr.txt and no sshare.txt: fair share begins at zero")
        return
    book.amounts[:] = 0.0
    n = 0
    for branch in book.tree.branches:
        spec = branch.spec
        used = associations.get((spec.account.lower(), spec.user or "", spec.partition or ""))
        if used is not None:
            _put(book, branch.row, used)
            n += 1
    for name, used in qos.items():
        row = book._row_of_qos.get(name)
        if row is not None:
            _put(book, row, used)
    lost = len(book.tree.branches) - n
    if lost:
        findings.add(Weight.MIDDLE, f"usage of {lost} of {len(book.tree.branches)} associations is not told")
    again = engine.controller.recalculation
    if again.shares is not None:
        again.shares.settle(book.used)
        again.shares.update(book.used, lambda: range(len(book.tree.branches)))


def _put(book: object, row: int, used: dict[str, float]) -> None:
    amounts, names = book.amounts, book.names  # type: ignore[attr-defined]
    amounts[BILLED, row] = used.get("raw", 0.0)
    amounts[WALL, row] = used.get("wall", 0.0) * 60
    for k, name in enumerate(names):
        amounts[FIRST_TRES + k, row] = used.get(name, 0.0) * 60


def _of_assoc_mgr(text: str) -> tuple[Usage, dict[str, dict[str, float]]]:
    """Return what associations and QOS have used, from ``scontrol show assoc_mgr``."""
    associations: Usage = {}
    qos: dict[str, dict[str, float]] = {}
    used: dict[str, float] | None = None
    for line in text.splitlines():
        if line.startswith("ClusterName="):
            keys = {key: value for key, _, value in (word.partition("=") for word in line.split())}
            user = _NAME.match(keys.get("UserName", ""))
            key = keys.get("Account", "").lower(), user[1] if user else "", keys.get("Partition", "")
            used = associations.setdefault(key, {})
        elif line.startswith("QOS="):
            name = _NAME.match(line[4:].strip())
            used = qos.setdefault(name[1].lower() if name else "", {})
        elif line and not line[0].isspace():
            used = None
        elif used is not None:
            used.update(_used(line.strip()))
    return associations, qos


def _used(line: str) -> Iterator[tuple[str, float]]:
    key, _, rest = line.partition("=")
    if key in ("UsageRaw/Norm/Efctv", "UsageRaw"):
        number = _NUMBER.match(rest)
        if number:
            yield "raw", float(number[0])
    elif line.startswith("GrpTRESMins="):
        for name, _, value in (item.partition("=") for item in rest.split(",")):
            found = _USED.fullmatch(value)
            if found:
                yield name, float(found[1])
    wall = re.search(r"GrpWall=[^(]*\((\d{1,18}(?:\.\d{1,9})?)\)", line, re.ASCII)
    if wall:
        yield "wall", float(wall[1])


def _of_sshare(text: str) -> Usage:
    lines = [line.split("|") for line in text.splitlines() if "|" in line]
    if not lines or not {"Account", "User", "RawUsage"} <= set(lines[0]):
        return {}
    found: Usage = {}
    for cells in lines[1:]:
        row = dict(zip(lines[0], cells, strict=False))
        raw = _NUMBER.match(row.get("RawUsage", ""))
        if raw:
            key = row["Account"].strip().lower(), row["User"].strip(), row.get("Partition", "").strip()
            found[key] = {"raw": float(raw[0])}
    return found
