"""What if with accounting data and reservations: on both sides, or as the change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurmsim.cli import main
from slurmsim.whatif.effect import Effect
from slurmsim.whatif.view import _whiskers

CONF = """ClusterName=four
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/multifactor
PriorityWeightFairshare=1000
PriorityWeightQOS=1000
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits,qos
NodeName=n[1-4] CPUs=2
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""
ACCOUNTS = """add cluster four
add qos fast Priority=10
add account a Fairshare=1 GrpTRES=cpu={cpus}
add account b Fairshare=1
add user ann Account=a
add user bob Account=b
modify user where name=bob set qos+=fast
"""
RESERVED = """[[reservation]]
name = "maint"
start = 2000
duration = 60
nodes = "ALL"
users = ["root"]
flags = ["MAINT", "IGNORE_JOBS"]
"""
HEADER = "JobIDRaw|User|Account|QOS|Partition|Submit|Eligible|Start|End|Timelimit|State|ExitCode|NNodes|NCPUS"
N = 40


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A log of two users whose recorded starts are those of nobody: only the commands matter here."""
    lines = [HEADER]
    for i in range(N):
        user, account, qos = ("ann", "a", "") if i % 2 else ("bob", "b", "fast" if i % 4 else "")
        submit = 1_000_000_000 + 60 * i
        lines.append(
            f"{i + 1}|{user}|{account}|{qos}|p|{submit}|{submit}|{submit + 5}|{submit + 305}|20|COMPLETED|0:0|1|2"
        )
    (tmp_path / "jobs.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "few.txt").write_text(ACCOUNTS.format(cpus=2))
    (tmp_path / "many.txt").write_text(ACCOUNTS.format(cpus=8))
    (tmp_path / "maint.toml").write_text(RESERVED.replace("2000", "1000002000"))
    return tmp_path


def whatif(site: Path, *more: str) -> dict[str, object]:
    argv = ["whatif", "--conf", str(site / "slurm.conf"), "--workload", str(site / "jobs.txt"), "--format", "sacct"]
    code = main([*argv, "--replicates", "1", "--jitter", "10", "--out", str(site / "answer"), "--quiet", *more])
    assert code in (0, 1)  # 1: the log is not that site's
    for name in ("baseline", "changed"):
        assert main(["validate", str(site / "answer" / name)]) == 0
    told: dict[str, object] = json.loads((site / "answer" / "whatif.json").read_text())
    return told


def options(site: Path, name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((site / "answer" / name / "run.json").read_text())["options"]
    return found


def test_a_limit_that_is_raised(site: Path) -> None:
    told = whatif(site, "--accounting", str(site / "few.txt"), "--changed-accounting", str(site / "many.txt"))
    by_account = {row["name"]: row for row in told["by"]["account"]}  # type: ignore[index]
    assert by_account["a"]["difference_s"] < 0 and by_account["a"]["gain"] > 0.5
    assert options(site, "baseline")["accounting"] == [str(site / "few.txt")]
    assert options(site, "changed")["accounting"] == [str(site / "many.txt")]


def test_a_weight_under_accounting_data_and_a_maintenance(site: Path) -> None:
    both = ("--accounting", str(site / "many.txt"), "--reservations", str(site / "maint.toml"))
    told = whatif(site, *both, "--set", "PriorityWeightQOS=0")
    assert told["overall"]["jobs"] == N  # type: ignore[index]
    for name in ("baseline", "changed"):
        assert options(site, name)["reservations"] == str(site / "maint.toml")
        import pandas as pd

        jobs = pd.read_parquet(site / "answer" / name / "jobs.parquet")
        meets = (jobs["start"] < 1000005600) & (jobs["end"] > 1000002000)
        assert not meets.any()


def test_a_maintenance_as_the_change(site: Path) -> None:
    told = whatif(site, "--accounting", str(site / "many.txt"), "--changed-reservations", str(site / "maint.toml"))
    assert told["overall"]["difference_s"] > 0  # type: ignore[index]
    assert "reservations" not in options(site, "baseline")


def test_the_caption_has_the_levels_of_the_classes() -> None:
    """A class without jobs in some replicates has fewer pairs; one without a band has no level."""
    made = [Effect(name, 3, 1.0, 2.0, 0.5, 1.5, level, 0.0, 1.0) for name, level in (("a", 0.95), ("b", 0.75))]
    none = Effect("c", 3, 1.0, 2.0, None, None, None, 0.0, 1.0)
    assert _whiskers({"user": [*made, none]}) == "; whiskers: 75 to 95 % interval of the change"
    assert _whiskers({"user": made[:1]}) == "; whiskers: 95 % interval of the change"
    assert not _whiskers({"user": [none]})
