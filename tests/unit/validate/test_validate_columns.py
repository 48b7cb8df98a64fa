"""Columns with nulls: which rows they are in, and what it takes to read them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slurmsim.validate.columns import NULL, _ints, _texts

ROWS: list[int | None] = [*range(60), None, 5, None, *range(9)]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint32(), pa.int64()])
def test_nulls_of_chunks_that_begin_in_the_middle(kind: pa.DataType) -> None:
    column = pa.chunked_array([pa.array(ROWS, kind).slice(59), pa.array([], kind), pa.array([None], kind)])
    assert _ints(column, "int64?", "jobs.parquet", "end").tolist() == [
        NULL if v is None else v for v in [*ROWS[59:], None]
    ]


def test_nulls_among_texts() -> None:
    texts = pa.array([f"u{k % 100}" if k % 3 else None for k in range(300)]).dictionary_encode()
    few = pa.DictionaryArray.from_arrays(texts.indices.cast(pa.int8()), texts.dictionary)
    for column in (
        pa.chunked_array([few.slice(7), few.slice(0, 7)]),
        pa.chunked_array([texts.slice(7), texts.slice(0, 7)]),
    ):
        found = _texts(column, "jobs.parquet", "user")
        assert [found[row] or None for row in range(300)] == column.to_pylist()


def test_nulls_do_not_load_pandas(tmp_path: Path) -> None:
    """It takes longer to load than a small trace to validate."""
    pq.write_table(pa.table({"end": pa.array([1, None], pa.int64())}), tmp_path / "t.parquet")
    code = (
        "import sys; from pathlib import Path; from slurmsim.trace.schema import Column; "
        "from slurmsim.validate.columns import read_table; "
        "read_table(Path(sys.argv[1]), {'end': Column('int64?', '', '')}); print('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "t.parquet"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
