"""Which account an association is in, and who looks after an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.config.accounting.draft import ROOT, Draft, Key

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.association_database import Database


def above(db: Database, key: Key, draft: Draft | None = None) -> Key | None:
    """Return the account an association is in, as in a `draft` of changes, if one is given."""
    if key == ROOT:
        return None
    if key[1]:
        return key[0], "", ""
    return str((draft or db.draft).associations[key].values.get("parent") or "root"), "", ""


def coordinates(db: Database, name: str, account: str) -> bool:
    """Return True if user `name` looks after `account`, or one that it is in."""
    facts = db.accounts.get(account)
    return facts is not None and (name in facts.coordinators or name in coordinators_above(db, account))


def coordinators_above(db: Database, name: str) -> list[str]:
    """Who looks after an account because of those it is in."""
    found: set[str] = set()
    at = above(db, (name, "", "")) if (name, "", "") in db.draft.associations else None
    while at is not None:
        facts = db.accounts.get(at[0])
        found |= set(facts.coordinators if facts is not None else ())
        at = above(db, at)
    return sorted(found)
