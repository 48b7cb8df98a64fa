"""scontrol suspend stops the processes of a job, those of its sruns among them; resume lets them go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim

COUNTS = "#!/bin/sh\nwhile :; do echo x >>$1; sleep 0.1; done\n"


@pytest.fixture
def cluster() -> Iterator[slurmsim.Cluster]:
    with slurmsim.cluster(nodes=2, slurm_version="26.05") as made:
        yield made


def lines(path: Path) -> int:
    return path.read_text().count("x") if path.exists() else 0


def grows(path: Path, seconds: float = 10) -> bool:
    """Return True as soon as the file grows."""
    before, end = lines(path), time.monotonic() + seconds
    while time.monotonic() < end:
        if lines(path) > before:
            return True
        time.sleep(0.05)
    return False


def submitted(cluster: slurmsim.Cluster, folder: Path) -> tuple[str, list[Path]]:
    """Return a job whose script and whose srun write a file each, once both have begun."""
    (folder / "counts").write_text(COUNTS)
    (folder / "counts").chmod(0o755)
    files = [folder / "script", folder / "step"]
    script = "./counts script & srun -n1 counts step"
    job = cluster.run(f"cd {folder}; sbatch --parsable -o o.txt --wrap '{script}'", check=True).stdout.strip()
    assert all(map(grows, files))
    return job, files


def test_processes_stop_and_go_on(cluster: slurmsim.Cluster, tmp_path: Path) -> None:
    job, files = submitted(cluster, tmp_path)
    cluster.run(f"scontrol suspend {job}", check=True)
    time.sleep(0.5)
    assert not any(grows(file, 1) for file in files)
    cluster.run(f"scontrol resume {job}", check=True)
    assert all(map(grows, files))


def test_a_suspended_job_can_be_cancelled(cluster: slurmsim.Cluster, tmp_path: Path) -> None:
    job, files = submitted(cluster, tmp_path)
    cluster.run(f"scontrol suspend {job}; scancel {job}", check=True)
    end = time.monotonic() + 30
    while "CANCELLED" not in cluster.run(f"sacct -nX -o state -j {job}").stdout and time.monotonic() < end:
        time.sleep(0.2)
    time.sleep(1)
    assert not any(grows(file, 1) for file in files)
    assert cluster.run("squeue -h").stdout == ""


def test_tasks_of_an_srun_outside_of_scripts_stop_too(cluster: slurmsim.Cluster, tmp_path: Path) -> None:
    (tmp_path / "counts").write_text(COUNTS)
    (tmp_path / "counts").chmod(0o755)
    file = tmp_path / "step"
    cluster.run(f"cd {tmp_path}; srun -n1 ./counts step >/dev/null 2>&1 &")
    assert grows(file)
    cluster.run("scontrol suspend 1", check=True)
    time.sleep(1)
    assert not grows(file, 1)
    cluster.run("scontrol resume 1", check=True)
    assert grows(file)
    cluster.run("scancel 1")
