"""Rows of ended jobs in SQLite: what goes in comes out, queries tell what a walk over all tells, files break."""

from __future__ import annotations

import random
import shutil
import sqlite3
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import OutputError
from slurmsim.slurmctld.base.job_record import JobRecord
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.step import Step
from slurmsim.slurmctld.database import usage_rows
from slurmsim.slurmctld.database.record_query import conditions, on_nodes
from slurmsim.slurmctld.database.record_store import SCHEMA, RecordStore
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header

START = 1_767_600_000
ROOT = Person("root", 0, "root", 0, "/root")


@cache
def engine() -> Engine:
    return make_engine(new_header(start=START, mode="frozen", rate=1.0, nodes=4, cpus=4, owner=0), Path("."))


def record(job_id: int = 1, **more: Any) -> JobRecord:
    values: dict[str, Any] = {
        "db_index": 7, "original_index": 7, "job_id": job_id, "array_job_id": 0, "array_task_id": None,
        "array_task_str": None, "array_max_tasks": 0, "assoc_id": 3, "account": "physics", "user": "alice", "uid": 2001,
        "gid": 2001, "group": "alice", "partition": "batch", "qos": "normal", "name": "j", "state": "COMPLETED",
        "exit_code": 0, "derived_ec": 0, "killed_by": None, "submit": START, "eligible": START, "start": START,
        "end": START + 60, "suspended": 0, "time_limit": 10, "nodes": "n1", "alloc_nodes": 1, "req_cpus": 1,
        "mem_cpu": None, "mem_node": None, "tres_req": {"cpu": 1}, "tres_alloc": {"cpu": 1, "node": 1}, "priority": 1,
        "flags": ("SchedMain", "StartRecieved"), "reason": "None", "constraints": None, "resv_name": None, "resv_id": 0,
        "restarts": 0, "asked": {"script": "#!/bin/sh\n", "work_dir": "/tmp"}, "admin_comment": None, "comment": None,
        "first_cpus": 1, "first_mem": 0, "steps": [],
    }  # fmt: skip
    return JobRecord(**values | more)


TEXTS = st.text(max_size=4) | st.sampled_from(["a", "A", "Ä", "ä", "K", "k", "ß", "\udcff"])
TIMES = st.integers(START, START + 30)
STATES = st.sampled_from(["COMPLETED", "FAILED", "RUNNING", "PENDING", "SUSPENDED", "RESIZING", "CANCELLED"])
WORDS = st.sampled_from(["a", "A", "b", "Ä", "ä", "K", "k"])
STEPS = st.builds(
    Step, st.sampled_from([0, 1, 0xFFFFFFFB]), TEXTS, TIMES, st.just((0, 2)), st.just((1, 1)), st.just((1, 2)),
    st.just((0, 0)), st.just(0), st.dictionaries(st.sampled_from(["cwd", "std_out"]), TEXTS), STATES,
    st.integers(0, 99), st.none() | TIMES, st.none() | st.integers(0, 3), st.booleans(),
)  # fmt: skip


@st.composite
def records(draw: st.DrawFn) -> JobRecord:
    array = draw(st.sampled_from([0, 0, 1, 3]))
    return record(
        draw(st.integers(1, 6)), array_job_id=array, array_task_id=draw(st.integers(0, 2)) if array else None,
        assoc_id=draw(st.integers(0, 2)), account=draw(WORDS), uid=draw(st.integers(0, 2)), gid=draw(st.integers(0, 2)),
        partition=draw(WORDS), qos=draw(WORDS), name=draw(WORDS), state=draw(STATES), submit=draw(TIMES),
        eligible=draw(st.none() | st.just(0) | TIMES), start=draw(st.just(0) | TIMES), end=draw(st.just(0) | TIMES),
        suspended=draw(st.integers(0, 1)), time_limit=draw(st.none() | st.integers(-1, 3)),
        nodes=draw(st.sampled_from(["n1", "n[1-2]", "n3"])), alloc_nodes=draw(st.integers(0, 2)),
        req_cpus=draw(st.integers(1, 3)), tres_alloc=draw(st.sampled_from([{}, {"cpu": 2}, {"cpu": 1, "node": 1}])),
        flags=draw(st.sampled_from([(), ("SchedMain",)])), reason=draw(WORDS), constraints=draw(st.none() | WORDS),
        asked=draw(st.dictionaries(st.sampled_from(["wckey", "script", "work_dir"]), WORDS)),
    )  # fmt: skip


