"""docs/coverage.md is what the tables of the commands say."""

from __future__ import annotations

import pytest
from coverage_tables import TARGET, option_rows, text

from slurmsim import compiled


@pytest.mark.skipif(compiled(), reason="which fields are constant is read off bytecode: pure Python runs this")
def test_the_document_is_current() -> None:
    assert TARGET.read_text("utf-8") == text(), "run python tests/docs/coverage_tables.py"


def test_it_notices_what_is_there_and_what_is_not() -> None:
    rows = option_rows("sbatch")
    assert "-J --job-name" in rows["yes"] and "--bbf" in rows["refused"]
    assert option_rows("squeue")["yes"]
