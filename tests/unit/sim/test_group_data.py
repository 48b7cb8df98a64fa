"""Groups in a run: who is let in, and strangers counted."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim.replaying.replay
from slurmsim.trace.jsonfile import read_json
from slurmsim.validate import validate_trace

CONF = """ClusterName=c
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=2
PartitionName=main Nodes=ALL Default=YES AllowGroups=physics
PartitionName=all Nodes=ALL
"""
LOG = """JobID|User|Partition|Submit|Start|End|State|NNodes|NCPUS|Timelimit
1|alice|main|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:01:00|COMPLETED|1|1|00:10:00
2|bob|main|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:01:00|COMPLETED|1|1|00:10:00
3|bob|all,main|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:01:00|COMPLETED|1|1|00:10:00
4|bob|all|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:01:00|COMPLETED|1|1|00:10:00
"""


def test_a_run_with_groups(tmp_path: Path) -> None:
    for name, text in (("slurm.conf", CONF), ("log.txt", LOG), ("group", "physics:x:5:alice\n")):
        (tmp_path / name).write_text(text)
    with pytest.warns(UserWarning, match="would refuse 1 submission"):
        slurmsim.run(tmp_path / "log.txt", out=tmp_path / "out", conf=tmp_path / "slurm.conf", report=False,
                            groups=tmp_path / "group")  # fmt: skip
    manifest = read_json(tmp_path / "out" / "run.json")
    assert manifest["workload"]["repaired"] == {"user unknown to the group data: in no group": 2}
    assert manifest["workload"]["dropped"] == {
        "refused at submission: User's group not permitted to use this partition": 1
    }
    assert manifest["options"]["groups"] == [str(tmp_path / "group")]
    assert len(manifest["groups_sha256"]) == 1
    assert validate_trace(tmp_path / "out").valid


def test_a_run_without_warns_by_name(tmp_path: Path) -> None:
    for name, text in (("slurm.conf", CONF), ("log.txt", LOG)):
        (tmp_path / name).write_text(text)
    with pytest.warns(UserWarning, match="AllowGroups=physics: has no effect without --groups: jobs of all users"):
        slurmsim.run(tmp_path / "log.txt", out=tmp_path / "out", conf=tmp_path / "slurm.conf", report=False)


def test_a_reservation_after_the_end_is_warned_about(tmp_path: Path) -> None:
    table = '[[reservation]]\nname = "late"\nstart = "2026-06-01"\nduration = "01:00:00"\nnodes = "n1"\nusers = "bob"\n'
    for name, text in (("slurm.conf", CONF.replace("AllowGroups=physics", "")), ("log.txt", LOG), ("r.toml", table)):
        (tmp_path / name).write_text(text)
    with pytest.warns(UserWarning, match=r"reservation late: starts at \d+, after the run ended"):
        slurmsim.run(tmp_path / "log.txt", out=tmp_path / "out", conf=tmp_path / "slurm.conf", report=False,
                            reservations=tmp_path / "r.toml")  # fmt: skip
