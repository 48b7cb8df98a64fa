"""shares.parquet: what sshare would have shown, written without changing anything."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim
from slurmsim.errors import ConfigError

CONF = """ClusterName=c
SlurmctldHost=h
SelectType=select/linear
PriorityType=priority/multifactor
PriorityWeightFairshare=1000
PriorityDecayHalfLife=0
{flags}
AccountingStorageType=accounting_storage/slurmdbd
PriorityCalcPeriod=1
NodeName=n[1-2] CPUs=2
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
"""
ACCOUNTS = "add account aa\nadd account bb\nadd user alice Account=aa\nadd user bob Account=bb\n"
HEAD = "JobID|User|Account|Partition|Submit|Start|End|State|NNodes|NCPUS|Timelimit|Elapsed|ExitCode|ReqCPUS\n"


def inputs(folder: Path, flags: str = "PriorityFlags=FAIR_TREE") -> tuple[Path, Path, Path]:
    conf, accounts, log = folder / "slurm.conf", folder / "accounts.txt", folder / "log.txt"
    conf.write_text(CONF.format(flags=flags))
    accounts.write_text(ACCOUNTS)
    lines = [
        f"{number}|{user}|{account}|main|2026-01-01T00:0{at}:00|2026-01-01T00:0{at}:00|2026-01-01T00:0{at + 3}:00|"
        "COMPLETED|1|2|00:10:00|00:03:00|0:0|2\n"
        for number, (user, account, at) in enumerate(
            [("alice", "aa", 0), ("alice", "aa", 0), ("bob", "bb", 1), ("alice", "aa", 2), ("bob", "bb", 3)], 1
        )
    ]
    log.write_text(HEAD + "".join(lines))
    return conf, accounts, log


@pytest.mark.parametrize("flags", ["PriorityFlags=FAIR_TREE", "PriorityFlags=NO_FAIR_TREE"])
def test_shares_are_written_and_change_nothing(tmp_path: Path, flags: str) -> None:
    conf, accounts, log = inputs(tmp_path, flags)
    plain = slurmsim.run(log, out=tmp_path / "a", conf=conf, accounting=accounts, report=False)
    noted = slurmsim.run(log, out=tmp_path / "b", conf=conf, accounting=accounts, shares=120, report=False)
    assert plain.jobs.equals(noted.jobs) and plain.events.equals(noted.events)
    assert not (tmp_path / "a" / "shares.parquet").exists()
    shares = noted.shares_frame(dates=False)
    assert sorted(set(shares["time"].diff()[shares["time"].diff() > 0])) == [120]
    assert list(shares["account"][:6]) == ["root", "root", "aa", "bb", "aa", "bb"]
    last = shares[shares["time"] == shares["time"].max()].set_index(["account", "user"])
    assert last.loc[("root", ""), "used_s"] == last.loc[("aa", ""), "used_s"] + last.loc[("bb", ""), "used_s"] > 0
    assert last.loc[("root", ""), "used_ppm"] == 1_000_000
    assert last.loc[("aa", "alice"), "fair_share_ppm"] < last.loc[("root", "root"), "fair_share_ppm"] == 1_000_000


def test_there_must_be_shares_to_write(tmp_path: Path) -> None:
    conf, accounts, log = inputs(tmp_path)
    with pytest.raises(ConfigError, match="no fair shares"):
        slurmsim.run(log, out=tmp_path / "a", conf=conf, shares=60)
    with pytest.raises(ConfigError, match="negative"):
        slurmsim.run(log, out=tmp_path / "a", conf=conf, accounting=accounts, shares=-1)
