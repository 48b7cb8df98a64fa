"""Tables of sacctmgr: columns by name, cells of every kind, and which records are chosen (22.05)."""

from __future__ import annotations

from slurmsim.commands.sacctmgr.fields import DOUBLE, F, find, matches
from slurmsim.commands.sacctmgr.words import Session, association_condition, names_in, word_of
from slurmsim.commands.text.clock_text import Dates, long_clock
from slurmsim.commands.text.dashed_table import NUMBER, Head, double, heading, line
from slurmsim.commands.text.messages import Stop
from slurmsim.commands.text.units import quantity
from slurmsim.commands.text.widths import width_of
from slurmsim.records import accounting as records
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from slurmsim.records import Field

    Record = Mapping[str, Any]
    Getter = Callable[[Record], Any]  # text, number or None


def tres_text(counts: Mapping[str, int] | None) -> str:
    """``cpu=24,node=6``, by name."""
    return ",".join(
        sorted(f"{name}={quantity(count, 'M') if name == 'mem' else count}" for name, count in (counts or {}).items())
    )


def of(key: str) -> Getter:
    return lambda record: record.get(key)


def _clock(seconds: int | None) -> str | None:
    return None if seconds is None else long_clock(seconds)


_KINDS: dict[str, Callable[[Any], Any]] = {
    "tres": tres_text, "minutes": lambda seconds: _clock(None if seconds is None else seconds // 60 * 60),
    "seconds": _clock, "exempt": _clock, "names": lambda names: ",".join(sorted(names or ())),
    "name": lambda text: text or "",
}  # fmt: skip
"""Kind -> how it is shown; others as they are."""


def _getter(name: str, kind: str, one: str) -> Getter:
    if one:
        return lambda record: (record.get(name) or {}).get(one)
    show = _KINDS.get(kind)
    return of(name) if show is None else lambda record: show(record.get(name))


def _getters(rows: Iterable[Field]) -> dict[str, Getter]:
    """Return the columns of a noun: a limit of one TRES is ``grp_tres:cpu``."""
    found: dict[str, Getter] = {}
    for row in rows:
        kind, _, one = row.kind.partition(":")
        found[f"{row.name}:{one}" if one else row.name] = _getter(row.name, kind, one)
    return found


ASSOCIATION = _getters(records.ASSOCIATION) | {
    "id": of("id"), "lft": of("lft"), "rgt": of("rgt"), "pid": of("parent_id"),
    "qos_raw": lambda r: ",".join(r.get("qos_raw") or ()),
}  # fmt: skip


def qos_columns(release: str) -> dict[str, Getter]:
    """Return the columns of QOS; what is per user there has one column with that of associations."""
    return _getters(records.QOS) | {
        "flags": lambda r: ",".join(flag_names(r["flags"], release)) or None, "max_jobs": of("max_jobs_pu"),
        "max_submit_jobs": of("max_submit_pu"), "preempt_mode": lambda r: (r["preempt_mode"] or "cluster").lower(),
    }  # fmt: skip


_FLAGS = ("DenyOnLimit", "EnforceUsageThreshold", "NoReserve", "PartitionMaxNodes", "PartitionMinNodes", "OverPartQOS",
          "PartitionTimeLimit", "RequiresReservation", "NoDecay", "Relative", "UsageFactorSafe")  # fmt: skip
_LATER = ("DenyOnLimit", "EnforceUsageThreshold", "PartitionMinNodes", "PartitionMaxNodes", "PartitionTimeLimit",
          "RequiresReservation", "OverPartQOS", "NoReserve", "NoDecay", "Relative", "UsageFactorSafe")  # fmt: skip


def qos_flags(release: str) -> tuple[str, ...]:
    """Return the flags that a QOS may have, in sacctmgr's order."""
    if since(release, "flags_of_qos_by_prefix"):
        return _LATER
    return _FLAGS if since(release, "relative_qos") else tuple(flag for flag in _FLAGS if flag != "Relative")


def flag_names(flags: Iterable[str], release: str) -> list[str]:
    """Return the names of a QOS' flags, in sacctmgr's order."""
    lower = {flag.lower() for flag in flags}
    return [flag for flag in qos_flags(release) if flag.lower() in lower]


# -- printing -----------------------------------------------------------------------------------------------------


def columns(session: Session, text: str | list[str], *, tree: bool = False) -> list[F]:
    """Return the fields of a format. Raises Stop."""
    words = names_in(",".join(text) if isinstance(text, list) else text)
    found = []
    for word in words:
        name, percent, size = word.partition("%")
        field = find(name, session.release)
        if field is None:
            session.wrong(f"Unknown field '{name}'")
            raise Stop(1)
        if field.key == "account" and tree:
            field = field._replace(width=-20)
        width = width_of(size) if percent else 0
        found.append(field._replace(width=width) if width else field)
    return found


def table(session: Session, fields: list[F], rows: Iterable[Mapping[str, Any]], getters: Mapping[str, Getter]) -> None:
    """Print rows; a field without a getter is empty."""
    heads = [Head(f.heading, f.width, f.kind if f.kind != DOUBLE else NUMBER) for f in fields]
    out = [heading(heads, session.style)]
    relative = session.io.environ.get("SLURM_TIME_FORMAT") == "relative"
    dates = Dates(session.io.environ, session.now if relative else 0, unset="Unknown")
    for record in rows:
        out.append(line(heads, [_cell(session, f, record, getters, dates) for f in fields], session.style))
    session.io.out("".join(out))


def _cell(session: Session, f: F, record: Record, getters: Mapping[str, Getter], dates: Dates) -> str | None:
    getter = getters.get(f.key)
    value = getter(record) if getter is not None else None
    if f.kind == "date":
        return dates(int(value or 0))
    if value is None:
        return None
    if f.kind == DOUBLE:
        return double(float(value), f.width, session.style)
    return str(value)


# -- what the words ask ---------------------------------------------------------------------------------------------


class Asked:
    """Conditions and format of a show command."""

    def __init__(self, session: Session, words: list[str], own: str, flags: str, extra: Mapping[str, str], *,
                 bare: str = "names", short: bool = False) -> None:  # fmt: skip
        """`own` are names of the entity's own list, `flags` words without ``=``, `extra` further lists by key."""
        self.cond: dict[str, Any] = {}
        self.flags: set[str] = set()
        self.format: list[str] = []
        self.of_associations = False
        for text in words:
            word = word_of(text)
            if not word.equals and matches(text, "Where:5 Set:3"):
                continue
            flag = next((f for f in flags.split() if matches(text, f)), None) if not word.equals else None
            if flag is not None:
                self.flags.add(flag.partition(":")[0].lower())
            elif not word.equals or matches(word.name, own):
                self.cond.setdefault(bare, []).extend(names_in(word.value))
            elif matches(word.name, "Format:1"):
                self.format += names_in(word.value)
            elif (key := next((k for k, names in extra.items() if matches(word.name, names)), None)) is not None:
                self.cond.setdefault(key, []).extend(names_in(word.value))
            elif association_condition(session, self.cond, word):
                self.of_associations = True
            else:
                tail = "" if short else "\n Use keyword 'set' to modify value"
                session.wrong(f" Unknown condition: {text}{tail}")


def selected(records: Iterable[dict[str, Any]], cond: Mapping[str, Any], pairs: Mapping[str, str]) -> list[Any]:
    """Return the records that have one of the asked values in each field."""
    found = []
    for record in records:
        if all(not cond.get(key) or str(record.get(name) or "").lower() in [str(v).lower() for v in cond[key]]
               for key, name in pairs.items()):  # fmt: skip
            found.append(record)
    return found


PAIRS = {"accounts": "account", "users": "user", "partitions": "partition", "clusters": "cluster", "ids": "id",
          "parents": "parent", "default_qos": "def_qos"}  # fmt: skip


def associations(session: Session, cond: Mapping[str, Any], flags: set[str]) -> list[dict[str, Any]]:
    """Return the associations a condition selects."""
    records = session.list("association", own="woplimits" in flags)
    found = selected(records, cond, PAIRS)
    if cond.get("qos"):
        found = [r for r in found if set(r["qos"]) & set(cond["qos"])]
    if "onlydefaults" in flags:
        found = [r for r in found if r["is_default"]]
    if "withsubaccounts" in flags and cond.get("accounts"):
        spans = [(r["lft"], r["rgt"]) for r in found if not r["user"]]
        found = [r for r in records if any(low <= r["lft"] <= high for low, high in spans)]
    return found


def by_tree(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort rows as sacctmgr 22.05 does: down the tree that they make alone, users first, by name.

    A row without the row of its account is at the top; rows of one name come as in the database. One cluster's rows
    come after the other's.
    """
    clusters = dict.fromkeys(str(row["cluster"]) for row in rows)
    return [row for name in clusters for row in _tree([row for row in rows if row["cluster"] == name])]


def _tree(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = sorted(rows, key=lambda r: int(r["lft"]))
    accounts = {r["account"]: r for r in rows if not r["user"]}
    below: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        above = row["account"] if row["user"] else str(row["parent"] or "")
        below.setdefault(above if above in accounts else "", []).append(row)
    found: list[dict[str, Any]] = []

    def walk(account: str) -> None:
        for row in sorted(below.get(account, ()), key=lambda r: (not r["user"], r["user"] or r["account"])):
            found.append(row)
            if not row["user"]:
                walk(row["account"])

    walk("")
    return found


# -- entities -----------------------------------------------------------------------------------------------------