CONDITIONS = st.fixed_dictionaries(
    {"start": st.just(0) | TIMES, "end": TIMES | st.just(START + 10**6) | st.just(1 << 70)},
    optional={
        "accounts": st.lists(WORDS, max_size=2), "names": st.lists(WORDS, max_size=2),
        "qos": st.lists(WORDS, max_size=2),
        "partitions": st.lists(WORDS, max_size=2), "uids": st.lists(st.integers(0, 2) | st.just(1 << 80), max_size=2),
        "gids": st.lists(st.integers(0, 2), max_size=2), "associations": st.lists(st.integers(0, 2), max_size=2),
        "reasons": st.lists(WORDS, max_size=1), "wckeys": st.lists(WORDS, max_size=1), "flags": st.just(["SchedMain"]),
        "constraints": st.lists(WORDS | st.just(""), max_size=1), "nodes": st.sampled_from(["n1", "n[2-3]"]),
        "jobs": st.lists(st.tuples(st.integers(0, 6) | st.just(1 << 90), st.none() | st.integers(0, 2)), max_size=2),
        "states": st.lists(STATES, max_size=2), "duplicates": st.booleans(),
        "cpus": st.sampled_from([(1, 2), (2, None)]), "time_limit": st.just((0, 2)), "n_nodes": st.just((1, None)),
    },
)  # fmt: skip


def by_hand(found: list[JobRecord], cond: dict[str, Any]) -> list[JobRecord]:
    """What the condition selects of all records, one after the other."""
    found = [r for r in found if all(test(r) for test in conditions(cond))]
    found.sort(key=lambda r: (r.job_id, -r.submit))
    rows: list[JobRecord] = []
    for r in found:
        if not rows or rows[-1].job_id != r.job_id or cond.get("duplicates") or r.state == "RESIZING":
            rows.append(r)
    there = on_nodes(cond)  # the last run elsewhere hides one that was there
    return [r for r in rows if there is None or there(r)]


@pytest.mark.hypothesis
@given(st.lists(records(), max_size=12), CONDITIONS, st.integers(0, 12), st.integers(0, 4))
def test_a_query_tells_what_a_walk_over_all_records_tells(
    rows: list[JobRecord], cond: dict[str, Any], written: int, most: int
) -> None:
    e = engine()
    e.storage.store = RecordStore()
    for k, one in enumerate(rows):
        if k == written:
            e.storage.store.flush()
        e.storage.store.add(one)
    if len(rows) <= written:
        e.storage.store.flush()
    expected = by_hand(rows, cond)
    assert e.storage.page(cond, ROOT, 0, None)[0] == expected
    pages: list[JobRecord] = []
    after: int | None = 0
    while after is not None:
        page, after = e.storage.page(cond, ROOT, after, most)
        pages += page
    assert pages == expected


@pytest.mark.hypothesis
@given(st.lists(records(), max_size=8), st.integers(-3, 12), st.integers(0, 12))
def test_usage_is_the_same_wherever_rows_are(rows: list[JobRecord], first: int, hours: int) -> None:
    e = engine()
    e.storage.store = RecordStore()
    e.network.advance(START + 10**5)
    rows = [replace(r, account=r.account, start=r.start and r.start + 3500, end=r.end and r.end + 9000) for r in rows]
    for one in rows:
        e.storage.store.add(one)
    window = START + first * 1800, START + first * 1800 + hours * 1800
    cond = {"start": window[0], "end": window[1]}
    waiting = sorted(map(repr, usage_rows.runs(e, cond)))
    e.storage.store.flush()
    assert sorted(map(repr, usage_rows.runs(e, cond))) == waiting


@pytest.mark.hypothesis
@given(TEXTS, TEXTS, st.lists(STEPS, max_size=2), st.integers(0, 2**64 - 1), st.none() | st.integers(-1, 2**40))
def test_a_record_comes_back_as_it_was(
    name: str, script: str, steps: list[Step], index: int, limit: int | None
) -> None:
    store = RecordStore()
    kept = record(name=name, steps=steps, db_index=index, time_limit=limit, asked={"script": script, "wckey": name})
    store.add(kept)
    store.flush()
    (found,) = store.select("TRUE", (), walk=True)
    assert [_values(step) for step in found.steps] == [_values(step) for step in steps]
    assert replace(found, steps=[]) == replace(kept, steps=[])


def _values(step: Step) -> list[Any]:
    return [getattr(step, name) for name in Step.__slots__]


