"""What slurmsim answers: a recorded session asked of a live cluster, by the driver of the golden sessions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "golden"))
import replay

from unseen.score import Answer, Judged, judge


def answers(recording: dict[str, Any], conf: Path, up_s: int) -> list[Answer]:
    """Our answer to each command of `recording`, in order."""
    return [
        _answer(code, out, error, recording["volatile"])
        for _, code, out, error in replay.asked(recording, conf, up_s=up_s)
    ]


def recorded(recording: dict[str, Any]) -> list[Answer]:
    """Real Slurm's."""
    volatile = recording["volatile"]
    return [_answer(s["rc"], s["stdout"], s["stderr"], volatile) for s in recording["steps"] if "cmd" in s]


def _answer(code: int | None, out: str, error: str, volatile: list[list[str]]) -> Answer:
    return Answer(code, replay.normal(out, volatile).splitlines(), replay.normal(error, volatile).splitlines())


def compare(name: str, recording: dict[str, Any], conf: Path, again: dict[str, Any] | None = None) -> list[Judged]:
    """Every command of a session judged; `again` is a second recording of it.

    How long slurmctld had been up is not recorded: the likeliest phase is tried first, the others where more than one
    command in twenty differs, and the best is kept.
    """
    steps = [step for step in recording["steps"] if "cmd" in step]
    real = recorded(recording)
    sure = [True] * len(real) if again is None else [a == b for a, b in zip(real, recorded(again), strict=True)]
    best: list[Judged] = []
    guess = replay.guess_up_s(replay.start_of(recording))
    for up_s in dict.fromkeys((guess, *replay.UP_S)):
        found = judge(name, zip(steps, real, answers(recording, conf, up_s), sure, strict=True))
        if not best or _wrong(found) < _wrong(best):
            best = found
        if _wrong(best) <= len(steps) / 20:
            break
    return best


def _wrong(judged: list[Judged]) -> int:
    return sum(one.verdict in ("different", "repeat") for one in judged)
