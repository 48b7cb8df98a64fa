"""The list of messages of srun, sbatch and slurmstepd: each has one place, and the tests it names are there."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENDS = ("test", "recorded", "printed", "missing", "never")
MOST = {"printed": 99, "missing": 76}
"""Messages without a test, and those that are not printed here: both only shrink."""


def test_every_message_has_one_place() -> None:
    table = tomllib.loads(Path(__file__).with_name("messages.toml").read_text("utf-8"))["messages"]
    places: Counter[tuple[str, str]] = Counter()
    ends: Counter[str] = Counter()
    for entry in table:
        (end,) = set(ENDS) & entry.keys()
        lines = [(name, line) for name, text in entry.items() if name != end for line in text.split()]
        places.update(lines)
        ends[end] += len(lines)
        assert end != "test" or (ROOT / entry[end]).is_file()
    assert max(places.values()) == 1
    assert all(ends[end] <= most for end, most in MOST.items())
