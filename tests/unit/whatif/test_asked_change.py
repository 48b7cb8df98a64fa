"""The first line of an answer is the question: what was changed, of which slurm.conf, on which log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from slurmsim.cli import main
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.version import __version__
from slurmsim.whatif.asked import MOST, Asked, asked

CONF = """ClusterName=c
SlurmctldHost=h
SchedulerParameters=bf_interval=30
NodeName=n[1-4] CPUs=1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
"""
LOG = {"job_id": [1, 2], "submit": [0, 1], "run_time": 60, "time_limit": [600, 100_000], "nodes": 1, "partition": "all"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs, the second of more than a day."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(LOG).to_parquet("log.parquet")
    Path("slurm.conf").write_text(CONF)
    Path("resv.toml").write_text("")


@pytest.mark.usefixtures("site")
def test_a_change_is_named_in_terminal_json_and_page(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["whatif", "--conf", "slurm.conf", "--workload", "log.parquet", "--replicates", "0", "--out", "w"]
    main([*words, "--set", "PartitionName=all:MaxTime=24:00:00"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "partition all MaxTime: not set -> 1-00:00:00: mean wait 0 s"
    assert lines[1] == f"slurm.conf, log.parquet, 2 jobs; slurmsim {__version__}"
    assert lines[2].startswith("after: 1 job can never start: PartitionTimeLimit 1. ")
    assert json.loads(Path("w/whatif.json").read_text())["question"] == {
        "changes": ["partition all MaxTime: not set -> 1-00:00:00"], "conf": "slurm.conf", "workload": "log.parquet",
        "jobs": 2, "sentence": "Change: partition all MaxTime: not set -> 1-00:00:00 (slurm.conf, log.parquet, 2 jobs)",
    }  # fmt: skip
    assert f"<title>{lines[0].replace('>', '&gt;')}</title>" in Path("w/whatif.html").read_text()


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"set": [("SchedulerParameters", "bf_interval=60")]}, ["bf_interval: 30 -> 60"]),
        ({"policy": "easy"}, ["policy: backfill -> easy"]),
        ({"set": [("SlurmctldDebug", "3")]}, []),
        ({"reservations": "resv.toml"}, ["reservations: none -> resv.toml"]),
        ({"set": [("SchedulerParameters", "bf_interval=60"), ("PriorityType", "priority/multifactor")]},
         ["PriorityType: priority/basic -> priority/multifactor", "bf_interval: 30 -> 60"]),
    ],
)  # fmt: skip
def test_every_kind_of_change(change: dict[str, Any], words: list[str]) -> None:
    before, after = (
        prepare(RunOptions.of("log.parquet", "w", conf="slurm.conf", **more)) for more in ({}, change)
    )  # fmt: skip
    found = asked(before, after)
    assert found.changes == tuple(words)
    said = "; ".join(words) or "nothing that decides anything"
    assert found.sentence == f"Change: {said} (slurm.conf, log.parquet, 2 jobs)"


def test_many_changes_are_counted() -> None:
    text = Asked(tuple(map(str, range(MOST + 3))), "a.conf", "b.swf", 1).sentence
    assert text == "Change: 0; 1; 2; 3; 4; 5; 6; 7; 3 more (a.conf, b.swf, 1 job)"
