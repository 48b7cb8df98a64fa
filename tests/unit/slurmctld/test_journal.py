"""The journal's file: whatever happens to it is told from a clean end, and said; nothing is ever silently accepted."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import OutputError
from slurmsim.slurmctld.history.disk_syncs import MOST
from slurmsim.slurmctld.history.journal import Journal, mark, mark_of, read
from slurmsim.slurmctld.history.journal_file import acknowledged, read_contents
from slurmsim.slurmctld.history.salvage import salvage

HEADER = {"start": 1000, "conf": ""}
COUNT = 8


def entry(number: int) -> list[Any]:
    return [1000 + number, "submit", 0, "root", {"job": {"name": "x" * number}}, {"last_id": 100 + number}]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("journal"))


def write(folder: Path) -> Path:
    path = folder / "journal"
    journal = Journal(path)
    journal.begin(HEADER)
    for number in range(1, COUNT + 1):
        journal.append(entry(number))
        journal.sync()
    journal.close()
    return path


def problem(path: Path, data: bytes) -> str:
    found = read_contents(data, "journal", mark(path))
    assert found.problem or found.entries == [(n, entry(n)) for n in range(1, COUNT + 1)]
    return found.problem


def test_what_was_written_is_read(written: Path) -> None:
    found = read(written)
    assert found.entries == [(n, entry(n)) for n in range(1, COUNT + 1)]
    assert found.header["format"] == 2
    assert found.header["writer"].startswith("slurmsim ")
    assert problem(written, written.read_bytes() + b"\0" * 5000) == ""  # the room taken ahead


# -- everything that can happen to a file ---------------------------------------------------------------------------


@given(st.data())
def test_a_cut_is_told(written: Path, data: st.DataObject) -> None:
    whole = written.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    assert problem(written, whole[:at] + b"\0" * data.draw(st.integers(0, 100)))


@given(st.data())
def test_a_flipped_bit_is_told(written: Path, data: st.DataObject) -> None:
    whole = bytearray(written.read_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert problem(written, bytes(whole))


@given(st.data())
def test_lines_that_come_twice_are_missing_or_change_places_are_told(written: Path, data: st.DataObject) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    at, other = data.draw(st.integers(0, COUNT)), data.draw(st.integers(0, COUNT))
    kind = data.draw(st.sampled_from(["twice", "missing", "swapped"]))
    if kind == "twice":
        lines.insert(other + 1, lines[at])
    elif kind == "missing":
        del lines[at]
    else:
        lines[at], lines[other] = lines[other], lines[at]
    if kind != "swapped" or at != other:
        assert problem(written, b"".join(lines))


@given(st.binary(max_size=300))
def test_garbage_is_never_a_traceback(written: Path, data: bytes) -> None:
    assert read_contents(data, "journal", b"").problem
    first = written.read_bytes().splitlines(keepends=True)[0]
    read_contents(first + data, "journal", data)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (
            [0, 1, 2, 2, 3, 4, 5, 6, 7, 8],
            "line 4: damaged in the middle: number 3 was expected, number 2 came once more",
        ),
        ([0, 1, 2, 4, 5, 6, 7, 8], "line 4: damaged in the middle: number 3 is missing"),
        ([0, 1, 2, 6, 7, 8], "line 4: damaged in the middle: numbers 3 to 5 are missing"),
        ([0, 1, 2, 4, 3, 5, 6, 7, 8], "line 4: damaged in the middle: numbers 4 and 3 have changed places"),
        ([0, 1, 2, 3, 4, 5, 6], "line 8: the file ends before number 7: its tail was cut; 2 entries from number 7"),
        ([1, 2, 3], "line 1: the header is torn or damaged"),
        ([], "the journal is empty"),
    ],
)
def test_each_is_named(written: Path, order: list[int], said: str) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    assert said in problem(written, b"".join(lines[k] for k in order))


def test_a_damaged_line_is_named_and_what_is_lost(written: Path) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"xxx", b"xyx")
    said = problem(written, b"".join(lines))
    assert "line 4: damaged in the middle: number 3 was expected and cannot be read" in said
    assert "6 entries from number 3 on cannot be read (acknowledged up to 8)" in said


def test_lines_of_another_journal_do_not_fit(written: Path, tmp_path: Path) -> None:
    ours, theirs = (path.read_bytes().splitlines(keepends=True) for path in (written, write(tmp_path)))
    assert problem(written, b"".join([*ours[:5], *theirs[5:]]))


@pytest.mark.parametrize("torn", [1, 5, 40])
def test_a_torn_last_line_that_nobody_was_told_of_is_cut_off(tmp_path: Path, torn: int) -> None:
    path = write(tmp_path)
    before = mark(path)
    journal = Journal(path)
    journal.open()
    journal.append(entry(9))
    journal.sync()
    mark_of(path).write_bytes(before)  # the machine failed before anybody was told
    path.write_bytes(path.read_bytes()[:-torn] + b"\0" * 100)
    journal = Journal(path)
    assert journal.open().last == COUNT
    journal.append(entry(9))
    journal.close()
    assert [number for number, _ in read(path).entries] == list(range(1, COUNT + 2))


# -- formats, and journals that begin later ---------------------------------------------------------------------------


def test_a_newer_format_is_refused_by_name(tmp_path: Path) -> None:
    text = b"0 " + json.dumps({"format": 3, "writer": "slurmsim 7.0"}).encode()
    (tmp_path / "journal").write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))
    with pytest.raises(
        OutputError, match=r"written by slurmsim 7.0 in format 3; this is .*, which reads formats 1 and 2"
    ):
        Journal(tmp_path / "journal").open()


def test_a_journal_may_begin_after_a_snapshot(tmp_path: Path) -> None:
    path = write(tmp_path)
    journal = Journal(path)
    header = journal.open().header
    again = journal.begin({**header, "snapshot": {"name": "snapshot-5", "crc": 1}}, after=5)
    for number in (6, 7):
        journal.append(entry(number))
    journal.sync()
    assert again["id"] == header["id"]
    found = read(path)
    assert (found.header["after"], found.header["snapshot"]["name"]) == (5, "snapshot-5")
    assert found.entries == [(6, entry(6)), (7, entry(7))]
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    assert (
        "line 2: damaged in the middle: number 6 is missing"
        in read_contents(b"".join([lines[0], lines[2]]), "j").problem
    )


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path)
    journal = Journal(path)
    journal.open()
    with monkeypatch.context() as patched:
        patched.setattr("os.fdatasync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        journal.append(entry(9))
        with pytest.raises(OutputError, match="No space left"):
            journal.sync()
    journal.append(entry(9))
    journal.close()
    assert read(path).last == 9


def test_a_link_in_place_of_a_journal_is_not_followed(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="cannot read the journal"):
        Journal(path).open()


# -- salvage ----------------------------------------------------------------------------------------------------------


def test_salvage_keeps_the_original_and_goes_on_with_what_can_be_read(tmp_path: Path) -> None:
    path = write(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = b"".join([*lines[:4], lines[4].replace(b"xxx", b"xyx"), *lines[5:]])
    path.write_bytes(damaged)
    assert "numbers 4 to 8 (5) are lost; the damaged journal is journal.damaged-1" in salvage(tmp_path)
    assert (tmp_path / "journal.damaged-1").read_bytes() == damaged
    found = read(path)
    assert found.entries[:3] == [(n, entry(n)) for n in (1, 2, 3)]
    assert found.entries[3][1][1:] == ["salvaged", 0, "", {"last_id": 108, "lost": [4, 8]}]
    assert salvage(tmp_path) == ""


def test_nothing_is_saved_without_a_header(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(data := path.read_bytes()[50:])
    with pytest.raises(OutputError, match="nothing can be saved"):
        salvage(tmp_path)
    assert path.read_bytes() == data


# -- syncs beside our work --------------------------------------------------------------------------------------------


class Disk:
    """Stands in for `os.fdatasync`: each sync waits until it is let go, and may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gates: list[Event] = []
        self.failing: set[int] = set()
        self.descriptors: list[int] = []
        monkeypatch.setattr("os.fdatasync", self.sync)

    def sync(self, descriptor: int) -> None:
        number, gate = len(self.gates), Event()
        self.descriptors.append(descriptor)
        self.gates.append(gate)
        assert gate.wait(10)
        if number in self.failing:
            raise OSError(5, "Input/output error")

    def let_go(self, number: int) -> None:
        soon(lambda: len(self.gates) > number)
        self.gates[number].set()


