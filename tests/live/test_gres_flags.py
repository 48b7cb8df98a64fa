"""``no_consume`` of a node's GRES and ``Flags=explicit`` of gres.conf: what 26.05 printed in a recording."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.releases import RECORDED_RELEASES

CONF = """\
ClusterName=flags
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=r1,r2,r3
NodeName=n1 CPUs=8 Gres=r1:4,r2:4,r3:no_consume:2
PartitionName=all Nodes=ALL Default=YES
"""
GRES = "Name=r1 Count=4\nName=r2 Count=4 Flags=explicit\nName=r3 Count=2\n"


@pytest.fixture(params=[RECORDED_RELEASES[0], RECORDED_RELEASES[-1]])
def live(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[slurmsim.Cluster]:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "gres.conf").write_text(GRES)
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True, slurm_version=request.param) as cluster:
        yield cluster


def used(cluster: slurmsim.Cluster) -> str:
    found = re.search(r"GresUsed=(\S+)", cluster.run(["scontrol", "show", "node", "n1", "-d"]).stdout)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--exclusive", "r1:4,r2:0,r3:0"),
        ("--exclusive --gres=r2:1", "r1:4,r2:1,r3:0"),
        ("--gres=r3:2", "r1:0,r2:0,r3:0"),
        ("--gres=r1:1,r2:3", "r1:1,r2:3,r3:0"),
    ],
)
def test_what_of_a_node_is_used(live: slurmsim.Cluster, options: str, told: str) -> None:
    live.run(["sbatch", *options.split(), "--wrap", "sleep 60"])
    live.step(5)
    assert live.run(["squeue", "-h", "-o", "%t"]).stdout.split() == ["R"]
    assert used(live) == told


def test_any_number_of_jobs_have_what_none_uses_up(live: slurmsim.Cluster) -> None:
    for options in ("--gres=r3:2", "--gres=r3:1", "--gres=r3:2"):
        live.run(["sbatch", options, "--wrap", "sleep 60"])
    refused = live.run(["sbatch", "--gres=r3:3", "--wrap", "sleep 60"], check=False)
    assert refused.returncode != 0
    live.step(5)
    assert live.run(["squeue", "-h", "-o", "%t"]).stdout.split() == ["R", "R", "R"]


def test_a_step_may_want_what_no_job_uses_up(live: slurmsim.Cluster) -> None:
    told = live.run(["srun", "--gres=r3:1", "echo", "ran"], check=False)
    assert (told.stdout, told.stderr) == ("ran\n", "")


def test_jobs_that_are_over_leave_all_of_it(live: slurmsim.Cluster) -> None:
    live.run(["sbatch", "--exclusive", "--gres=r2:2", "--wrap", "sleep 10"])
    live.step(20)
    assert used(live) == "r1:0,r2:0,r3:0"
    live.run(["sbatch", "--gres=r2:4,r1:4", "--wrap", "sleep 10"])
    live.step(5)
    assert used(live) == "r1:4,r2:4,r3:0"


def test_gpus_and_parts_of_gpus_are_not_asked_for_together(tmp_path: Path) -> None:
    conf = CONF.replace("GresTypes=r1,r2,r3", "GresTypes=gpu,mps").replace("r1:4,r2:4,r3:no_consume:2", "gpu:1,mps:100")
    (tmp_path / "slurm.conf").write_text(conf)
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True) as cluster:
        for options in ("--gres=mps:1,gpu:1", "--gres=mps:1 --gpu-freq=high"):
            refused = cluster.run(["sbatch", *options.split(), "--wrap", "true"], check=False)
            assert "Invalid generic resource (gres) specification" in refused.stderr
        assert cluster.run(["sbatch", "--gres=mps:1", "--wrap", "true"]).returncode == 0


@pytest.mark.parametrize(("known", "told"), [(2, "GPU-0,GPU-1"), (1, "0,1")])
def test_gpus_are_told_by_their_uuids_where_all_have_one(tmp_path: Path, known: int, told: str) -> None:
    conf = CONF.replace("GresTypes=r1,r2,r3", "GresTypes=gpu").replace("r1:4,r2:4,r3:no_consume:2", "gpu:2")
    (tmp_path / "slurm.conf").write_text(conf)
    (tmp_path / "gres.conf").write_text("Name=gpu File=/dev/tty[0-1] Flags=env_uuid\n")
    rows = [f"(null)|2|0-1|(null)|/dev/tty{k}|GPU-{k}|nvidia_gpu_env\n" for k in range(known)]
    (tmp_path / "fake_gpus.conf").write_text("".join(rows))
    show = "echo $CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES"
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05") as cluster:
        step = cluster.run(["srun", "--gpus=2", "sh", "-c", f"{show} $SLURM_STEP_GPUS"])
        assert step.stdout == f"{told} {told} 0,1\n"
        cluster.run(["sbatch", "-W", "--gpus=2", "-o", str(tmp_path / "out"), "--wrap", f"{show} $SLURM_JOB_GPUS"])
        assert (tmp_path / "out").read_text() == f"{told} {told} 0,1\n"


@pytest.mark.parametrize("release", ["22.05", "26.05"])
@pytest.mark.parametrize(
    ("share", "told"),
    [  # as real 22.05.8 and 26.05.5 set them in a batch script and in a step of it
        (
            "shard:3",
            "CUDA_VISIBLE_DEVICES=0 GPU_DEVICE_ORDINAL=0 ROCR_VISIBLE_DEVICES=0 SLURM_GPUS_ON_NODE=1 SLURM_JOB_GPUS=0 "
            "SLURM_SHARDS_ON_NODE=3 ZE_AFFINITY_MASK=0",
        ),
        (
            "mps:30",
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30 CUDA_VISIBLE_DEVICES=0 SLURM_GPUS_ON_NODE=1 SLURM_JOB_GPUS=0",
        ),
    ],
)
def test_jobs_are_told_their_shares_of_gpus(tmp_path: Path, share: str, told: str, release: str) -> None:
    conf = CONF.replace("GresTypes=r1,r2,r3", "GresTypes=gpu,mps,shard")
    name, total = share.partition(":")[0], {"shard": 8, "mps": 200}[share.partition(":")[0]]
    (tmp_path / "slurm.conf").write_text(conf.replace("r1:4,r2:4,r3:no_consume:2", f"gpu:2,{name}:{total}"))
    (tmp_path / "gres.conf").write_text(f"Name=gpu File=/dev/tty[0-1]\nName={name} Count={total}\n")
    show = "env | grep -E '^(SLURM_(SHARD|[A-Z_]*GPUS)|CUDA|ROCR|ZE_|GPU_DEV)' | sort | paste -sd ' '"
    script = f'{show}\nsrun sh -c "{show}"'
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version=release) as cluster:
        cluster.run(["sbatch", "-W", f"--gres={share}", "-o", str(tmp_path / "out"), "--wrap", script])
    batch, step = (tmp_path / "out").read_text().splitlines()
    both = sorted([*told.split(), "SLURM_STEP_GPUS=0"])
    assert (batch, sorted(step.split())) == (told, both)


@pytest.mark.parametrize(
    ("total", "job", "told"),
    [  # as Slurm's slurmstepd tells it: what the step has, not its job
        ("mps:200", "mps:100", ["40 0", "100 0"]),
        ("shard:8", "shard:4", ["2 0", "4 0"]),
    ],
)
def test_steps_are_told_their_own_shares_of_gpus(tmp_path: Path, total: str, job: str, told: list[str]) -> None:
    name = total.partition(":")[0]
    conf = CONF.replace("GresTypes=r1,r2,r3", f"GresTypes=gpu,{name}")
    (tmp_path / "slurm.conf").write_text(conf.replace("r1:4,r2:4,r3:no_consume:2", f"gpu:2,{total}"))
    (tmp_path / "gres.conf").write_text(f"Name=gpu File=/dev/tty[0-1]\nName={name} Count={total.partition(':')[2]}\n")
    some = {"mps": "mps:40", "shard": "shard:2"}[name]
    show = "echo $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE$SLURM_SHARDS_ON_NODE $CUDA_VISIBLE_DEVICES"
    script = f"srun --overlap --gres={some} sh -c '{show}'\nsrun --overlap --gres={job} sh -c '{show}'"
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05") as cluster:
        cluster.run(["sbatch", "-W", f"--gres={job}", "-o", str(tmp_path / "out"), "--wrap", script])
    assert (tmp_path / "out").read_text().splitlines() == told
