"""Numbers of workload models and of streams are refused above one bound, in one line."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from slurmsim.errors import ConfigError
from slurmsim.toml_file import whole_number
from slurmsim_workloads.generators import MODELS, generate
from slurmsim_workloads.parameters import MOST, MOST_JOBS
from slurmsim_workloads.streams import read_streams

NUMBERS = [
    (model.name, one.name) for model in MODELS.values() for one in model.parameters()
    if model.params.__dataclass_fields__[one.name].metadata["kind"] in (int, float)
]  # fmt: skip


@pytest.mark.parametrize("text", ["9" * 19, "9" * 400, str(MOST + 1)])
@pytest.mark.parametrize(("model", "name"), NUMBERS)
def test_no_parameter_is_larger(model: str, name: str, text: str) -> None:
    few = {"jobs": "20"} if (model, "jobs") in NUMBERS else {}
    with pytest.raises(ConfigError) as refused:
        generate(model, {**few, name: text}, 1)
    said = str(refused.value)
    assert said.startswith(f"{name}: bad value ") and len(said) < 200 and "\n" not in said
    assert name != "jobs" or f"at most {MOST_JOBS:,}" in said


@pytest.mark.parametrize(("model", "name"), [pair for pair in NUMBERS if pair[1] in ("nodes", "cpus_per_node")])
def test_sizes_at_the_bound_fit(model: str, name: str) -> None:
    try:
        found = generate(model, {"jobs": "20", name: str(MOST)}, 1)
    except ConfigError as refused:
        assert "\n" not in str(refused)
        return
    assert (found.ints["run_time"] > 0).all()


STREAM = '[[stream]]\nname = "s"\njobs = 5\ngap = 10\nrun = 60\n'


@pytest.mark.parametrize(
    "line", ["jobs = {}", "gap = {}", "run = {}", "start = {}", "time_limit = {}", "limit = {}", "nodes = {}"]
)
@pytest.mark.parametrize("number", [MOST + 1, 9 * 10**18, 10**40])
def test_no_number_of_a_stream_is_larger(tmp_path: Path, line: str, number: int) -> None:
    kept = [one for one in STREAM.splitlines() if one.split(" = ")[0] != line.split(" = ")[0]]
    file = tmp_path / "s.toml"
    file.write_text("\n".join([*kept, line.format(number)]) + "\n")
    with pytest.raises(ConfigError) as refused:
        read_streams(str(file))
    assert str(refused.value).startswith(str(file)) and "at most 1,000,000,000" in str(refused.value)


def test_draws_are_cut_off_there(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(STREAM.replace("run = 60", 'run = {dist = "expon", scale = 1e200}'))
    rows = read_streams(str(file))[0].streams[0].rows(0, 5, 1)
    assert (rows.ints["run_time"] == MOST).all() and (rows.ints["time_limit"] == MOST).all()


@pytest.mark.parametrize("value", ["x", 1.5, True, datetime.datetime(2026, 1, 5), [1], {"a": 1}])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="a whole number, at least 1"):
        whole_number("f", "", {"key": value}, "key", 1)
