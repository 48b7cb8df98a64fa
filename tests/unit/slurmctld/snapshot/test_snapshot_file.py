"""Snapshots on disk: whole or not at all, and every damage is told."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import OutputError, SlurmSimError, WorkloadError
from slurmsim.slurmctld.snapshot.file import read, write

TABLES = [{"kind": "a", "n": 1, "items": [["b", 1]]}, {"kind": "c", "n": 0, "items": []}, {"kind": "d", "n": 2}]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshot") / "snapshot-7"
    write(path, {"writer": "x", "after": 7}, iter(TABLES))
    return path


def test_what_was_written_is_read(whole: Path) -> None:
    header, tables, crc = read(whole)
    assert header == {"snapshot": 1, "writer": "x", "after": 7}
    assert tables == TABLES
    assert crc == int(whole.read_bytes().splitlines()[-1][:8], 16)
    assert whole.stat().st_mode & 0o777 == 0o600
    assert not list(whole.parent.glob("*.part"))


@given(data=st.data())
def test_any_damage_is_told(whole: Path, data: st.DataObject) -> None:
    good = whole.read_bytes()
    lines = good.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 1))
    other = data.draw(st.integers(0, len(lines) - 1))
    byte, bit = data.draw(st.integers(0, len(good) - 1)), data.draw(st.integers(0, 7))
    flipped = bytearray(good)
    flipped[byte] ^= 1 << bit
    swapped = lines.copy()
    swapped[at], swapped[other] = swapped[other], swapped[at]
    bad = data.draw(st.sampled_from([
        good[:byte], bytes(flipped), b"".join(lines[:at] + lines[at + 1:]),
        b"".join(lines[:at] + lines[at:at + 1] * 2 + lines[at + 1:]), b"".join(swapped), good + b"x",
    ]))  # fmt: skip
    path = whole.with_name("bad")
    path.write_bytes(bad)
    if bad == good:
        assert read(path)[1] == TABLES
        return
    with pytest.raises(WorkloadError):
        read(path)


def test_a_later_format_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "s"
    write(path, {"writer": "slurmsim 9.1"}, iter(TABLES))
    text = path.read_bytes().replace(b'"snapshot":1', b'"snapshot":2')
    crc, lines = 0, []
    for line in text.splitlines():
        crc = zlib.crc32(line[9:], crc)
        lines.append(b"%08x %s\n" % (crc, line[9:]))
    path.write_bytes(b"".join(lines))
    with pytest.raises(WorkloadError, match=r"format 2, written by slurmsim 9\.1"):
        read(path)


def test_links_are_not_followed(whole: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(whole)
    with pytest.raises(OutputError):
        read(link)
    trap, victim = tmp_path / "snapshot.part", tmp_path / "victim"
    trap.symlink_to(victim)
    with pytest.raises(OutputError, match="cannot write"):
        write(tmp_path / "snapshot", {}, iter(TABLES))
    assert not victim.exists()


def test_nothing_is_left_of_one_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write the snapshot"):
        write(tmp_path / "gone" / "snapshot", {}, iter(TABLES))
    with pytest.raises(SlurmSimError):
        write(tmp_path / "s", {}, iter([{"bad": 1}, *_failing()]))
    assert not list(tmp_path.iterdir())


def _failing():  # type: ignore[no-untyped-def]
    raise OutputError("the engine broke")
    yield
