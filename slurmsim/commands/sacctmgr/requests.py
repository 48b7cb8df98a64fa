"""What adding, modifying and deleting in sacctmgr have in common: requests, commits, conditions."""

from __future__ import annotations

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.words import Session, Word, association_condition, folded, names_in, word_of
from slurmsim.commands.text.database_away import database_away
from slurmsim.commands.text.messages import Stop
from slurmsim.numerals import is_number
from slurmsim.protocol import SUPER_USER, Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


COMMIT = "Would you like to commit changes?"
_LEVELS = ("None", "Operator", "Administrator")
NOT_ALLOWED = "Access/permission denied"
_LOOP = "QOS Preemption loop detected"
if TYPE_CHECKING:
    Answer = Mapping[str, Any]
USER, ASSOC = 1, 2


def reply(session: Session, name: str, arguments: Mapping[str, Any]) -> Answer | str:
    """Return the database's answer, or Slurm's text for its refusal."""
    try:
        return session.io.client.call(name, **arguments)
    except Unreachable as error:
        session.io.error(database_away("sacctmgr", error))
        raise Stop(1) from None
    except Refusal as error:
        return error.text


def tell_refusal(session: Session, text: str) -> None:
    """Say that slurmdbd refuses to modify or delete; of who may not it says so itself."""
    if text == NOT_ALLOWED:
        session.note("sacctmgr: error: Your user doesn't have privilege to perform this action")
    elif text == _LOOP:
        session.note(f"sacctmgr: error: {text}")
    elif text == SUPER_USER:
        session.note(f"sacctmgr: error: {text}")
        text = NOT_ALLOWED
    session.wrong(f" Error with request: {text}")


def commit(session: Session, arguments: Mapping[str, Any], request: str = "account_change") -> None:
    """Ask, and make it so by `request`."""
    if not session.ask(COMMIT):
        session.io.out(" Changes Discarded\n")
        return
    answer = reply(session, request, arguments)
    if isinstance(answer, str):
        session.wrong(f" Error with request: {answer}")


def lines_of(names: list[str]) -> str:
    return "".join(f"  {name}\n" for name in names)


def level_of(text: str) -> str:
    """Return an AdminLevel as str_2_slurmdb_admin_level reads it."""
    lower = text.strip("\"'").lower()
    return next((level for level in _LEVELS if level.lower().startswith(lower[:2])), "None") if lower else "None"


def dispatch(
    session: Session, words: list[str], text: str,
    entities: tuple[tuple[str, Callable[[Session, list[str]], None]], ...],
) -> None:  # fmt: skip
    for names, do in entities if words else ():
        if matches(words[0], names):
            do(session, words[1:])
            return
    session.wrong(text)


def refuse(session: Session, words: list[str]) -> None:
    session.wrong("sacctmgr: error: slurmsim has one cluster and no federations")


def take_fact(word: Word, facts: dict[str, str]) -> bool:
    """Put the description or organization of an account into `facts`; return False for any other word."""
    name = next((one for one in ("Description", "Organization") if matches(word.name, f"{one}:1")), None)
    if name is not None:
        facts[name.lower()] = folded(word)
    return name is not None


def plain(words: list[str]) -> list[Word]:
    """Return the words without ``where`` and ``set``."""
    return [word for word in map(word_of, words) if word.equals or not matches(word.text, "Where:5 Set:3")]


def cluster_name(session: Session, asked: list[str]) -> str | None:
    """Return the cluster's name; complains about others, of which the database has no accounts."""
    name, *others = [str(record["cluster"]) for record in session.list("cluster")]
    for other in asked:
        if other in others:
            session.wrong(f"sacctmgr: error: slurmsim keeps no accounts of other clusters: {other}")
        elif other != name.lower():
            session.wrong(
                f" This cluster '{other}' doesn't exist.\n        Contact your admin to add it to accounting."
            )
    return None if asked and name.lower() not in asked else name


# -- conditions -----------------------------------------------------------------------------------------------------


_PASSED_OVER = "WithAssoc:5 WithCoordinators:5 WithDeleted:5 WOPLimits:4"
_ACCOUNT = {
    "Names:1 Accounts:1 Acct:4": "accounts", "Descriptions:1": "descriptions", "Organizations:1": "organizations",
}  # fmt: skip
_USER = {
    "Names:1 Users:1": "users", "AdminLevel:2": "admin_level", "Clusters:1": "clusters",
    "DefaultAccount:8": "default_accounts",
}  # fmt: skip
_QOS = {"Names:1 QOSLevel:1": "names", "Ids:1": "ids"}
"""How conditions of each entity may be called, and their keys; the first is that of a bare word."""


def account_condition(session: Session, cond: dict[str, Any], word: Word) -> int:
    return _condition(session, cond, word, _ACCOUNT)


def user_condition(session: Session, cond: dict[str, Any], word: Word) -> int:
    return _condition(session, cond, word, _USER)


def qos_condition(session: Session, cond: dict[str, Any], word: Word) -> int:
    return _condition(session, cond, word, _QOS)


def _condition(session: Session, cond: dict[str, Any], word: Word, own: Mapping[str, str]) -> int:
    """Put a condition into `cond`; return its kind, 0 for a word that is none."""
    if not word.equals and matches(word.text, _PASSED_OVER if own is not _QOS else "WithDeleted:5"):
        return 0
    named = next((name for name in own if not word.equals or matches(word.name, name)), None)
    key = own.get(named or "")
    if key == "admin_level":
        cond[key] = level_of(word.value)
    elif key == "ids":
        cond.setdefault(key, []).extend(int(text) for text in names_in(word.value) if is_number(text))
    elif key is not None:
        cond.setdefault(key, []).extend(names_in(word.value))
    elif own is not _QOS and association_condition(session, cond, word):
        return ASSOC
    else:
        session.wrong(f" Unknown condition: {word.text}\n Use keyword 'set' to modify value")
        return 0
    return USER
