"""Dumps with a line, a value or a file changed at random: a twin, or one line of what is wrong; never a traceback."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from slurmsim.errors import SlurmSimError
from slurmsim.twin.build import build
from slurmsim.twin.dump import Dump

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "twin"))
import small_dump as small

RESERVATION = """ReservationName=r StartTime=1767610000 EndTime=1767613600 Duration=01:00:00
   Nodes=a1 NodeCnt=1 CoreCnt=4 Features=(null) PartitionName=(null) Flags=SPEC_NODES
   Users=ann Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null)
"""
FILES = {
    **small.FILES, "sprio.txt": "2|main|ann|998|0|0|0|0|0|0|normal|0\n", "assoc_mgr.txt": "QOS=x\n    UsageRaw=1\n",
    "reservation.txt": RESERVATION,
}  # fmt: skip
WORDS = st.sampled_from([
    "", "0", "-1", "9" * 30, "²", "(null)", "a[1-3]", "a[1-9999999]", "UNLIMITED", "1-", "\x00", "é", "gpu:99999999999",
    "2026-13-45T00:00:00", "JobId=", "cpu=", "(", "1" * 5000, "RUNNING", "x" * 300, "4-9%2", "[", "1:1:1:1", "1e9",
    "0x10", "afterok:2", "a1,a1", "99999999999", "PENDING",
])  # fmt: skip


@st.composite
def dumps(draw: st.DrawFn) -> Dump:
    """Return the small dump with up to four changes."""
    texts = dict(FILES)
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(sorted(texts)))
        lines = texts[name].split("\n")
        at = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(("value", "value", "value", "drop", "twice", "cut", "lose")))
        if kind == "value" and "=" in lines[at]:
            parts = lines[at].split("=")
            k = draw(st.integers(1, len(parts) - 1))
            rest = parts[k].partition(" ")[2]
            parts[k] = draw(WORDS) + (f" {rest}" if rest else "")
            lines[at] = "=".join(parts)
        elif kind == "drop":
            del lines[at]
        elif kind == "twice":
            lines.insert(at, lines[at])
        elif kind == "cut":
            lines[at:] = [lines[at][: len(lines[at]) // 2]]
        elif kind == "lose" and name != "job.txt":
            del texts[name]
            continue
        texts[name] = "\n".join(lines)
    return Dump("dump", texts)


@settings(max_examples=settings().max_examples // 2)
@given(dumps())
def test_a_wild_dump_is_a_twin_or_one_line(dump: Dump) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        try:
            twin = build(dump, Path(scratch))
            twin.engine.network.advance(twin.now + 3600)
        except SlurmSimError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 6000
