"""sacctmgr commands at given times of a run: read, worked out beforehand, obeyed."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim.replaying.options
import slurmsim.replaying.preparation
import slurmsim.replaying.replay
from slurmsim.errors import ConfigError
from slurmsim.validate import validate_trace

CONF = """ClusterName=c
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits
PriorityType=priority/multifactor
PriorityWeightFairshare=1000
NodeName=n[1-2] CPUs=2
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
ACCOUNTS = """add cluster c
add account a
add user alice Account=a MaxJobs=1
modify user where name=alice set qos=normal DefaultQOS=normal
"""
ROW = "{job}|{user}|a|main|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:10:00|COMPLETED|1|1|00:20:00\n"
COLUMNS = "time,action,nodes,command\n"
HEAD = "JobID|User|Account|Partition|Submit|Start|End|State|NNodes|NCPUS|Timelimit\n"


def run(folder: Path, events: str, users: str = "alice alice alice", **more: object) -> dict[int, int]:
    """Start of every job, seconds after the first submission."""
    rows = "".join(ROW.format(job=job, user=user) for job, user in enumerate(users.split(), 1))
    for name, text in (("slurm.conf", CONF), ("log.txt", HEAD + rows), ("accounts", ACCOUNTS), ("events.csv", events)):
        (folder / name).write_text(text)
    options = slurmsim.replaying.options.RunOptions(
        str(folder / "log.txt"), str(folder / "out"), str(folder / "slurm.conf"),
        node_events=str(folder / "events.csv"), accounting=(str(folder / "accounts"),), **more,
    )  # type: ignore[arg-type]  # fmt: skip
    prepared = slurmsim.replaying.preparation.prepare(options)
    slurmsim.replaying.replay.execute(prepared, report=False)
    from slurmsim.trace.reader import read_trace

    trace = read_trace(folder / "out")
    jobs = trace.jobs.to_pandas()
    epoch = jobs["submit"].min()
    return {int(job): int(start - epoch) for job, start in zip(jobs["job_id"], jobs["start"], strict=True)}


def test_a_limit_lifted_during_the_run(tmp_path: Path) -> None:
    """One job of alice at a time until the command comes, then all that wait."""
    at = 900
    starts = run(tmp_path, f"{COLUMNS}+0-00:15:00,sacctmgr,,modify user where name=alice set MaxJobs=-1\n")
    assert starts[1] <= 5
    assert 600 <= starts[2] <= 605
    assert at <= starts[3] <= at + 5
    assert validate_trace(tmp_path / "out").valid


def test_a_limit_set_during_the_run(tmp_path: Path) -> None:
    events = (
        f"{COLUMNS}+0-00:00:00,sacctmgr,,modify user where name=alice set MaxJobs=2\n"
        "+0-00:20:00,sacctmgr,,modify user where name=alice set MaxJobs=1\n"
    )
    starts = run(tmp_path, events, "alice alice alice alice alice")
    assert max(starts[1], starts[2]) <= 5
    assert 1200 > starts[3] >= 600
    assert 1200 > starts[4] >= 600
    assert starts[5] >= 1200


def test_a_user_who_comes_later(tmp_path: Path) -> None:
    """Added data go with the log as those of the beginning did: bob's association is made up until he gets one."""
    events = f"{COLUMNS}+0-00:05:00,sacctmgr,,add user bob Account=a\n"
    starts = run(tmp_path, events, "alice bob", unknown_accounts="add")
    assert max(starts.values()) <= 5


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (f"{COLUMNS}+5,sacctmgr,,modify qos nosuch set Priority=1\n", "events.csv:2: .*no QOS 'nosuch'"),
        (f"{COLUMNS}+5,sacctmgr,n1,modify qos normal set Priority=1\n", "events.csv:2: nodes: 'n1'"),
        (f"{COLUMNS}+5,sacctmgr,,\n", "events.csv:2: command: there is none"),
        (f"{COLUMNS}soon,sacctmgr,,modify qos normal set Priority=1\n", "events.csv:2: time: "),
        (f"{COLUMNS}+5,down,n1,modify qos normal set Priority=1\n", "events.csv:2: command: does not go"),
        ("time,action,nodes\n+5,sacctmgr,\n", "events.csv:2: command: there is none"),
        (f"{COLUMNS}+5,sacctmgr,,show qos\n", "events.csv:2: show: no command slurmsim knows"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(tmp_path: Path, events: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        run(tmp_path, events)
    assert "\n" not in str(caught.value)


def test_without_accounting_data_there_is_nothing_to_change(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(HEAD + ROW.format(job=1, user="alice"))
    (tmp_path / "events.csv").write_text(f"{COLUMNS}+5,sacctmgr,,modify qos normal set Priority=1\n")
    options = slurmsim.replaying.options.RunOptions(str(tmp_path / "log.txt"), str(tmp_path / "out"), nodes=2,
                                         node_events=str(tmp_path / "events.csv"))  # fmt: skip
    with pytest.raises(ConfigError, match=r"events.csv:2: action: there are no accounting data to change"):
        slurmsim.replaying.preparation.prepare(options)
