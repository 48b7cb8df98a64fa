"""Answers on their way: carried out already, and given when what they rest on is on the disk.

What a turn did is one entry here, with the number of the last line the journal had by then. Turns are released in
order, so no client is answered, and no script is started, before all that came earlier is safe. If the disk fails, the
clients without an answer are told that.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.slurmctld.processes.real_jobs import Pending

Answer = dict[str, Any]
Answers = list[tuple["asyncio.Future[Answer]", Answer]]


@dataclass(slots=True)
class _Turn:
    number: int
    answers: Answers
    pending: Pending | None


class Outgoing:
    """Of one server."""

    def __init__(self) -> None:
        self._turns: deque[_Turn] = deque()
        self._lost: Answer | None = None  # what those of the present turn are told instead

    def add(self, number: int, answers: Answers, pending: Pending | None) -> None:
        """Add the answers of the present turn, and what else waits for the journal's entry `number`."""
        if self._lost is not None:
            answers, pending = [(future, self._lost) for future, _ in answers], None
            self._lost = None
        if answers or pending:
            self._turns.append(_Turn(number, answers, pending))

    def refuse(self, text: str, *, in_turn: bool) -> None:
        """Refuse all that waits, because it is lost; so is what the present turn has done so far, if `in_turn`."""
        lost: Answer = {"refused": [0, text]}
        turns, self._turns = self._turns, deque()
        for turn in turns:
            _give([(future, lost) for future, _ in turn.answers])
        if in_turn:
            self._lost = lost

    def release(self, number: int) -> Iterator[Pending]:
        """Give the answers that rest on entries up to `number`; what else waited for these."""
        while self._turns and self._turns[0].number <= number:
            turn = self._turns.popleft()
            if turn.pending is not None:
                yield turn.pending
            _give(turn.answers)


def _give(answers: Answers) -> None:
    for future, answer in answers:
        if not future.done():  # else the client has gone
            future.set_result(answer)
