"""The grid of a sweep: cells from a file, commands that make one alone, and one line for whatever is wrong."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.campaign.grid import read_grid
from slurmsim.campaign.sweep import plan
from slurmsim.cli import build_parser
from slurmsim.cli.run import run_keywords
from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.replaying.options import RunOptions

MODEL = "generate:lublin:jobs=20,nodes=8"
SMALL: dict[str, Any] = {"workloads": [MODEL], "policies": ["easy", "fcfs"], "seeds": 2}
LOG = "; MaxNodes: 4\n1 0 -1 60 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n"


def parsed(command: str) -> RunOptions:
    """The options the command line gives."""
    program, *words = shlex.split(command)
    args = build_parser("run").parse_args(words)
    assert program == "slurmsim"
    return RunOptions.of(**run_keywords(args))


def test_every_combination_is_a_cell(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(LOG)
    file = tmp_path / "grid.toml"
    file.write_text(
        'seeds = [3, 4]\nloads = [1, 1.5]\nwindows = ["0,10", {name = "late", window = "10,20"}]\n'
        'policies = ["fcfs", {name = "mine", policy = "easy:predictor=real"}]\n'
        "[run]\nnodes = 4\njitter = 5\nset = {PriorityType = 'priority/basic', MaxJobCount = 10}\n"
        '[[workloads]]\nname = "log"\nworkload = "log.swf"\noption = {max_procs = 4}\n'
        f'[[workloads]]\nworkload = "{MODEL}"\ncpus_per_node = 2\n'
        '[[settings]]\nname = "few"\nset = {MaxJobCount = 5}\n[[settings]]\nname = "live"\nas_live = true\n'
    )
    grid = read_grid(file)
    cells = list(grid.cells())
    assert len(cells) == len(grid) == 2 * 2 * 2 * 2 * 2 * 2
    assert len({cell.labels for cell in cells}) == len(cells)
    first = cells[0]
    assert first.name == "log, 0,10, few, fcfs, seed 3" and grid.baseline == "fcfs" and grid.name == "grid"
    assert first.options == RunOptions(
        str(tmp_path / "log.swf"), "", nodes=4, jitter=5, policy="fcfs", seed=3, window="0,10",
        set=(("PriorityType", "priority/basic"), ("MaxJobCount", "5")), option=(("max_procs", "4"),),
    )  # fmt: skip
    assert {cell.workload for cell in cells} == {"log", "lublin"}
    assert {cell.options.load for cell in cells} == {None, 1.5}
    for cell in cells:
        assert parsed(cell.command("alone")) == replace(cell.options, out="alone")


@given(
    st.builds(
        RunOptions, st.sampled_from(["a b.swf", MODEL]), st.just("out dir"), nodes=st.none() | st.integers(1, 9),
        seed=st.integers(0, 9), jitter=st.integers(-2, 9), load=st.none() | st.floats(0.1, 9), feedback=st.booleans(),
        set=st.lists(st.tuples(st.just("A"), st.text("ab= '\"$-", min_size=1)), max_size=2).map(tuple),
        accounting=st.lists(st.sampled_from(["x", "y z"]), max_size=2).map(tuple),
        until=st.none() | st.sampled_from(["+1-00:00:00", "-5"]), window=st.none() | st.just("-9,+1-00:00:00"),
    )
)  # fmt: skip
def test_a_command_gives_back_its_options(options: RunOptions) -> None:
    options = replace(options, set=tuple((k, v) for k, v in options.set if v == v.strip()))
    assert parsed(options.command()) == options


def test_users_are_drawn_also_at_their_own_load() -> None:
    grid = read_grid({**SMALL, "run": {"load_by": "users"}})
    assert {cell.options.load for cell in grid.cells()} == {1.0}


def test_a_longer_log_is_drawn_by_seeds() -> None:
    grid = read_grid({**SMALL, "workloads": ["nowhere.swf"], "seeds": 2, "run": {"weeks": 9}})
    assert {(cell.options.weeks, cell.options.seed) for cell in grid.cells()} == {(9, 1), (9, 2)}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"workloads": []}, "workloads: no cell has a workload"), ({"workload": MODEL}, "workload: unknown key"),
        ({"workloads": [{"name": "a"}]}, r"workloads\[1\]: has no workload"),
        ({"workloads": MODEL}, "workloads: is no list"), ({"workloads": [3]}, r"workloads\[1\]\.workload: 3"),
        ({"workloads": [MODEL, MODEL]}, r"workloads\[2\]: 'lublin' is there twice"),
        ({"policies": ["easy", "easy"]}, r"policies\[2\]: 'easy' is there twice"),
        ({"policies": [{"name": "a"}]}, r"policies\[1\]\.policy: None"),
        ({"policies": [{"polcy": "easy"}]}, r"policies\[1\]\.polcy: unknown key"),
        ({"policies": ["easy", "esay"]}, r"no policy is called 'esay'; .*easy\? \(cell: lublin, esay, seed 1\)"),
        ({"policies": ["easy:bf=1"]}, "unknown option 'bf' of policy easy"),
        ({"seeds": 0}, "seeds: 0"), ({"seeds": [1, -1]}, "seeds: -1"), ({"seeds": [2, 2]}, r"seeds\[2\]: 2 is there"),
        ({"loads": [1, 0]}, "loads: 0"), ({"loads": 3}, "loads: 3"), ({"loads": [True]}, "loads: True"),
        ({"baseline": "none"}, "baseline: no policy is called 'none'"), ({"per_job": 1}, "per_job: 1"),
        ({"run": {"nods": 3}}, r"run\.nods: unknown option"), ({"run": {"nodes": "3"}}, r"run\.nodes: '3'"),
        ({"run": {"seed": 3}}, r"run\.seed: is an axis"), ({"run": {"shares": 3}}, r"run\.shares: writes files"),
        ({"run": {"set": "A=b"}}, r"run\.set: 'A=b'"), ({"run": {"feedback": "yes"}}, r"run\.feedback: 'yes'"),
        ({"run": {"accounting": [1]}}, r"run\.accounting: \[1\]"), ({"run": {"until": True}}, r"run\.until: True"),
        ({"run": 3}, "run: is no table"), ({"settings": [{"nodes": 3}]}, r"settings\[1\]: has no name"),
        ({"workloads": ["nowhere.swf"], "run": {"jitter": 9}}, "nowhere.swf: cannot be read"),
        ({"workloads": ["nowhere.swf"]}, "nothing is drawn in the cells of nowhere.swf"),
        ({"workloads": ["generate:lublin:jobs=x"]}, "jobs"), ({"workloads": ["generate:lubin"]}, "lubin"),
        ({"run": {"conf": "nowhere.conf"}}, "nowhere.conf"), ({"run": {"set": {"Nonsense": 1}}}, "Nonsense"),
        ({"run": {"mtbf": 99999, "fair_start": 3}}, r"--fair-start with --mtbf: .* \(cell: lublin, easy, seed 1\)"),
        ({"run": {"feedback": True, "jitter": 3}}, r"--feedback with --jitter: "),
        ({"run": {"nodes": 3, "conf": "slurm.conf"}}, "--nodes: --nodes and --cpus-per-node do not go with --conf"),
        ({"run": {"jitter": -1}}, "--jitter: -1 is negative"), ({"run": {"jobs": 0}}, "--jobs: 0 jobs"),
        ({"seeds": 10**9}, "seeds: 1000000000 .expected at most 1,000,000 cells"),
        ({"seeds": 10**6, "loads": [1, 2]}, "the grid has 4,000,000 cells"),
        ({"loads": [10**400]}, r"loads: 10{39} .expected a factor above 0"),
        ({"seeds": [10**30]}, "seeds: 1000000000000000000000000000000 .expected a whole number from 0 to 922337"),
        ({"name": "x" * 10**7}, r"name: 'x{79}… \(10,000,002 characters\)"),
        ({"policies": ["x" * 10**7]}, r"policies\[1\].policy: 'x{79}…"),
        ({"workloads": ["x" * 10**7]}, r"workloads\[1\].workload: 'x{79}…"),
        ({"workloads": [{"name": "x" * 10**7, "workload": MODEL}]}, r"workloads\[1\].name: 'x{79}…"),
        ({"workloads": ["a\0b"]}, r"workloads\[1\].workload: 'a\\x00b'"),
        ({"workloads": ["/dev/zero"], "seeds": 1}, "/dev/zero: cannot be read: not a regular file but a device"),
        ({"policies": ["easy", {"name": "b", "policy": "easy"}]}, "lublin, easy, seed 1 and lublin, b, seed 1 are the"),
    ],
)  # fmt: skip
def test_one_line_before_anything_runs(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SlurmSimError, match=complaint) as caught:
        plan(read_grid({**SMALL, **change}))
    assert "\n" not in str(caught.value)


def test_a_key_that_is_there_twice(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text("seeds = 1\nseeds = 2\n")
    with pytest.raises(ConfigError, match=r"grid.toml: is no TOML: a key is there twice \(at line 2"):
        read_grid(file)
