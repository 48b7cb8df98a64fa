"""Each sentence of the changelogs of 25.05 to 26.05 has one place in `changelog.toml`, and what it names is there."""

from __future__ import annotations

import dataclasses
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.release_changes import CHANGES

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = {"25.05": 426, "25.11": 481, "26.05": 374}
KINDS = ("row", "module", "not_modelled", "no_effect")


def numbers(text: str) -> Iterator[int]:
    """Yield the numbers of ``1-3 7``."""
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def test_every_sentence_has_one_place() -> None:
    table = tomllib.loads(Path(__file__).with_name("changelog.toml").read_text("utf-8"))["sentences"]
    rows = {*CHANGES, *(field.name for field in dataclasses.fields(ReleaseRules))}
    for release, count in SENTENCES.items():
        told = Counter(number for entry in table for number in numbers(entry.get(release, "")))
        assert told == Counter(range(1, count + 1))
    for entry in table:
        (kind,) = set(KINDS) & entry.keys()
        assert kind != "row" or entry[kind] in rows
        assert kind != "module" or (ROOT / entry[kind]).is_file()
