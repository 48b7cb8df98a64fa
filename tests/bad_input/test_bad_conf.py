"""Broken slurm.conf files: one line that names file, line and key; exit code 2; nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_input_support import CONF, Case, assert_refused, command, is_warning, prepare, run_cli

PARTITION = "PartitionName=debug Nodes=n[1-4] Default=YES MaxTime=60 State=UP"


def broken(name: str, old: str, new: str, *says: str, **more: object) -> Case:
    """The good conf with one replacement; the error is on the line of the replacement."""
    assert CONF.count(old) == 1, old
    line = CONF[: CONF.index(old)].count("\n") + 1
    return Case(name, (f"slurm.conf:{line}", *says), files={"slurm.conf": CONF.replace(old, new), **more})  # type: ignore[dict-item]


CASES = [
    broken("unknown key", "ClusterName=test", "FooBar=1\nClusterName=test", "FooBar"),
    broken("line that is no key=value", PARTITION, "PartitionName debug", "PartitionName debug"),
    broken("partition of unknown nodes", "Nodes=n[1-4]", "Nodes=n[3-9]", "Nodes", "n5"),
    broken("same node twice", PARTITION, "NodeName=n[4-6] CPUs=8\n" + PARTITION, "NodeName", "n4"),
    broken("open bracket", "NodeName=n[1-4]", "NodeName=n[1-4", "NodeName", "n[1-4"),
    broken("empty range", "NodeName=n[1-4]", "NodeName=n[4-1]", "NodeName", "n[4-1]"),
    broken("negative CPUs", "CPUs=4", "CPUs=-4", "CPUs", "-4"),
    broken("memory that is no number", "RealMemory=4000", "RealMemory=lots", "RealMemory", "lots"),
    broken("bad MaxTime", "MaxTime=60", "MaxTime=soon", "MaxTime", "soon"),
    broken("bad partition state", "State=UP", "State=SIDEWAYS", "State", "SIDEWAYS"),
    broken("number that is none", "ClusterName=test", "MaxJobCount=abc\nClusterName=test", "MaxJobCount", "abc"),
    broken("unknown scheduler", "sched/backfill", "sched/clever", "SchedulerType", "clever"),
    broken("unknown selector", "select/cons_tres", "select/magic", "SelectType", "magic"),
    broken("keys that contradict", "SelectTypeParameters=CR_Core", "PreemptType=preempt/qos", "PreemptType", "OFF"),
    broken("include of a missing file", "SlurmctldHost=ctl", "Include nodes.conf", "nodes.conf", "Include"),
    broken("file that includes itself", "SlurmctldHost=ctl", "Include slurm.conf", "Include"),
    broken(
        "error inside an included file",
        "SlurmctldHost=ctl",
        "SlurmctldHost=ctl\nInclude more.conf",
        "more.conf:2",
        "Weight",
        **{"more.conf": "# more\nNodeName=x1 Weight=heavy\n"},
    ),
    Case("no nodes", ("slurm.conf", "NodeName"), files={"slurm.conf": "ClusterName=t\nSlurmctldHost=c\n"}),
    Case("missing conf", ("slurm.conf", "no such file"), files={"slurm.conf": None}),
    Case("conf that is a folder", ("directory",), argv=("--conf", "."), conf=False),
    Case("conf that is binary", ("slurm.conf",), files={"slurm.conf": bytes(range(256)) * 4}),
]
# The place of an error in an included file is there, not at the Include.
CASES = [Case(c.name, c.says[1:], files=c.files) if c.name == "error inside an included file" else c for c in CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_broken_conf_is_refused(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, case)
    assert_refused(run_cli(*command(case)), case.code, case.says)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_check_finds_it_too(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, case)
    outcome = run_cli("check", case.argv[1] if case.argv else "slurm.conf")
    text = outcome.out + outcome.err
    assert outcome.code == 2, text
    assert "Traceback" not in text
    assert all(fragment in text for fragment in case.says), text


def test_what_is_not_modelled_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    conf = CONF + "JobSubmitPlugins=lua\nPreemptMode=OFF\nBurstBufferType=lua\nSchedulerParameters=bf_intervall=3\n"
    case = Case("", (), files={"slurm.conf": conf})
    prepare(tmp_path, case)
    outcome = run_cli(*(argument for argument in command(case) if argument != "--quiet"))
    assert outcome.code == 0, outcome.err
    warnings = [line for line in outcome.err.splitlines() if is_warning(line)]
    for line, key in ((8, "JobSubmitPlugins"), (10, "BurstBufferType"), (11, "bf_intervall")):
        assert sum(f"slurm.conf:{line}" in warning and key in warning for warning in warnings) == 1, outcome.err


@pytest.mark.parametrize("quiet", [True, False])
def test_warnings_reach_stderr_quiet_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    """Quiet leaves out the bar and the tables, never what is wrong with the input."""
    monkeypatch.chdir(tmp_path)
    case = Case("warned", (), files={"slurm.conf": CONF + "SchedulerParameters=bf_intervall=3\n"})
    prepare(tmp_path, case)
    outcome = run_cli(*(argument for argument in command(case) if quiet or argument != "--quiet"))
    assert outcome.code == 0, outcome.err
    assert [is_warning(line) for line in outcome.err.splitlines()] == [True]
    assert "slurm.conf:8" in outcome.err and "bf_intervall" in outcome.err
    assert (outcome.out == "") is quiet


def test_refused_submissions_are_warned_about_even_when_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    conf = CONF.replace("MaxTime=60", "MaxTime=1") + "EnforcePartLimits=ALL\n"
    case = Case("refused", (), files={"slurm.conf": conf})
    prepare(tmp_path, case)
    outcome = run_cli(*command(case))
    assert outcome.code == 0 and outcome.out == ""
    lines = outcome.err.splitlines()
    assert [is_warning(line) for line in lines] == [True, True]
    assert "Slurm would refuse 5 submissions" in lines[0] and "most jobs never started" in lines[1]