def ids(store: RecordStore) -> list[int]:
    return [r.job_id for r in store.select("TRUE", (), walk=True)] + [r.job_id for r in store.waiting()]


def filled(path: Path, count: int) -> RecordStore:
    store = RecordStore(path)
    assert store.rewind(0) == []
    for k in range(1, count + 1):
        store.add(record(k), place=k, shown=[k])
    return store


def test_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "accounting.db"
    filled(path, 3).checkpoint()
    assert {f.stat().st_mode & 0o777 for f in tmp_path.iterdir()} == {0o600}
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match=r"link: cannot use the rows of ended jobs"):
        RecordStore(tmp_path / "link").rewind(0)


def test_rows_behind_the_mark_are_forgotten_and_come_again(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db", 3)
    mark = store.checkpoint()
    store.add(record(4))
    store.flush()
    store.add(record(5))
    store.close()  # killed: one row is on the disk, one in memory
    again = RecordStore(tmp_path / "a.db")
    assert again.rewind(mark) == []
    assert (ids(again), again.mark) == ([1, 2, 3], 3)
    for k in (4, 5):
        again.add(record(k))
    again.flush()
    assert ids(again) == [1, 2, 3, 4, 5]
    assert again.rewind(0) == []  # the whole journal is carried out again
    assert ids(again) == []


def test_a_checkpoint_is_in_the_file_itself(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db", 3)
    assert store.checkpoint() == 3
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")  # without what is written ahead
    copy = RecordStore(tmp_path / "b.db")
    assert copy.rewind(3) == []
    assert ids(copy) == [1, 2, 3]


def test_missing_rows_are_said(tmp_path: Path) -> None:
    (said,) = RecordStore(tmp_path / "none.db").rewind(1200)
    assert said == f"{tmp_path}/none.db: 1,200 of 1,200 rows of ended jobs are lost: " \
                   "sacct and sreport do not know these runs"  # fmt: skip
    store = filled(tmp_path / "a.db", 3)
    store.checkpoint()
    store.close()
    store = RecordStore(tmp_path / "a.db")
    (said,) = store.rewind(5)
    assert "a.db: 2 of 5 rows" in said
    store.add(record(6))
    store.flush()
    assert (store.mark, ids(store)) == (6, [1, 2, 3, 6])


@pytest.mark.parametrize("mark", [0, 400])
def test_a_damaged_file_is_put_aside_and_said(tmp_path: Path, mark: int) -> None:
    path = tmp_path / "a.db"
    store = filled(path, 400)
    store.checkpoint()
    store.close()
    data = bytearray(path.read_bytes())
    data[8192:40_000] = bytes(40_000 - 8192)
    path.write_bytes(data)
    store = RecordStore(path)
    said = store.rewind(mark)
    assert "a.db: damaged (" in said[0] and "put aside as a.db.damaged" in said[0]
    assert (tmp_path / "a.db.damaged").read_bytes() == bytes(data)
    assert said[0].endswith("400 of 400 rows were read from it" if mark else "they are made again from the journal")
    assert len(said) == 1
    assert ids(store) == [*range(1, mark + 1)]  # the indexes alone were there
    store.close()
    path.write_bytes(b"no database at all" * 100)
    assert "put aside as a.db.damaged-1" in RecordStore(path).rewind(mark)[0]


def texts_of(store: RecordStore) -> dict[int, JobRecord]:
    return {one.job_id: one for one in store.select("TRUE", [], walk=True)}


@pytest.mark.parametrize("seed", range(40))
def test_one_bad_byte_costs_one_row_at_most_and_is_named(tmp_path: Path, seed: int) -> None:
    """Anywhere in the file: header, pages, indexes, numbers, texts, scripts, checksums."""
    path, draw = tmp_path / "a.db", random.Random(seed)
    store = RecordStore(path)
    store.rewind(0)
    for k in range(1, 41):
        store.add(record(k, name=f"job-{k}", asked={"script": f"#!/bin/sh\n{k}\n" * 10}), place=k, shown=[k, "x"])
    store.checkpoint()
    before = texts_of(store)
    store.close()
    data = bytearray(path.read_bytes())
    at = draw.randrange(len(data))
    data[at] ^= 1 << draw.randrange(8)
    path.write_bytes(data)
    store = RecordStore(path)
    said = store.rewind(40)
    after = texts_of(store)
    shown = [place for place, _ in store.shown(0)]
    kept = {job for job, one in after.items() if one == before[job]}
    without_script = {job for job in after if job not in kept}
    for job in without_script:
        assert after[job] == replace(before[job], asked={})
    lost = 40 - len(after)
    assert set(shown) == set(after)
    assert lost + len(without_script) <= (1 if not any("put aside as a.db.damaged" in one for one in said) else 40), (
        said
    )
    if lost or without_script:
        assert any("damaged" in one for one in said), at
    again = RecordStore(path)
    store.close()
    again.rewind(40)
    assert texts_of(again) == after  # nothing more comes to light


def damage(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


@pytest.mark.parametrize("bad", [b"qwErt", b"qw\xffrt", b'qw"rt', b"qw\0rt"])
def test_a_bad_byte_in_a_text_is_put_aside_and_named(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "a.db"
    store = RecordStore(path)
    store.rewind(0)
    for k in range(1, 4):
        store.add(record(k, name="qwert" if k == 2 else "j"), place=k, shown=[k])
    store.checkpoint()
    store.close()
    damage(path, b"qwert", bad)
    store = RecordStore(path)
    assert store.rewind(3) == [f"{path}: a row of an ended job is damaged and put aside: row 2 (job 2); sacct and "
                               "sreport do not know them"]  # fmt: skip
    assert ids(store) == [1, 3]
    assert [(one.row, one.job) for one in store.aside] == [(2, 2)]
    (kept,) = store.execute("SELECT CAST(job_name AS BLOB) FROM aside")
    assert kept == (bad,)  # what is left of it is still there
    store.add(record(4))
    store.checkpoint()
    store.close()
    again = RecordStore(path)
    assert "row 2 (job 2)" in again.rewind(4)[0]  # said at each start
    assert ids(again) == [1, 3, 4]


def test_damage_while_the_daemon_runs_is_put_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A query goes on with the other rows."""
    path = tmp_path / "a.db"
    store = filled(path, 300)
    store.checkpoint()
    for row, column, value in ((7, "job_name", b"\xff"), (8, "rest", b"{"), (9, "id_user", 5)):
        next(store.execute(f"UPDATE job SET {column} = CAST(? AS TEXT) WHERE row = {row}", (value,)), None)
    assert ids(store) == [k for k in range(1, 301) if k not in (7, 8, 9)]
    assert [one.row for one in store.aside] == [7, 8, 9]
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (f"slurmsim: warning: {path}: 3 rows of ended jobs are damaged and put aside: row 7 (job 7), row 8 "
                    "(job 8), row 9 (job 9); sacct and sreport do not know them")  # fmt: skip


def test_a_file_of_the_first_schema_gets_checksums(tmp_path: Path) -> None:
    """A row that was damaged before is put aside."""
    path = tmp_path / "a.db"
    store = filled(path, 3)
    store.checkpoint()
    before = texts_of(store)
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE job DROP COLUMN crc")
        db.execute("DROP TABLE aside")
        db.execute("DROP TABLE script_aside")
        db.execute("UPDATE job SET rest = '{' WHERE row = 2")
        db.execute("PRAGMA user_version = 1")
    db.close()
    store = RecordStore(path)
    (said,) = store.rewind(3)
    assert "row 2 (job 2)" in said
    assert texts_of(store) == {job: one for job, one in before.items() if job != 2}
    store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    db.close()


def test_a_newer_format_is_refused_by_name_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = filled(path, 1)
    store.checkpoint()
    store.close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    db.close()
    before = path.read_bytes()
    for mark in (0, 1):
        with pytest.raises(OutputError, match=rf"a\.db: written by a newer slurmsim \(format {SCHEMA + 1}, this one"):
            RecordStore(path).rewind(mark)
    assert path.read_bytes() == before


def test_a_disk_that_is_full_loses_no_row(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db", 1)
    store.flush()
    (pages,) = next(store.execute("PRAGMA page_count"))
    next(store.execute(f"PRAGMA max_page_count = {pages}"))
    for k in range(2, 2500):
        store.add(record(k, comment="x" * 50))
    assert ids(store) == list(range(1, 2500))
    with pytest.raises(OutputError, match=r"a.db: cannot write the rows of ended jobs"):
        store.checkpoint()
    next(store.execute("PRAGMA max_page_count = 1000000"))
    assert store.checkpoint() == 2499
    assert ids(store) == list(range(1, 2500))


def test_equal_scripts_are_stored_once() -> None:
    store = RecordStore()
    for k in range(5):
        store.add(record(k + 1, asked={"script": f"#!/bin/sh\necho {k % 2}\n"}))
    store.flush()
    assert next(store.execute("SELECT count(*) FROM script")) == (2,)
