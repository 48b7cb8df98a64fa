"""``slurmsim dispatch``: the drawing, the JSON, the picture, and one line for whatever is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurmsim.cli import main

PROBLEM = """
now = 100

[[nodes]]
count = 3
core = 4

[[jobs]]
id = "run"
q = 50
rn = 1
core = 3
duration = 60
ewt = 10
start = 80
nodes = [1]

[[jobs]]
id = 7
q = 90
rn = 4
core = 2
duration = 50
ewt = 10

[[jobs]]
id = "late"
q = 100
rn = 2
core = 4
duration = 30
ewt = 20
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    return path


def test_json_has_the_keys_of_the_documentation(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TOML and JSON are the same problem; only seconds differ."""
    answers = []
    data = {
        "now": 100, "nodes": [{"count": 3, "core": 4}],
        "jobs": [
            {"id": "run", "q": 50, "rn": 1, "core": 3, "duration": 60, "ewt": 10, "start": 80, "nodes": [1]},
            {"id": 7, "q": 90, "rn": 4, "core": 2, "duration": 50, "ewt": 10},
            {"id": "late", "q": 100, "rn": 2, "core": 4, "duration": 30, "ewt": 20},
        ],
    }  # fmt: skip
    file.with_suffix(".json").write_text(json.dumps(data))
    for path in (file, file.with_suffix(".json")):
        assert main(["dispatch", str(path), "--policy", "pcp20", "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
        for key in ("seconds", "build_seconds", "solve_seconds"):
            assert answers[-1].pop(key) >= 0
    answer: dict[str, Any] = answers[0]
    assert answers[1] == answer
    assert {"objective", "first_objective", "hint_objective", "status", "variables", "starts", "layout"} <= set(answer)
    assert answer["starts"]["run"] == 80 and answer["layout"]["run"] == {"1": 1}
    assert answer["status"] == "optimal" and sum(answer["layout"]["7"].values()) == 4


def test_the_drawing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = file.with_name("plan.png")
    assert main(["dispatch", str(file), "--policy", "cp_eurora:model=mks", "--out", str(picture)]) == 0
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert lines[0].startswith("cp_eurora:model=mks: optimal, makespan 180 (list schedule 180,")
    assert lines[4].split() == ["job", "start", "end", "units", "|100", "180|", "nodes"]
    bars = {line.split()[0]: line for line in lines[6:9]}
    assert bars["run"].split()[1:4] == ["80", "140", "1"] and "|=====" in bars["run"]
    assert bars["7"].split()[1:4] == ["100", "150", "4"] and "#####" in bars["7"]
    assert lines[-1] == f"Written: {picture}" and picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "change, policy, said",
    [
        (("rn = 4", "rn = 0"), "pcp20", "{file}: jobs[1].rn: expected an integer from 1 to 1099511627776, got 0"),
        (
            ("rn = 4", "rn = 9"),
            "pcp20",
            "{file}: jobs[1].rn: expected at most 6, what all nodes hold when empty, got 9",
        ),
        (
            ("core = 2", "core = 5"),
            "pcp20",
            "{file}: jobs[1].core: expected at most 4, what the largest node has, got 5",
        ),
        (("now = 100", "now ="), "pcp20", "{file}: Invalid value"),
        (("", ""), "cp_eurora:model=msk", "--policy: bad value 'msk' for option model of policy cp_eurora"),
        (("", ""), "cp_eurora:delta=0.99", "--policy: bad value '0.99' for option delta of policy cp_eurora"),
        (("", ""), "easy", "--policy: policy 'easy' plans no single instances"),
        (("", ""), "pcp20:reserve=oldest", "--policy: option 'reserve' of policy pcp20 is for runs (expected"),
        (("", ""), "pcp", "SchedulerType: no policy is called 'pcp'"),
    ],
)
def test_what_is_wrong_gets_one_line(
    file: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], policy: str, said: str
) -> None:
    file.write_text(PROBLEM.replace(*change))
    assert main(["dispatch", str(file), "--policy", policy]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert printed.err.startswith("slurmsim: error: " + said.format(file=file))


@pytest.mark.parametrize(
    "words, said",
    [
        (["none.toml", "--policy", "pcp20"], "none.toml: cannot be read: No such file or directory"),
        (["x.toml", "--policy", "pcp20", "--out", "plan.pdf"], "--out: 'plan.pdf' is no picture"),
        (["x.toml"], "the following arguments are required: --policy"),
    ],
)
def test_wrong_words_get_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["dispatch", *words])
    except SystemExit as ended:  # argparse
        code = ended.code
    assert code == 2 and said in capsys.readouterr().err
