"""The associations that inherit a change of an account: those below it without a value of their own of what was set.

Mirrors _modify_unset_users of as_mysql_assoc.c. 22.05 names users alone, in the order of its nested sets. 24.11 names
accounts as well but looks no further than the children; 26.05 looks at all below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from slurmsim.config.accounting.draft import Draft, Item, Key
from slurmsim.config.accounting.fields import ASSOCIATION_FIELDS
from slurmsim.releases import row
from slurmsim.slurmctld.database.association_records import INHERITED

_TELLS_ACCOUNTS = {"22.05": False, "24.11": True}
_LOOKS_FURTHER = {"22.05": True, "24.11": False, "26.05": True}
_ONES = {"default_qos", "priority", "qos", *(f"limits.{name}" for name in INHERITED)}


def inheritors(
    draft: Draft, key: Key, settings: Iterable[tuple[str, str, str]], release: str,
    ordered: Callable[[Sequence[Key]], list[Key]],
) -> Iterator[Key]:  # fmt: skip
    """Yield the associations below `key` that these settings (field, operator, value) of its reach.

    Parameters
    ----------
    draft
        As it is with the change.
    ordered
        Associations in the order in which the database names them.
    """
    rows = (ASSOCIATION_FIELDS.find(name) for name, _, _ in settings)
    found = {one.target: _tres(draft.associations[key], one.target) for one in rows if one and one.target in _ONES}
    yield from _below(draft, key[0], found, release, ordered)


def _below(
    draft: Draft, account: str, targets: dict[str, Any], release: str, ordered: Callable[[Sequence[Key]], list[Key]]
) -> Iterator[Key]:  # fmt: skip
    children = [
        key for key, item in draft.associations.items()
        if (key[0] == account and key[1]) or (not key[1] and item.values.get("parent") == account)
    ]  # fmt: skip
    for key in ordered(children):
        item = draft.associations[key]
        unset = {target: tres for target, tres in targets.items() if not _has(item, target, tres)}
        if not unset:
            continue
        if key[1] or row(_TELLS_ACCOUNTS, release):
            yield key
        if not key[1] and row(_LOOKS_FURTHER, release):
            yield from _below(draft, key[0], unset, release, ordered)


def _tres(item: Item, target: str) -> tuple[str, ...]:
    value = item.values.get(target)
    return tuple(value) if isinstance(value, dict) else ()


def _has(item: Item, target: str, tres: Sequence[str]) -> bool:
    """Return True if it has a value of its own: of every kind of TRES, and a list of QOS that is more than a change."""
    value: Any = item.values.get(target)
    if target == "qos":
        return bool(value) and value[0][0] not in "+-"
    if tres:
        return set(tres) <= set(value or ())
    return value not in (None, {})
