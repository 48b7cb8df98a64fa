"""Answers to questions that were asked before while nothing has happened since: several people watch one queue.

An answer about ten thousand jobs takes tens of milliseconds to find and none to give again. It holds for one second of
the cluster's time and until the next event or request that may change something, whatever that does.
"""

from typing import Any

from slurmsim import wire_json
from slurmsim.slurmctld.base.people import Person

KEPT = frozenset({"jobs", "nodes", "partitions"})  # requests for columns; only their answers are kept
ROOM = 500_000  # values kept at most; about 60 bytes each
_BESIDE = 100  # values that an answer weighs beside its own
_CHARACTERS = 50  # of a question weigh as much as a value
State = tuple[int, int]  # what a cluster is in: how much has happened so far, and its time


class KeptAnswers:
    """The kept answers of one engine. The caller must not change an answer it gets."""

    def __init__(self) -> None:
        self._state: State = (-1, -1)
        self._found: dict[str, dict[str, Any]] = {}
        self._room = ROOM

    def __len__(self) -> int:
        """How many answers are kept."""
        return len(self._found)

    def find(self, state: State, question: str) -> dict[str, Any] | None:
        """Return the answer to `question` in `state`; None if it has to be found."""
        if state != self._state:
            self._state, self._room = state, ROOM
            self._found.clear()
        return self._found.get(question)

    def keep(self, question: str, answer: dict[str, Any]) -> None:
        """Keep the answer to a question that is new in this state, if there is room."""
        columns, alike = answer["columns"], answer.get("alike", ())
        size = sum(map(len, columns.values())) + len(columns) + len(alike) + _BESIDE + len(question) // _CHARACTERS
        if size <= self._room:
            self._room -= size
            self._found[question] = answer


def question(call: str, arguments: dict[str, Any], person: Person) -> str:
    """Return the key of a question: what is asked, and by which user, since some users see less."""
    return wire_json.dumps([call, arguments, person.uid, person.name, person.group])
