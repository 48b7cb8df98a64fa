"""The words of sacctmgr modify: conditions, and behind ``set`` what is to change."""

from __future__ import annotations

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.words import word_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmsim.commands.sacctmgr.words import Session, Word

    Take = Callable[[Word], int]  # a kind of records, such as USER; 0 for a word that means nothing

_NO_CONDITIONS = "You didn't set any conditions with 'WHERE'.\nAre you sure you want to continue?"


def read(session: Session, words: list[str], where: Take, set_: Take) -> tuple[int, int]:
    """Return the sums of what `where` and `set_` made of the words: kinds of conditions, and kinds of settings."""
    conditions = settings = 0
    setting = False
    for text in words:
        word = word_of(text)
        if not word.equals and matches(text, "Where:5"):
            setting = False
        elif not word.equals and matches(text, "Set:3"):
            setting = True
        elif setting:
            settings |= set_(word)
        else:
            conditions |= where(word)
    return conditions, settings


def is_ready(session: Session, conditions: int, settings: int) -> bool:
    """Return True if there is something to do; asks when there are no conditions."""
    if session.code:
        return False
    if not settings:
        session.wrong(" You didn't give me anything to set")
        return False
    if not conditions and not session.ask(_NO_CONDITIONS):
        session.io.out("Aborted\n")
        return False
    return True
