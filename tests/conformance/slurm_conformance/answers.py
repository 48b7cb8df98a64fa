"""What real Slurm answered, by release: one JSON file an area.

A scenario has a list with an entry a compared step. An entry is an object of releases; a release that is not named
answers as the one before it. `null` is an answer that real Slurm did not repeat: it is not compared.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurm_conformance.scenario import HERE, FormatError, release_number

FOLDER = HERE / "answers"


@dataclass(frozen=True)
class Answer:
    """The answer to one command, with ids of jobs and times of day replaced."""

    status: int
    output: tuple[str, ...]  # lines
    errors: tuple[str, ...]  # lines


Entry = dict[str, Answer | None]
Answers = dict[str, list[Entry]]


def read(area: str, folder: Path = FOLDER) -> Answers:
    """Return the answers of an area by scenario; none where nothing was recorded. Raises FormatError."""
    path = folder / f"{area}.json"
    if not path.exists():
        return {}
    try:
        table = json.loads(path.read_text("utf-8"))
        return {name: [{release: _answer(one) for release, one in entry.items()} for entry in entries]
                for name, entries in table.items()}  # fmt: skip
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise FormatError(f"{path.name}: {error}") from None


def _answer(value: list[Any] | None) -> Answer | None:
    return None if value is None else Answer(int(value[0]), tuple(map(str, value[1])), tuple(map(str, value[2])))


def expected(entry: Entry, release: str) -> Answer | None:
    """Return what that release answers: its own entry, or that of the newest release before it."""
    known = [one for one in entry if release_number(one) <= release_number(release)]
    return entry[max(known, key=release_number)] if known else None


def join(entry: Entry, release: str, answer: Answer | None) -> Entry:
    """Return the entry with a release's answer in it, and with no release that only repeats the one before it."""
    full = {**entry, release: answer}
    kept: Entry = {}
    for one in sorted(full, key=release_number):
        if not kept or full[one] != kept[max(kept, key=release_number)]:
            kept[one] = full[one]
    return kept


def write(area: str, answers: Answers, folder: Path = FOLDER) -> None:
    """Write an area's answers, a line an answer."""
    rows = []
    for name, entries in sorted(answers.items()):
        told = ",\n  ".join(json.dumps({release: _row(one) for release, one in entry.items()}, ensure_ascii=False)
                            for entry in entries)  # fmt: skip
        rows.append(f"{json.dumps(name, ensure_ascii=False)}: [\n  {told}\n]")
    (folder / f"{area}.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


def _row(answer: Answer | None) -> list[Any] | None:
    return None if answer is None else [answer.status, list(answer.output), list(answer.errors)]
