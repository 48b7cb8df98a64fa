"""The trace writer: what goes in comes out, and nothing that was there is ever lost."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slurmsim.errors import InvariantError, OutputError
from slurmsim.trace import schema, staging
from slurmsim.trace.reader import read_trace
from slurmsim.trace.schema import OPTIONAL, TABLES
from slurmsim.trace.writer import ROW_GROUP, TraceWriter


def usage_rows(n, first=0):
    return [(first + i, ("", "batch")[i % 2], i, 1, 0, i % 7, 0, 0, i, 1, 0, 0) for i in range(n)]


def put(folder: Path, n: int = 3, policy: str = "easy") -> Path:
    with TraceWriter(folder) as writer:
        for row in usage_rows(n):
            writer.usage.append(row)
        writer.write_json("summary.json", {"policy": policy})
        writer.write_json("run.json", {"policy": policy})
    return folder


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


TRACE = ["events.parquet", "jobs.parquet", "requeued.parquet", "run.json", "summary.json", "usage.parquet"]


@pytest.mark.parametrize("table", [table for table in TABLES if table not in OPTIONAL])
def test_each_table_has_the_columns_and_types_of_the_schema(tmp_path, table):
    put(tmp_path / "t")
    found = pq.read_schema(tmp_path / "t" / f"{table}.parquet")
    assert found.names == list(TABLES[table])
    for name, column in TABLES[table].items():
        field = found.field(name)
        if column.kind == "text":
            assert pa.types.is_dictionary(field.type) and field.type.value_type == pa.string()
        else:
            assert field.type == pa.int64()
        assert field.nullable == (column.kind == "int64?")
    assert found.metadata[b"slurmsim.trace_schema"] == str(schema.SCHEMA_VERSION).encode()


def test_rows_come_back_in_order_with_their_nulls(tmp_path):
    rows = [
        (10, "START", 7, "RUNNING", "None", "bätch", "n[1-2]", 3, "Main"),
        (11, "NODE", None, "DOWN", "", "", "n1", None, ""),
    ]
    with TraceWriter(tmp_path / "t") as writer:
        for row in rows:
            writer.events.append(row)
    table = pq.read_table(tmp_path / "t" / "events.parquet")
    assert [tuple(r.values()) for r in table.to_pylist()] == rows
    assert names(tmp_path / "t") == [n for n in TRACE if n != "summary.json"]


def test_row_groups_are_full_and_bytes_do_not_depend_on_when_or_how_rows_arrive(tmp_path):
    n = 2 * ROW_GROUP + 1_000
    rows = usage_rows(n)
    as_rows, often, batches = (TraceWriter(tmp_path / name) for name in ("rows", "often", "batches"))
    append = as_rows.usage.append
    for row in rows:
        append(row)
    for i, row in enumerate(rows):
        often.usage.append(row)
        if i % 9_001 == 0:
            often.flush_if_full()
    assert as_rows.usage.append is append
    for begin in range(0, n, 50_000):
        batches.usage.extend(rows[begin : begin + 50_000])
        batches.usage.flush()
    files = [writer.close() / "usage.parquet" for writer in (as_rows, often, batches)]
    assert len({file.read_bytes() for file in files}) == 1
    meta = pq.ParquetFile(files[0]).metadata
    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [ROW_GROUP, ROW_GROUP, 1_000]
    assert pq.read_table(files[0]).column("time").to_pylist() == list(range(n))
    assert json.loads((tmp_path / "rows" / "run.json").read_text())["rows"] == {
        "jobs": 0, "events": 0, "usage": n, "requeued": 0,
    }  # fmt: skip


def test_memory_is_handed_on_while_rows_arrive(tmp_path):
    writer = TraceWriter(tmp_path / "t")
    for row in usage_rows(ROW_GROUP + 10):
        writer.usage.append(row)
    writer.flush_if_full()
    assert writer.usage.n_rows == ROW_GROUP + 10
    assert len(writer.usage._rows) == 0 and writer.usage._pending == 10
    writer.close()


def test_same_rows_same_bytes_under_another_hash_seed(tmp_path):
    code = (
        "import sys; from pathlib import Path; from slurmsim.trace.writer import TraceWriter\n"
        "w = TraceWriter(Path(sys.argv[1]))\n"
        "for i in range(1000): w.usage.append((i, f'p{i % 13}') + (i,) * 10)\n"
        "w.close()"
    )
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, str(tmp_path / seed)], env=env, check=True)
    assert (tmp_path / "1" / "usage.parquet").read_bytes() == (tmp_path / "2" / "usage.parquet").read_bytes()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((1, "p"), "rows are not of 12 cells"),
        ((None, "p", *[1] * 10), "column time"),
        ((1, "p", "x", *[1] * 9), "column alloc_nodes"),
    ],
)
def test_rows_that_break_the_schema_are_our_bug_and_say_which_column(tmp_path, row, message):
    writer = TraceWriter(tmp_path / "t")
    writer.usage.append(row)
    with pytest.raises(InvariantError, match=f"usage.parquet: .*{message}"):
        writer.close()
    assert not (tmp_path / "t").exists()


def test_json_keeps_its_order_and_has_no_nan(tmp_path):
    with TraceWriter(tmp_path / "t") as writer:
        writer.write_json("summary.json", {"z": float("nan"), "a": np.int64(3), "m": Path("x"), "l": np.array([1.5])})
    text = (tmp_path / "t" / "summary.json").read_text()
    assert json.loads(text) == {"z": None, "a": 3, "m": "x", "l": [1.5]}
    assert text.index('"z"') < text.index('"a"')


def test_a_sealed_trace_can_be_read_and_added_to_before_it_is_in_place(tmp_path):
    writer = TraceWriter(tmp_path / "t")
    writer.usage.append(usage_rows(1)[0])
    staged = writer.seal()
    assert read_trace(staged).usage.num_rows == 1
    writer.write_json("run.json", {"policy": "easy"})
    (staged / "report.html").write_text("page")
    assert names(tmp_path / "t") == [staging.STAGING]
    assert writer.close() == tmp_path / "t" == writer.close()
    assert read_trace(tmp_path / "t").manifest["policy"] == "easy"
    assert (tmp_path / "t" / "report.html").read_text() == "page"
    assert staging.STAGING not in names(tmp_path / "t")


# -- what was there before ------------------------------------------------------------------------------------------


def test_an_earlier_trace_is_replaced_as_a_whole_at_close(tmp_path):
    folder = put(tmp_path / "t", policy="old")
    (folder / "plots").mkdir()
    (folder / "plots" / "gantt.png").write_text("old")
    (folder / "report.html").write_text("old")
    (folder / "notes.txt").write_text("mine")
    writer = TraceWriter(folder)
    writer.write_json("run.json", {"policy": "new"})
    assert read_trace(folder).manifest["policy"] == "old"
    writer.close()
    # Pictures of the old run would not belong to the new one; the user's own file stays.
    assert names(folder) == sorted([*[n for n in TRACE if n != "summary.json"], "notes.txt"])
    assert read_trace(folder).manifest["policy"] == "new"


@pytest.mark.parametrize("failure", [ValueError("a bug"), OutputError("disk full")])
def test_a_failing_run_leaves_the_earlier_trace_alone(tmp_path, failure):
    folder = put(tmp_path / "t")
    before = {name: (folder / name).read_bytes() for name in TRACE}
    with pytest.raises(type(failure)), TraceWriter(folder) as writer:
        writer.usage.append(usage_rows(1)[0])
        raise failure
    assert {name: (folder / name).read_bytes() for name in names(folder)} == before


def test_a_failing_run_leaves_no_folder_it_made(tmp_path):
    with pytest.raises(ValueError), TraceWriter(tmp_path / "a" / "b"):
        raise ValueError
    assert names(tmp_path) == []


def test_ctrl_c_leaves_a_readable_partial_trace(tmp_path):
    with pytest.raises(KeyboardInterrupt), TraceWriter(tmp_path / "t") as writer:
        writer.usage.append(usage_rows(1)[0])
        raise KeyboardInterrupt
    trace = read_trace(tmp_path / "t")
    assert trace.partial and trace.usage.num_rows == 1
    assert not read_trace(put(tmp_path / "t")).partial  # the next run replaces it


def test_a_partial_trace_does_not_replace_a_complete_one(tmp_path):
    folder = put(tmp_path / "t", policy="old")
    writer = TraceWriter(folder)
    writer.write_json("run.json", {"policy": "new"})
    where = writer.close(partial=True)
    assert where == folder / "interrupted"
    assert read_trace(where).partial and read_trace(where).manifest["policy"] == "new"
    assert read_trace(folder).manifest["policy"] == "old" and not read_trace(folder).partial
    put(folder)
    assert not where.exists()


def test_a_folder_with_other_files_is_refused_and_untouched(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(OutputError, match=r"holds files that are no slurmsim trace \(such as run.json\)"):
        TraceWriter(tmp_path)
    assert names(tmp_path) == ["run.json", "thesis.tex"]


def test_an_empty_folder_is_fine(tmp_path):
    assert put(tmp_path) == tmp_path and names(tmp_path) == TRACE


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "t").write_text("")
    with pytest.raises(OutputError, match=r"t: cannot write: the output path is not a folder"):
        TraceWriter(tmp_path / "t")
    with pytest.raises(OutputError, match=r"t/below: cannot write: "):
        TraceWriter(tmp_path / "t" / "below")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux's /proc, where nobody can make a folder")
def test_an_unwritable_place_is_named():
    with pytest.raises(OutputError, match=r"^/proc/slurmsim-out: cannot write: \S"):
        TraceWriter(Path("/proc/slurmsim-out"))


def test_a_second_run_into_the_same_folder_is_refused(tmp_path):
    first = TraceWriter(tmp_path / "t")
    with pytest.raises(OutputError, match="another run is writing to this folder"):
        TraceWriter(tmp_path / "t")
    first.usage.append(usage_rows(1)[0])
    assert read_trace(first.close()).usage.num_rows == 1


# -- full disks and killed runs -------------------------------------------------------------------------------------


def test_a_full_disk_is_named_and_the_earlier_trace_stays(tmp_path):
    """A real refusal to write, in a child that may not write files beyond 200 kB."""
    folder = put(tmp_path / "t")
    before = {name: (folder / name).read_bytes() for name in TRACE}
    code = (
        "import signal, sys\nfrom pathlib import Path\nimport numpy as np\n"
        "from slurmsim.errors import OutputError\nfrom slurmsim.trace import schema\n"
        "from slurmsim.trace.writer import TraceWriter\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "w = TraceWriter(Path(sys.argv[1]))\n"
        "noise = np.random.default_rng(1).integers(0, 1 << 60, 200_000)\n"
        "try:\n"
        "    cells = ['' if c.kind == 'text' else None for c in schema.USAGE.values()]\n"
        "    w.usage.extend([tuple(n if c is None else c for c in cells) for n in noise.tolist()])\n"
        "    w.close()\n"
        "except OutputError as error:\n"
        "    w.abort()\n"
        "    sys.exit(f'{error}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
    )
    assert done.returncode == 1
    assert done.stderr.strip() == f"{folder}/usage.parquet: cannot write: {os.strerror(errno.EFBIG)}"
    assert {name: (folder / name).read_bytes() for name in names(folder)} == before


@pytest.mark.parametrize("moment", ["write_table", "close"])
def test_no_space_at_any_moment_is_one_line(tmp_path, monkeypatch, moment):
    folder = put(tmp_path / "t")
    writer = TraceWriter(folder)
    writer.usage.append(usage_rows(1)[0])

    def refuse(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pq.ParquetWriter, moment, refuse)
    with pytest.raises(OutputError) as caught:
        writer.close()
    assert str(caught.value).endswith(".parquet: cannot write: No space left on device")
    assert str(folder) in str(caught.value) and staging.STAGING not in str(caught.value)
    assert names(folder) == TRACE


def test_a_rename_that_fails_half_way_puts_everything_back(tmp_path, monkeypatch):
    folder = put(tmp_path / "t", policy="old")
    before = {name: (folder / name).read_bytes() for name in TRACE}
    writer = TraceWriter(folder)
    writer.write_json("summary.json", {})
    real, seen = os.replace, []

    def replace(source, target):
        seen.append(target)
        if len(seen) == 8:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(source, target)

    monkeypatch.setattr(staging.os, "replace", replace)
    with pytest.raises(OutputError, match="Input/output error"):
        writer.close()
    assert len(seen) > 8
    assert {name: (folder / name).read_bytes() for name in names(folder)} == before


@pytest.mark.parametrize("renames", range(13))
@pytest.mark.parametrize("earlier", [True, False])
def test_a_run_killed_between_two_renames_is_put_right_by_the_next(tmp_path, monkeypatch, renames, earlier):
    """Killed after so many renames: the next run finds the old trace whole, or the new one, never a mixture."""
    folder = put(tmp_path / "t", policy="old") if earlier else tmp_path / "t"
    writer = TraceWriter(folder)
    writer.write_json("run.json", {"policy": "new"})
    writer.write_json("summary.json", {"policy": "new"})
    real, count = os.replace, 0

    class Killed(BaseException):
        pass

    def replace(source, target):
        nonlocal count
        count += 1
        if count > renames:
            raise Killed
        real(source, target)

    monkeypatch.setattr(staging.os, "replace", replace)
    monkeypatch.setattr(staging.StagedFolder, "discard", lambda self: None)
    total = 12 if earlier else 6
    if renames < total:
        with pytest.raises(Killed):
            writer.close()
        # A killed process rolls nothing back: put the half-way state the except branch could not undo in place.
    else:
        writer.close()
    writer._folder._lock.close()
    monkeypatch.undo()

    after = TraceWriter(folder)
    policies = {
        f: json.loads((folder / f).read_text())["policy"] for f in ("run.json", "summary.json") if (folder / f).exists()
    }
    if renames >= total:
        assert policies == {"run.json": "new", "summary.json": "new"}
    elif earlier:
        assert policies == {"run.json": "old", "summary.json": "old"}
        assert read_trace(folder).usage.num_rows == 3
    else:
        assert policies == {}
    after.abort()
