"""Jobs that ended, or wait, before anything of them ran, as 22.05.8, 24.11.5 and 26.05.5 show them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from engine_client import Cluster

from slurmsim.releases import RECORDED_RELEASES

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
PriorityType=priority/basic
SuspendProgram=/s
ResumeProgram=/r
SuspendTime=40
SuspendTimeout=20
ResumeTimeout=300
NodeName=n1 CPUs=4
NodeName=c[1-2] CPUs=4 State=CLOUD
PartitionName=batch Nodes=n1 Default=YES MaxTime=60
PartitionName=cloud Nodes=c[1-2]
"""
ACCOUNTS = """\
add account physics
add user alice account=physics
"""


@pytest.fixture(params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, CONF, release=request.param)


def shown(cluster: Cluster, job_id: int) -> dict[str, str]:
    return dict(re.findall(r"(\S+?)=(\S*)", cluster.text(f"scontrol show job {job_id}")))


def document(cluster: Cluster, job_id: int) -> dict[str, Any]:
    """The job in JSON; in 22.05 there is none."""
    if cluster.release == "22.05":
        return {}
    jobs: list[dict[str, Any]] = json.loads(cluster.text("scontrol show job --json"))["jobs"]
    return next(job for job in jobs if job["job_id"] == job_id)


def test_a_job_that_is_too_long_for_its_partition_was_tried_since_24_11(cluster: Cluster) -> None:
    one = cluster.submit(time_limit=120)
    more = cluster.submit(time_limit=120, num_tasks=3)
    cluster.now += 61
    told = [shown(cluster, job_id)["NumNodes"] for job_id in (one, more)]
    assert told == {"22.05": ["1", "1"], "24.11": ["1", "1"], "26.05": ["1", "1-3"]}[cluster.release]
    assert shown(cluster, one)["Reason"] == "PartitionTimeLimit"
    cluster.run(f"scancel {one}")
    assert shown(cluster, one)["NumTasks"] == "N/A"
    if found := document(cluster, one):
        assert found["tasks"] == {"set": False, "infinite": False, "number": 0}
        cluster.run("scontrol reconfigure")
        assert document(cluster, one)["tasks"] == {"set": True, "infinite": False, "number": 0}


def test_a_job_that_a_dependency_ends_at_once_gets_no_priority(cluster: Cluster) -> None:
    failed = cluster.submit(seconds=1)
    cluster.run(f"scancel {failed}")
    killed = cluster.submit(dependency=f"afterok:{failed}", kill_on_invalid_dep=True)
    after = cluster.submit()
    assert (shown(cluster, killed)["JobState"], shown(cluster, killed)["Priority"]) == ("CANCELLED", "4294967294")
    assert int(shown(cluster, after)["Priority"]) == int(shown(cluster, failed)["Priority"]) - 1
    if found := document(cluster, killed):
        assert found["priority"] == {"set": False, "infinite": False, "number": 0}
        assert "DEPENDENT" in found["flags"]


def test_nothing_of_a_job_is_told_to_go_while_its_nodes_boot(cluster: Cluster) -> None:
    job_id = cluster.submit(partition="cloud")
    cluster.now += 5
    booting = shown(cluster, job_id)
    assert booting["JobState"] == "CONFIGURING"
    assert ("BatchHost" in booting) == (cluster.release != "26.05")
    cluster.run(f"scancel {job_id}")
    cancelled = shown(cluster, job_id)
    assert (cancelled["JobState"], cancelled["ExitCode"]) == ("CANCELLED", "0:0")
    assert ("BatchHost" in cancelled) == (cluster.release != "26.05")
    ran = cluster.submit()
    cluster.now += 5
    assert shown(cluster, ran)["BatchHost"] == "n1"
    cluster.run(f"scancel {ran}")
    assert shown(cluster, ran)["ExitCode"] == "0:15"
    cluster.now += 10
    if cluster.release != "22.05":
        counted = [one for one in (job_id, ran) if "SKIP_TRES_STRING_ACCOUNTING" in document(cluster, one)["flags"]]
        assert counted == [ran]


def test_a_job_that_never_started_has_no_start_in_a_document(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, storage="slurmdbd", accounting=ACCOUNTS, release="26.05")
    assert cluster.run("sbatch --mem=99G --wrap true", "alice")[0] == 1
    waits = cluster.submit()
    jobs = json.loads(cluster.text("sacct -a --json"))["jobs"]
    assert {job["job_id"]: job["time"]["start"] for job in jobs} == {waits - 1: 4294967294, waits: 0}
