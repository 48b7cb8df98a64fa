"""sacctmgr modify job: comments, codes and TRES of jobs change in the database, also of forgotten jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.commands.engine_client import CONF, Cluster

FORMAT = "JobID,Comment,AdminComment,SystemComment,Extra,WCKey,DerivedExitCode"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Job 1 of alice has run, and is forgotten; job 2 of bob runs."""
    made = Cluster(tmp_path, CONF + "MinJobAge=10\nTrackWCKey=yes\n", release="26.05")
    for line in ("account phys", "user alice,bob account=phys"):
        made.text(f"sacctmgr -iQ add {line}")
    made.submit(seconds=5, extra="mine")
    made.now += 600
    made.text("squeue")
    made.submit("bob", seconds=3000)
    made.now += 10
    assert made.text("squeue -h -t all -o %i") == "2\n"
    return made


def shown(cluster: Cluster, job: int) -> str:
    return cluster.text(f"sacct -nPX -j {job} -o {FORMAT}")


def test_every_field_of_a_job(cluster: Cluster) -> None:
    assert shown(cluster, 1) == "1||||mine||0:0\n"
    out = cluster.text(
        "sacctmgr -i modify job where jobid=1 set comment='all well' admincomment=a systemcomment=s extra=e "
        "newwckey=k derivedexitcode=256 tres=energy=1234"
    )
    assert out == " Modified jobs...\n  1 submitted at 2026-01-05T08:00:00\n"
    assert shown(cluster, 1) == "1|all well|a|s|e|k|1:0\n"
    assert "energy=1234" in cluster.text("sacct -nPX -j 1 -o alloctres")
    assert cluster.text("sacct -nPX -a -W k -o jobid -S 2026-01-01") == "1\n"
    cluster.text("sacctmgr -i mod job 1 set tres=energy=5,mem=1")
    assert cluster.text("sacct -nPX -j 1 -o alloctres").count("energy=5") == 1
    cluster.engine = cluster.again()
    assert shown(cluster, 1) == "1|all well|a|s|e|k|1:0\n"


def test_conditions_choose_jobs(cluster: Cluster) -> None:
    cluster.text("sacctmgr -i modify job where user=bob set extra=x")
    assert [shown(cluster, job).split("|")[4] for job in (1, 2)] == ["mine", "x"]


@pytest.mark.parametrize(
    ("command", "user", "code", "error"),
    [
        ("modify job 2 set comment=x", "alice", 1, " Error with request: Access/permission denied\n"),
        ("modify job 1 set admincomment=x", "alice", 1, " Error with request: Access/permission denied\n"),
        ("modify job 1 set comment=x", "alice", 0, ""),
        ("modify job 9 set comment=x", "root", 1, " Error with request: Data has not changed since time specified\n"),
        ("modify job x set comment=x", "root", 1, "Invalid job id(s) x specified\n"),
        ("modify job 1 set", "root", 1, " You didn't give me anything to set\n"),
        ("modify job 1 set comment", "root", 1,
         " Bad format on comment: End your option with an '=' sign\n"),
        ("modify job where strange=1 set comment=x", "root", 1,
         " Unknown condition: strange=1\n Use keyword 'set' to modify value\n"),
        ("modify job 1 set tres=gres/none=1", "root", 1,
         "sacctmgr: error: slurmdb_format_tres_str: no TRES known by type gres/none\n"),
    ],
)  # fmt: skip
def test_what_is_refused(cluster: Cluster, command: str, user: str, code: int, error: str) -> None:
    before = shown(cluster, 2)
    found = cluster.run(f"sacctmgr -i {command}", user)
    assert (found[0], found[2]) == (code, error)
    assert shown(cluster, 2) == before
