"""Job dependencies: parsing, and deciding from what is known of the other jobs whether they are met.

Mirrors slurmctld's depend list (22.05): ``type:id[_task|_*][+minutes][:id…]`` joined by ``,`` (all) or ``?`` (any).
Ids that are unknown, or purged MinJobAge after their end, count as met.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass
from slurmsim.errors import SubmitError
from slurmsim.numerals import is_number
from slurmsim.states import JobState

TYPES: Final = frozenset({"after", "afterany", "afterok", "afternotok", "aftercorr", "afterburstbuffer"})
PROBLEM: Final = "Job dependency problem"
CIRCULAR: Final = "Circular job dependency"


class Outcome(Enum):
    """What one dependency amounts to now."""

    MET = "met"
    WAITING = "unfulfilled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Term(Value):
    """One ``type:id``; `task` is an array index, None for the whole job or array; `delay_s` of ``after:id+min``."""

    kind: str
    job_id: int = 0
    task: int | None = None
    delay_s: int = 0


def parse(text: str, own_id: int, *, one_separator: bool = False) -> tuple[tuple[Term, ...], bool]:
    """Terms and whether any one of them suffices. Raises SubmitError with Slurm's text, also for both separators."""
    any_one = "?" in text
    if one_separator and any_one and "," in text:
        raise SubmitError(PROBLEM)
    terms: list[Term] = []
    for part in text.replace("?", ",").split(","):
        if not part:
            raise SubmitError(PROBLEM)
        head, *ids = part.split(":")
        kind = head.lower()
        if is_number(kind) and not ids:
            kind, ids = "afterany", [head]
        if kind == "singleton" and not ids:
            terms.append(Term("singleton"))
            continue
        if kind == "expand":
            raise SubmitError("Requested operation not supported on this system")
        if kind not in TYPES or not ids:
            raise SubmitError(PROBLEM)
        delay = 0  # `after:1+10:2`: the minutes hold for the ids behind, too
        for item in ids:
            term = _term(kind, item, own_id, delay)
            delay = term.delay_s
            terms.append(term)
    return tuple(dict.fromkeys(terms)), any_one


def _term(kind: str, item: str, own_id: int, delay_s: int) -> Term:
    item, plus, minutes = item.partition("+")
    base, underscore, task = item.partition("_")
    if not is_number(base) or (plus and not (is_number(minutes) and int(minutes))):
        raise SubmitError(PROBLEM)
    if underscore and task != "*" and not is_number(task):
        raise SubmitError(PROBLEM)
    if int(base) == own_id:
        raise SubmitError(PROBLEM)
    return Term(
        kind, int(base), int(task) if underscore and task != "*" else None, int(minutes) * 60 if plus else delay_s
    )


@dataclass(slots=True)
class Known:
    """What the controller remembers of a job, or of all tasks of an array together.

    `states` are the final states of the ended ones; `live` counts those not ended; `started` those that started or
    were cancelled, `last_start` the latest such time; `special` is set when one waits in SPECIAL_EXIT.
    """

    live: int = 0
    unstarted: int = 0
    last_start: int = 0
    states: tuple[str, ...] = ()
    special: bool = False


def judge(term: Term, known: Known | None, now: int) -> Outcome:
    """Return the outcome of `term`, given what is known of its job (None: nothing, so it is met)."""
    if known is None:
        return Outcome.MET
    if term.kind == "after":
        if known.unstarted or now < known.last_start + term.delay_s:
            return Outcome.WAITING
        return Outcome.MET
    if term.kind in ("afterany", "afterburstbuffer"):
        return Outcome.WAITING if known.live else Outcome.MET
    good = [state == JobState.COMPLETED for state in known.states]
    if term.kind == "afternotok":
        if known.special:
            return Outcome.MET
        if known.live:
            return Outcome.WAITING
        return Outcome.FAILED if all(good) else Outcome.MET
    if known.live:  # how some tasks of an array ended is not looked at before the last has
        return Outcome.WAITING
    return Outcome.MET if all(good) else Outcome.FAILED


def combine(outcomes: list[Outcome], any_one: bool) -> Outcome:
    """Return the outcome of all terms: with ``,`` one failure fails and all must be met; with ``?`` one suffices."""
    if any_one:
        if Outcome.MET in outcomes:
            return Outcome.MET
        return Outcome.WAITING if Outcome.WAITING in outcomes else Outcome.FAILED
    if Outcome.FAILED in outcomes:
        return Outcome.FAILED
    return Outcome.WAITING if Outcome.WAITING in outcomes else Outcome.MET
