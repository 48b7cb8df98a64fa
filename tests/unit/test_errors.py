"""What a user did wrong is told in one line, whatever was in the file."""

from __future__ import annotations

from slurmsim.errors import WorkloadError


def test_where_and_what() -> None:
    error = WorkloadError("is 'x'", file="log.txt", line=3, field="NCPUS", expected="a whole number")
    assert str(error) == "log.txt:3: NCPUS: is 'x' (expected a whole number)"


def test_a_name_from_a_damaged_file_stays_in_its_line() -> None:
    assert str(WorkloadError("unknown column", field="m\nm")) == r"'m\nm': unknown column"


def test_what_was_expected_and_where_stay_in_the_line_too() -> None:
    error = WorkloadError("no table", file="a\nb.toml", expected="[accounts.\n] with keys")
    assert str(error) == r"a\nb.toml: no table (expected [accounts.\n] with keys)"
