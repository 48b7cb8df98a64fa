"""``slurmsim diff``: everything that decides has words, and is told when it changes; nothing else is."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from slurmsim.cli import main
from slurmsim.config.difference import words
from slurmsim.config.difference.changes import compare
from slurmsim.config.option import Status
from slurmsim.config.options import SCALARS
from slurmsim.config.scheduler_options import SUB_OPTIONS
from slurmsim.model.node import NodeSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.releases import RELEASES

ROOT = Path(__file__).resolve().parents[3]
BASE = """\
ClusterName=c
SlurmctldHost=h
NodeName=n[1-4] CPUs=8 RealMemory=16000
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
PartitionName=debug Nodes=n1
"""


def told(tmp_path: Path, old: str, new: str, release: str = RELEASES[0]) -> dict[str, tuple[str, str]]:
    for name, text in (("a.conf", old), ("b.conf", new)):
        (tmp_path / name).write_text(text)
    changes, _ = compare(tmp_path / "a.conf", tmp_path / "b.conf", release)
    return {one.name: (one.before, one.after) for one in changes}


def test_whatever_decides_has_words_and_a_page() -> None:
    scalars = SCALARS.values() if hasattr(SCALARS, "values") else SCALARS
    honoured = {one.name for one in scalars if one.status is Status.HONOURED}
    assert set(words.SCALARS) == honoured - {"SchedulerParameters"}  # told word by word
    assert set(words.PARAMETERS) == {one.name for one in SUB_OPTIONS.values() if one.status is Status.HONOURED}
    assert set(words.PARTITION) == {f.name for f in fields(PartitionSpec)} - {"name"}
    assert set(words.NODE) == {f.name for f in fields(NodeSpec)} - {"name", "line"}
    for table in (words.SCALARS, words.PARAMETERS, words.PARTITION, words.NODE):
        for name, (does, page) in table.items():
            assert does.endswith("."), name
            assert not page or (ROOT / "docs" / "rules" / f"{page}.md").is_file(), name


@pytest.mark.parametrize("release", RELEASES)
def test_the_same_said_otherwise_is_no_difference(release: str, tmp_path: Path) -> None:
    other = BASE.replace("n[1-4] CPUs", "n1,n[2-4] CPUs").replace("MaxTime=1-0", "MaxTime=24:00:00 State=UP")
    assert told(tmp_path, BASE, "# words\nKillWait=30\nPriorityMaxAge=7-0\n" + other, release) == {}
    assert told(tmp_path, BASE, BASE, release) == {}


@pytest.mark.parametrize(("line", "name", "values"), [
    ("KillWait=60", "KillWait", ("30", "60")),
    ("Licenses=mat:3", "Licenses", ("none", "mat=3")),
    ("PriorityType=priority/multifactor", "PriorityType", None),
    ("SchedulerParameters=bf_busy_nodes,defer", "defer", ("not set", "set")),
    ("SchedulerParameters=bf_window=99", "bf_window", ("not set", "99")),
    ("PartitionName=new Nodes=n2", "new", ("not there", "new")),
    ("NodeName=m[1-3] CPUs=8", "m[1-3]", ("not there", "new")),
])  # fmt: skip
def test_what_changes_is_told(line: str, name: str, values: tuple[str, str] | None, tmp_path: Path) -> None:
    found = told(tmp_path, BASE, f"{BASE}{line}\n")
    assert name in found and (values is None or found[name] == values)
    back = told(tmp_path, f"{BASE}{line}\n", BASE)
    assert name in back and (back[name][::-1] == found[name] or found[name][1] == "new")


def test_nodes_and_partitions(tmp_path: Path) -> None:
    new = BASE.replace("CPUs=8 RealMemory=16000", "CPUs=16 RealMemory=16000 Weight=3").replace(
        "MaxTime=1-0", "State=DOWN"
    )
    found = told(tmp_path, BASE, new.replace("PartitionName=debug Nodes=n1\n", ""))
    assert found["n[1-4] Cpus"] == ("8", "16") and found["n[1-4] Weight"] == ("1", "3")
    assert found["batch State"] == ("UP", "DOWN") and found["batch MaxTime"] == ("1-00:00:00", "not set")
    assert found["debug"] == ("there", "gone")


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.conf", tmp_path / "b.conf"
    a.write_text(BASE)
    b.write_text(BASE + "KillWait=60\nAcctGatherNodeFreq=3\nPriorityWeightTRES=cpu=1\n")
    assert main(["diff", str(a), str(a)]) == 0
    assert "nothing decided otherwise" in capsys.readouterr().out
    assert main(["diff", "--json", str(a), str(b)]) == 1
    found = json.loads(capsys.readouterr().out)
    takes = {one["name"]: (one["takes"], one["place"]) for one in found["changes"]}
    assert takes["KillWait"] == ("reconfigure", "b.conf:6") and takes["PriorityWeightTRES"][0] == "new"
    assert "AcctGatherNodeFreq" in {one["key"] for one in found["silent"]}
    b.write_text("NodeName=n[1-\n")
    assert main(["diff", str(a), str(b)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
