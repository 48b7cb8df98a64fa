"""What slurmsim answers: a recorded session asked of a live cluster, by the driver of the golden sessions."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "golden"))
import replay
from same_jobs import SameJobs

from slurmsim.sessions.normalising import normal
from unseen.documents import DOCUMENTS, Compared, compared, values
from unseen.kept import AGAIN
from unseen.score import Answer, Judged, judge
from unseen.seconds import late, sooner
from unseen.sessions import BOOT

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def answers(recording: dict[str, Any], conf: Path, up_s: int) -> list[Answer]:
    """Our answer to each command of `recording`, in order."""
    return [
        _answer(step, code, out, error, recording["volatile"])
        for step, code, out, error in replay.asked(
            recording, conf, up_s=up_s, same=SameJobs(), sooner=sooner(recording, up_s), late=late(recording)
        )
    ]


def commands(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps that ask something."""
    return [step for step in recording["steps"] if "cmd" in step]


def recorded(recording: dict[str, Any]) -> list[Answer]:
    """Real Slurm's."""
    volatile = recording["volatile"]
    return [_answer(s, s["rc"], s["stdout"], s["stderr"], volatile) for s in commands(recording)]


def _answer(step: dict[str, Any], code: int | None, out: str, error: str, volatile: list[list[str]]) -> Answer:
    if step.get("verb") in DOCUMENTS:
        return Answer(code, [out], [error])
    return Answer(code, normal(out, volatile).splitlines(), normal(error, volatile).splitlines())


def up_s_of(recording: dict[str, Any]) -> int:
    """How long slurmctld had been up when the recording began, as the scene's first command says."""
    for step in recording["steps"]:
        if step.get("cmd") == BOOT and (at := _TIME.search(step["stdout"])):
            return max(replay.start_of(recording) - replay.start_of({"start": at[0]}), 1)
    return replay.guess_up_s(replay.start_of(recording))


def compare(
    name: str, recording: dict[str, Any], conf: Path, others: list[dict[str, Any]] | None = None,
    up_s: int | None = None,
) -> list[Judged]:  # fmt: skip
    """Every command of a session judged; `others` are its other recordings, if it does not bring them itself."""
    others = others or recording.get(AGAIN) or []
    return judged(name, recording, others, answers(recording, conf, up_s_of(recording) if up_s is None else up_s))


def compare_itself(name: str, recording: dict[str, Any], others: list[dict[str, Any]] | None = None) -> list[Judged]:
    """The last recording of a session judged as ours is, by those before it: nobody can be expected to do better."""
    *before, last = others or recording[AGAIN]
    return judged(name, recording, before, recorded(last))


def compare_documents(
    name: str, recording: dict[str, Any], others: list[dict[str, Any]], found: list[Answer]
) -> list[Compared]:
    """The documents of a session, ours in `found`, value by value."""
    starts = [replay.start_of(one) for one in (recording, *others)]
    real = [recorded(one) for one in (recording, *others)]
    return [
        compared(name, step, [values(one[k].out[0], start) for one, start in zip(real, starts, strict=True)],
                 values(found[k].out[0], starts[0]))
        for k, step in enumerate(commands(recording)) if step.get("verb") in DOCUMENTS
    ]  # fmt: skip


def judged(name: str, recording: dict[str, Any], others: list[dict[str, Any]], found: list[Answer]) -> list[Judged]:
    """Every command but documents judged."""
    real = recorded(recording)
    again = [recorded(other) for other in others]
    sure = [all(answer == theirs[k] for theirs in again) for k, answer in enumerate(real)]
    rows = zip(commands(recording), real, found, sure, strict=True)
    return judge(name, [row for row in rows if row[0].get("verb") not in DOCUMENTS])