def soon(what: Callable[[], object]) -> None:
    """Wait until `what` is true."""
    last = time.monotonic() + 10
    while not what():
        assert time.monotonic() < last
        time.sleep(0.001)


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(write(tmp_path))
    journal.open()
    journal.told = lambda: None
    yield journal
    journal.told = None
    journal.close()


def written_of(journal: Journal, number: int) -> None:
    journal.append(entry(number))
    journal.write()


def until_confirmed(journal: Journal, number: int) -> None:
    def confirmed() -> bool:
        journal.write()
        return journal.confirmed >= number

    soon(confirmed)
    assert journal.confirmed == number


def test_an_entry_is_confirmed_once_all_before_it_are_on_the_disk(
    beside: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    for number in range(9, 9 + MOST):
        written_of(beside, number)
    assert (beside.last, beside.confirmed) == (8 + MOST, 8)
    for k in range(1, MOST):  # all but the first
        disk.let_go(k)
    time.sleep(0.02)
    beside.write()
    assert beside.confirmed == 8
    assert acknowledged(mark(beside.path), beside._id) == 8
    disk.let_go(0)
    until_confirmed(beside, 8 + MOST)
    assert len(set(disk.descriptors)) == MOST  # each is told of its own failures
    assert acknowledged(mark(beside.path), beside._id) == 8 + MOST
    monkeypatch.undo()


def test_what_comes_while_all_syncs_are_busy_goes_with_the_next_one(
    beside: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    for number in range(9, 12 + MOST):
        written_of(beside, number)
    assert (beside.last, beside.noted) == (8 + MOST, 11 + MOST)
    for k in range(MOST):
        disk.let_go(k)

    def begun() -> bool:
        beside.write()
        return len(disk.gates) > MOST

    soon(begun)
    disk.let_go(MOST)
    until_confirmed(beside, 11 + MOST)
    assert len(disk.gates) == MOST + 1
    monkeypatch.undo()


def test_a_failed_sync_takes_all_that_came_after_it(beside: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    disk.failing.add(1)
    for number in (9, 10, 11):
        written_of(beside, number)
    beside.append(entry(12))
    for k in range(3):
        disk.let_go(k)
    with pytest.raises(OutputError, match="Input/output error"):
        until_confirmed(beside, 12)
    assert (beside.confirmed, beside.last, beside.noted) == (9, 9, 9)
    assert beside.failure.endswith("Input/output error")
    monkeypatch.undo()
    assert read(beside.path).entries == [(n, entry(n)) for n in range(1, 10)]
    written_of(beside, 10)
    beside.sync()
    assert read(beside.path).last == 10


def test_what_need_not_be_on_the_disk_waits_for_what_was_before_it(
    beside: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    written_of(beside, 9)
    beside.append(entry(10), durable=False)
    beside.write()
    assert beside.confirmed == 8
    disk.let_go(0)
    until_confirmed(beside, 10)
    assert len(disk.gates) == 1
    monkeypatch.undo()
