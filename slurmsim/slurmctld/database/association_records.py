"""What sacctmgr is told of associations, QOS, accounts and users: raw values, limits as they hold after inheritance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from slurmsim.config.accounting.draft import NO_QOS, ROOT, Draft, Item, Key
from slurmsim.config.accounting.fields import target
from slurmsim.model.accounting import PARENT_SHARES
from slurmsim.records.accounting import ASSOCIATION, QOS
from slurmsim.slurmctld.base.account_tree import above, coordinators_above
from slurmsim.tres import parse_tres

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.association_database import Database

Record = dict[str, Any]
_LIMITS = {row.name: row.kind for row in ASSOCIATION if row.json and target(row).startswith("limits.")}
INHERITED = tuple(name for name in _LIMITS if not name.startswith("grp_"))
_OF_QOS = {row.name: (target(row), row.kind) for row in QOS if row.json and row.conf}
_EMPTY: dict[str, Callable[..., Any]] = {
    "tres": dict, "names": list, "flags": list, "seconds": int, "priority": int, "modes": str,
}  # fmt: skip
"""Kind of a setting of a QOS -> what is told where it is not set; None of others."""


def _children(db: Database, keys: Iterable[Key]) -> dict[Key, list[Key]]:
    """Return those of `keys` that are in each account, in the order of `keys`."""
    children: dict[Key, list[Key]] = {}
    for key in keys:
        parent = above(db, key)
        if parent is not None:
            children.setdefault(parent, []).append(key)
    return children


def in_order(db: Database) -> Iterator[Key]:
    """Down the tree, users of an account first, by name."""
    children = _children(db, db.draft.associations)
    stack = [ROOT]
    while stack:
        key = stack.pop()
        yield key
        stack.extend(sorted(children.get(key, ()), key=lambda k: (not k[1], k[1] or k[0], k[2]), reverse=True))


def spans(db: Database) -> dict[Key, tuple[int, int]]:
    """Return the nested-set numbers (lft, rgt) of all associations; the last one added comes first."""
    children = _children(db, sorted(db.draft.associations, key=lambda k: -db.ids.get(k, 0)))
    found: dict[Key, tuple[int, int]] = {}
    count = 0

    def walk(key: Key) -> None:
        nonlocal count
        count += 1
        left = count
        for child in children.get(key, ()):
            walk(child)
        count += 1
        found[key] = (left, count)

    walk(ROOT)
    return found


def path(db: Database, key: Key, draft: Draft | None = None) -> list[Item]:
    """Return an association and everything above it, as in a `draft`."""
    found = []
    at: Key | None = key
    while at is not None:
        found.append((draft or db.draft).associations[at])
        at = above(db, at, draft)
    return found


def qos_of(db: Database, key: Key, draft: Draft | None = None) -> tuple[list[str], list[str]]:
    """Return the QOS it may use, and its own list as written (with signs); as in a `draft`, if one is given."""
    items = path(db, key, draft)
    lost = (items[0].aside.get("lost_qos") or "").split(",")
    own = list(items[0].values.get("qos") or ())
    names: list[str] = []
    for item in reversed(items):
        tokens = tuple(item.values.get("qos") or ())
        if tokens == NO_QOS:
            names = []
        elif tokens and tokens[0][0] in "+-":
            for token in tokens:
                names = [name for name in names if name != token[1:]]
                if token[0] == "+":
                    names.append(token[1:])
        elif tokens:
            names = list(tokens)
    # nothing was ever said of QOS, not even of the root: then the default of all holds (`Draft.open_root`)
    if not names and not any(item.values.get("qos") for item in items):
        names = list(db.draft.qos) if db.draft.open_root else ["normal"]
    return sorted(name for name in names if name not in lost), own


def association(db: Database, key: Key, span: tuple[int, int] = (0, 0), *, own: bool = False) -> Record:
    """One association; with `own` without what it inherits."""
    items = path(db, key)
    values = items[0].values
    parent = above(db, key)
    shares = values.get("shares")
    names, raw = qos_of(db, key)
    record: Record = {
        "id": db.ids.get(key, 0), "cluster": db.cluster, "account": key[0], "user": key[1] or None,
        "partition": key[2] or None, "parent": None if key[1] or key == ROOT else parent and parent[0],
        "parent_id": db.ids.get(parent, 0) if parent is not None else 0, "lft": span[0], "rgt": span[1],
        "shares": 1 if shares is None else "parent" if shares == PARENT_SHARES else shares,
        "priority": values.get("priority"), "qos": names, "qos_raw": raw,
        "is_default": _is_default(db, key),
        "lineage": lineage(db, key), "comment": items[0].aside.get("comment"),
    }  # fmt: skip
    record["max_tres_run_mins"] = _not_enforced(items[0])
    record["def_qos"] = values.get("default_qos") or None
    if not own and not record["def_qos"]:
        record["def_qos"] = next((i.values["default_qos"] for i in items if i.values.get("default_qos")), None)
    for name, kind in _LIMITS.items():
        value = values.get(f"limits.{name}")
        if name in INHERITED and not own:
            value = _inherited(items, f"limits.{name}", tres=kind == "tres")
        record[name] = dict(value or {}) if kind == "tres" else value
    return record


def _not_enforced(item: Item) -> dict[str, int]:
    """Return MaxTRESRunMins of an association, which the database keeps and slurmctld does not enforce."""
    text = item.aside.get("maxtresrunmins") or ""
    return {name: count for name, count in parse_tres(text).items() if count is not None} if text else {}


def _is_default(db: Database, key: Key) -> bool:
    """Return True if a user's association is that of his default account; of several partitions' the oldest one is."""
    account, user, _ = key
    if not user or db.draft.defaults.get(user, ("",))[0] != account:
        return False
    same = [other for other in db.draft.associations if other[:2] == key[:2]] if key[2] else [key]
    return len(same) == 1 or db.ids.get(key, 0) == min(db.ids.get(other, 0) for other in same)


def _inherited(items: list[Item], key: str, *, tres: bool) -> Any:
    if not tres:
        return next((item.values[key] for item in items if item.values.get(key) is not None), None)
    found: dict[str, int] = {}
    for item in reversed(items):
        found |= {name: count for name, count in (item.values.get(key) or {}).items() if count is not None}
    return found


def lineage(db: Database, key: Key) -> str:
    """``/account/sub/0-user/`` (24.11)."""
    names = []
    at: Key | None = (key[0], "", "") if key[1] else key
    while at is not None and at != ROOT:
        names.append(at[0])
        at = above(db, at)
    text = "/" + "".join(f"{name}/" for name in reversed(names))
    if key[1]:
        text += f"0-{key[1]}/" + (f"{key[2]}/" if key[2] else "")
    return text


def qos(db: Database, name: str) -> Record:
    """One QOS."""
    item = db.draft.qos[name]
    values = item.values
    record: Record = {
        "id": db.qos_ids.get(name, 0), "name": name,
        "description": item.aside.get("description", "Normal QOS default" if name == "normal" else name),
    }  # fmt: skip
    for field, (key, kind) in _OF_QOS.items():
        value, empty = values.get(key), _EMPTY.get(kind)
        record[field] = value if empty is None else empty(value or empty())
    if record["usage_factor"] is None:
        record["usage_factor"] = 1.0
    return record


def user(db: Database, name: str) -> Record:
    """One user, without associations."""
    facts = db.users[name]
    coordinates = [account for account, f in sorted(db.accounts.items()) if name in f.coordinators]
    below = [
        account for account in sorted(db.accounts)
        if account not in coordinates and name in coordinators_above(db, account)
    ] if coordinates else []  # fmt: skip
    return {
        "user": name, "default_account": db.draft.defaults.get(name, ("",))[0] or None,
        "admin_level": facts.admin_level, "default_wckey": facts.default_wckey or None, "coordinates": coordinates,
        "coordinates_below": below,
    }  # fmt: skip


def account(db: Database, name: str) -> Record:
    """One account, without associations."""
    facts = db.accounts[name]
    return {
        "account": name, "description": facts.description, "organization": facts.organization,
        "coordinators": sorted(facts.coordinators), "coordinators_above": coordinators_above(db, name),
    }  # fmt: skip
