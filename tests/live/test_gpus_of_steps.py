"""The GPUs that tasks see, as a recording of real 22.05.8 whose devices have files tells them; 26.05 gets the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

import slurmsim
from slurmsim.releases import RECORDED_RELEASES

STEPS = {
    "--gpus=2": {"": "0,1", "-n1 --gpus=1": "0", "--gres=none": "-"},
    "--gres=gpu:4 -n4": {
        "": "0,1,2,3 0,1,2,3 0,1,2,3 0,1,2,3", "--gpus-per-task=1": "0 1 2 3", "-n2 --gpu-bind=map_gpu:1,0": "1 0",
        "-n2 --gpu-bind=mask_gpu:0x1,0x6": "0 1,2", "--gpu-bind=single:2": "0 0 1 1", "-n1 --gpu-bind=none": "-",
        "-n2 --gpu-bind=closest": "0,1,2,3 0,1,2,3", "--gpu-bind=per_task:1": "0 1 2 3",
    },
    "--ntasks-per-gpu=2 --gpus=2": {"": "0 0 1 1"},
}  # fmt: skip
"""Options of a job -> those of a step -> what its tasks see."""
BESIDE = """for k in 1 2; do srun -n1 --exact --gpus=1 bash -c 'echo $CUDA_VISIBLE_DEVICES;
 while [ $(cat beside.* | wc -l) -lt 2 ]; do sleep 0.05; done' > beside.$k & done; wait; sort beside.*"""


@pytest.fixture(scope="module", params=[RECORDED_RELEASES[0], RECORDED_RELEASES[-1]])
def live(request: pytest.FixtureRequest) -> Iterator[slurmsim.Cluster]:
    with slurmsim.cluster(nodes=1, cpus_per_node=4, gpus_per_node=4, slurm_version=request.param) as cluster:
        yield cluster


@pytest.mark.parametrize("options", STEPS)
def test_devices_of_tasks(live: slurmsim.Cluster, tmp_path: Path, options: str) -> None:
    show = "bash -c 'echo $SLURM_PROCID ${CUDA_VISIBLE_DEVICES:--} ${SLURM_STEP_GPUS:--}'"
    lines = [f"srun {more} {show} | sort -n; echo ;" for more in STEPS[options]]
    (tmp_path / "job").write_text("#!/bin/bash\n" + "\n".join(lines))
    live.run(["bash", "-c", f"cd {tmp_path}; sbatch -W -t1 -o out {options} job"])
    found = (tmp_path / "out").read_text().split("\n\n")
    for (more, wanted), text in zip(STEPS[options].items(), found, strict=False):
        rows = [line.split() for line in text.split("\n") if line]
        assert (more, [row[1] for row in rows]) == (more, wanted.split())
        assert [row[2] for row in rows] == [row[1] for row in rows]


def test_steps_beside_each_other_have_other_devices(live: slurmsim.Cluster, tmp_path: Path) -> None:
    (tmp_path / "job").write_text(f"#!/bin/bash\n{BESIDE}\n")
    live.run(["bash", "-c", f"cd {tmp_path}; sbatch -W -t1 -o out -n2 --gpus=2 job"])
    assert (tmp_path / "out").read_text() == "0\n1\n"


@pytest.mark.parametrize(
    ("job", "steps", "begins"),
    [
        ("--gpus-per-node=2", ["", ""], [0, 1]),
        pytest.param("--gpus-per-node=2", ["--overlap", "--overlap"], [0, 0], marks=pytest.mark.slow),
        ("--gpus-per-node=2", ["--gpus-per-node=1"] * 3, [0, 0, 1]),
        pytest.param("--gpus-per-node=2", ["--gpus=1", "--gres=none", ""], [0, 0, 1], marks=pytest.mark.slow),
        pytest.param("--gpus=2", ["", "--overlap"], [0, 0], marks=pytest.mark.slow),
        pytest.param("-N2 --gpus-per-node=2", ["-n2 --gpus=2 --gpus-per-node=0"] * 2, [0, 1], marks=pytest.mark.slow),
        ("-N2 --gpus-per-node=2", ["-N1 --gpus-per-task=2 --gpus-per-node=0"] * 3, [0, 0, 1]),
    ],
)
def test_steps_wait_for_gres_that_others_have(tmp_path: Path, job: str, steps: list[str], begins: list[int]) -> None:
    """As 26.05 did in a recording: a step without a wish wants all that its job has."""
    lines = [f"srun --exact -n1 {step} sh -c 'sleep 3' & sleep 0.4" for step in steps]
    script = tmp_path / "job.sh"
    script.write_text("\n".join(["#!/bin/bash", *lines, "wait"]) + "\n")
    with slurmsim.cluster(nodes=2, cpus_per_node=8, gpus_per_node=4, slurm_version="26.05") as cluster:
        cluster.run(["sbatch", "-W", "-Q", "-n6", "-o", str(tmp_path / "out"), *job.split(), str(script)])
        told = cluster.run(["sacct", "-n", "-P", "-X", "-o", "JobID"]).stdout.split()
        rows = cluster.run(["sacct", "-n", "-P", "-j", told[0], "-o", "JobID,Start"]).stdout.splitlines()
    found = [row.split("|") for row in rows]
    starts = sorted(datetime.fromisoformat(start) for name, start in found if name[-2:-1] == ".")
    assert len(starts) == len(steps)
    late = [int((start - starts[0]).total_seconds() >= 2) for start in starts]
    assert late == begins
