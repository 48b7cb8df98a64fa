"""Footers of Parquet files: what they say of columns is what Arrow says, and damage is refused."""

import contextlib
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim import parquet_file
from slurmsim.errors import WorkloadError
from slurmsim.parquet_footer import TAIL, FooterError, chunks
from slurmsim_workloads import read_workload

# https://github.com/apache/parquet-format, Encodings
NAMES = {0: "PLAIN", 3: "RLE", 5: "DELTA_BINARY_PACKED", 7: "DELTA_BYTE_ARRAY", 8: "RLE_DICTIONARY"}


def written(table: pa.Table, **options) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def footer(data: bytes) -> bytes:
    n = int.from_bytes(data[-TAIL:-4], "little")
    return data[-TAIL - n : -TAIL]


@given(
    rows=st.integers(0, 40), size=st.integers(1, 20), plain=st.booleans(),
    names=st.lists(st.text("ab", max_size=3), min_size=40, max_size=40),
    meta=st.dictionaries(st.text(max_size=4), st.text(max_size=300), max_size=3),
)  # fmt: skip
def test_what_arrow_says(rows, size, names, plain, meta) -> None:
    lists = [[n] for n in range(rows)]
    schema = pa.schema({"a": pa.int64(), "b": pa.string(), "c": pa.list_(pa.int64())})
    table = pa.table([list(range(rows)), names[:rows], lists], schema=schema)
    options = {
        "use_dictionary": False,
        "column_encoding": {"a": "DELTA_BINARY_PACKED", "b": "DELTA_BYTE_ARRAY", "c.list.element": "PLAIN"},
    }
    data = written(table.replace_schema_metadata(meta), row_group_size=size, **({} if plain else options))
    about = pq.read_metadata(io.BytesIO(data))
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    found = list(chunks(footer(data)))
    assert [(one.num_values, one.uncompressed) for one in found] == [
        (column.num_values, column.total_uncompressed_size) for column in columns
    ]
    assert [{NAMES[n] for n in one.encodings} for one in found] == [set(column.encodings) for column in columns]


GOOD = footer(written(pa.table({"submit": [1, 2], "name": ["x", "y"]})))


@given(st.binary(max_size=40), st.integers(0, len(GOOD)), st.integers(0, 40))
def test_damage_is_read_or_refused(other: bytes, at: int, gone: int) -> None:
    for data in (GOOD[:at] + other + GOOD[at + gone :], other):
        with contextlib.suppress(FooterError):
            assert len(list(chunks(data))) < 100


BROKEN = {
    "empty": b"",
    "cut": GOOD[:-1],
    "lists in lists": b"\x19" * 10_000,
    "structs in structs": b"\x1c" * 10_000,
    "an endless list": b"\x19\xf1" + b"\xff" * 8 + b"\x01",
    "an endless number": b"\x15" + b"\xff" * 99,
    "no such type": b"\x1d",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_broken(data: bytes) -> None:
    with pytest.raises(FooterError):
        list(chunks(data))


def test_statistics_of_another_type(tmp_path: Path) -> None:
    """Arrow's view of such a column ended the process."""
    table = pa.table({"job_id": [1], "submit": [1], "run_time": [1], "name": [b"x"]})
    data = written(table, store_schema=False)
    text, number = (b"\x15" + kind + b"\x25\x02\x18\x04name" for kind in (b"\x0c", b"\x04"))
    assert data.count(text) == 1
    file = tmp_path / "log.parquet"
    file.write_bytes(data.replace(text, number))
    with pytest.raises(WorkloadError, match="INT64") as refused:
        read_workload(file)
    assert str(file) in str(refused.value) and "\n" not in str(refused.value)


def test_a_long_footer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "log.parquet"
    file.write_bytes(written(pa.table({"submit": [1]}).replace_schema_metadata({"x": "y" * 3_000_000})))
    monkeypatch.setattr(parquet_file, "MOST_FOOTER", 2 << 20)
    with pytest.raises(WorkloadError, match="footer of more than 2 MiB"):
        read_workload(file)
