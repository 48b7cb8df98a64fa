"""Eighty ways to ask for tasks, cores and threads, as real Slurm answers them by release.

`recorded_threads.json` has one row a request: what it shows while it is held, once it was submitted without, and what
its script finds; once where 22.05.8, 24.11.5 and 26.05.5 are alike. The requests were drawn at random, asked one by one
of idle nodes, and kept where an answer was another before. `CPU_IDs` are nodes, CPUs and MiB of ``show job -d``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from script_cluster import Scripts
from test_recorded_shapes import of_release, recorded

from slurmsim.releases import RECORDED_RELEASES

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/basic
DefMemPerCPU=100
NodeName=n[01-04] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=16000
NodeName=n[05-08] Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000
PartitionName=ht Nodes=n[01-04] Default=YES MaxTime=1-0 DefaultTime=10
PartitionName=nt Nodes=n[05-08] MaxTime=1-0 DefaultTime=10
PartitionName=mix Nodes=ALL MaxTime=1-0 DefaultTime=10
"""
RECORDED = recorded("recorded_threads.json")
_PLACED = re.compile(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=(\S+)")


@pytest.fixture(scope="module", params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    yield Scripts(tmp_path_factory.mktemp("threads"), request.param, CONF)


@pytest.mark.parametrize("options", RECORDED)
def test_what_is_asked_for_and_what_is_given(cluster: Scripts, options: str) -> None:
    wanted = of_release(RECORDED[options], cluster.release)
    found: dict[str, str | None] = held(cluster, options) | running(cluster, options)
    assert {name: found.get(name) for name in wanted} == wanted


def held(cluster: Scripts, options: str) -> dict[str, str]:
    code, out, error = cluster.run(f"sbatch --parsable -H {options} --wrap true", "alice")
    if code:
        return {"refused": error.strip()}
    shown = {f"held {name}": value for name, value in cluster.shown(int(out)).items()}
    shown["held %D"] = cluster.text(f"squeue -h -j {out.strip()} -o %D").strip()
    cluster.text(f"scancel {out}")
    return shown


def running(cluster: Scripts, options: str) -> dict[str, str | None]:
    code, out, error = cluster.run(f"sbatch --parsable {options} --wrap 'sleep 99'", "alice")
    if code:
        return {"refused": error.strip()}
    job_id = int(out)
    cluster.now += 6  # a cycle of backfill
    placed = _PLACED.findall(cluster.text(f"scontrol -d show job {job_id}"))
    found: dict[str, str | None] = cluster.shown(job_id) | {"CPU_IDs": " ".join(sorted(map(":".join, placed))) or None}
    found |= cluster.environment(job_id) if placed else {"state": found["JobState"]}
    cluster.text(f"scancel {job_id}")
    cluster.now += 6
    return found
