"""Jobs that use one thread of each core have the whole core (22.05.8, 24.11.5 and 26.05.5 alike)."""

from __future__ import annotations

from pathlib import Path

import pytest
from script_cluster import CONF, Scripts

from slurmsim.releases import RECORDED_RELEASES


@pytest.fixture(params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Scripts:
    return Scripts(tmp_path, request.param)


def test_two_jobs_do_not_share_cores(cluster: Scripts) -> None:
    for _ in range(2):
        cluster.sbatch("-t5 -w n12 -c128 --mem=1000 --hint=nomultithread")
    for _ in range(3):
        cluster.sbatch("-t5 -w n11 -c100 --mem=1000 --threads-per-core=1")
    cluster.now += 30
    found = [line.split(maxsplit=3) for line in cluster.text("squeue -h -S i -o '%i %t %C %R'").splitlines()]
    assert [(state, cpus) for _, state, cpus, _ in found] == [
        ("R", "256"), ("PD", "128"), ("R", "200"), ("PD", "100"), ("PD", "100"),
    ]  # fmt: skip
    assert cluster.text("sinfo -h -n n11,n12 -N -o '%n %C'") == "n11 200/56/0/256\nn12 256/0/0/256\n"


def test_both_threads_are_free_again(cluster: Scripts) -> None:
    first = cluster.sbatch("-w n12 -c128 --mem=1000 --hint=nomultithread")
    second = cluster.sbatch("-w n12 -c128 --mem=1000 --hint=nomultithread")
    cluster.now += 6
    cluster.text(f"scancel {first}")
    cluster.now += 60
    assert cluster.text(f"squeue -h -j {second} -o '%t %C'") == "R 256\n"
    cluster.text(f"scancel {second}")
    cluster.now += 6
    assert cluster.text("sinfo -h -n n12 -o %C") == "0/256/0/256\n"


@pytest.mark.parametrize(
    ("options", "cpus"),
    [
        ("-c10 --hint=nomultithread", 20),
        ("-n3 --threads-per-core=1", 6),
        ("-n3 -c3 --ntasks-per-core=1", 12),
        ("-n3", 4),
    ],
)
def test_a_test_of_the_start_counts_them(cluster: Scripts, options: str, cpus: int) -> None:
    _, _, error = cluster.run(f"sbatch --test-only {options} --wrap true", "alice")
    assert f" using {cpus} processors on nodes n01 " in error


def test_nodes_without_threads_are_as_before(tmp_path: Path) -> None:
    cluster = Scripts(tmp_path, "24.11", CONF.replace("ThreadsPerCore=2", "ThreadsPerCore=1"))
    job_id = cluster.sbatch("-n4 --hint=nomultithread")
    cluster.now += 6
    assert cluster.shown(job_id)["NumCPUs"] == "4"
    assert cluster.environment(job_id)["SLURM_CPUS_ON_NODE"] == "4"
