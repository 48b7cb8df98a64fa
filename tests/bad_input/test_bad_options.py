"""Options that make no sense: one line that names the option and the bad value; exit code 2; nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_input_support import SWF, Case, assert_refused, command, prepare, run_cli

HEADLESS = {"log.swf": "".join(line for line in SWF.splitlines(keepends=True) if not line.startswith(";"))}

CASES = [
    Case("unknown policy", ("clever", "easy"), ("--policy", "clever")),
    Case("empty policy", ("--policy",), ("--policy", "")),
    Case("unknown policy option", ("easy", "colour"), ("--policy", "easy:colour=red")),
    Case("unknown predictor", ("predictor", "guess", "last_two"), ("--policy", "easy:predictor=guess")),
    Case("predictor of a policy without", ("--policy", "fcfs", "predictor"), ("--policy", "fcfs:predictor=real")),
    Case("predictor by names that no job has", ("data_driven", "name"), ("--policy", "easy:predictor=data_driven")),
    Case("policy option without value", ("--policy", "depth"), ("--policy", "easy:depth")),
    Case("no such reservations file", ("--reservations", "none.toml"), ("--reservations", "none.toml")),
    Case(
        "reservation of an unknown node",
        ("r.toml", "nodes", "x9"),
        ("--reservations", "r.toml"),
        {"r.toml": '[[reservation]]\nname = "r"\nstart = "+1"\nduration = 5\nnodes = "x9"\nusers = ["a"]\n'},
    ),
    Case(
        "reservation before the log",
        ("r.toml", "before the first job"),
        ("--reservations", "r.toml"),
        {"r.toml": '[[reservation]]\nname = "r"\nstart = -90\nduration = 1\nnodes = "ALL"\nusers = ["a"]\n'},
    ),
    Case(
        "reservation after the end",
        ("r.toml", "after the end of the run"),
        ("--reservations", "r.toml", "--until", "+600"),
        {"r.toml": '[[reservation]]\nname = "r"\nstart = "+900"\nduration = 5\nnodes = "ALL"\nusers = ["a"]\n'},
    ),
    Case(
        "reservation that ends before it begins",
        ("r.toml", "end"),
        ("--reservations", "r.toml"),
        {"r.toml": '[[reservation]]\nname = "r"\nstart = "+90"\nend = "+50"\nnodes = "ALL"\nusers = ["a"]\n'},
    ),
    Case("unknown choice for impossible jobs", ("--impossible-jobs", "keep"), ("--impossible-jobs", "keep")),
    Case("set without equals sign", ("--set", "KillWait"), ("--set", "KillWait")),
    Case("set of an unknown key", ("--set", "FooBar"), ("--set", "FooBar=1")),
    Case("set to a bad value", ("--set", "MaxJobCount", "abc"), ("--set", "MaxJobCount=abc")),
    Case("set of something not modelled", ("--set", "PreemptType"), ("--set", "PreemptType=preempt/qos")),
    Case("until that is no time", ("--until", "teatime"), ("--until", "teatime")),
    Case("until in the past of the log", ("--until", "-5"), ("--until=-5",)),
    Case("no jobs asked for", ("--jobs", "0"), ("--jobs", "0")),
    Case("fewer than no jobs", ("--jobs", "-3"), ("--jobs=-3",)),
    Case("jobs that are no number", ("--jobs", "all"), ("--jobs", "all")),
    Case("seed that is no number", ("--seed", "x"), ("--seed", "x")),
    Case("nodes beside a conf", ("--nodes", "--conf"), ("--nodes", "4")),
    Case("zero nodes", ("--nodes", "0"), ("--nodes", "0", "--cpus-per-node", "4"), conf=False),
    Case("minus four nodes", ("--nodes", "-4"), ("--nodes=-4", "--cpus-per-node", "4"), conf=False),
    Case("half a node", ("--nodes", "0.5"), ("--nodes", "0.5"), conf=False),
    Case("zero CPUs a node", ("--cpus-per-node", "0"), ("--nodes", "4", "--cpus-per-node", "0"), conf=False),
    Case("no cluster at all", ("log.swf", "--conf", "--nodes"), files=HEADLESS, conf=False),
    Case("unknown option", ("--colour",), ("--colour", "red")),
    Case("quiet and json at once", ("--json", "--quiet"), ("--json",)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_senseless_option_is_refused(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, case)
    assert_refused(run_cli(*command(case)), case.code, case.says)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ((), ()),
        (("dance",), ("dance",)),
        (("run",), ("--out",)),
        (("run", "--workload", "log.swf"), ("--out",)),
        (("run", "--out", "out"), ("--workload",)),
        (("run", "--workload"), ("--workload",)),
    ],
    ids=["nothing", "no-such-command", "run-alone", "no-out", "no-workload", "value-missing"],
)
def test_incomplete_command_is_refused(
    argv: tuple[str, ...], says: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run_cli(*argv), 2, says)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("report", "nowhere"), ("nowhere",)),
        (("report", "."), (".", "run.json")),
        (("compare", "nowhere", "."), ("nowhere",)),
        (("compare", "."), ("two",)),
        (("validate", "nowhere"), ("nowhere",)),
        (("validate", "."), ()),
        (("convert", "log.swf", "copy.xyz"), ("copy.xyz",)),
        (("convert", "nowhere.swf", "copy.parquet"), ("nowhere.swf",)),
        (("generate", "astrology", "--out", "w.parquet"), ("astrology",)),
        (("fidelity", "nowhere.json"), ("nowhere.json",)),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_other_commands_refuse_alike(
    argv: tuple[str, ...], says: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, Case("", ()))
    before = sorted(tmp_path.iterdir())
    assert_refused(run_cli(*argv), 2, says)
    assert sorted(tmp_path.iterdir()) == before
