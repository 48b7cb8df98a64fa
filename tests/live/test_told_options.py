"""What options of salloc and srun tell their programs, and what is shown of steps, as recorded of three releases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.releases import RECORDED_RELEASES as RELEASES

NEW = ("24.11", "26.05")
SALLOC = {
    "--gpus=2 --cpus-per-gpu=2 --mem-per-gpu=100": "SLURM_GPUS=2 SLURM_CPUS_PER_GPU=2 SLURM_MEM_PER_GPU=100",
    "-n2 --ntasks-per-core=1 --network=ib": "SLURM_NTASKS_PER_CORE=1 SLURM_NETWORK=ib",
    "-n2 --mem-bind=local": "SLURM_MEM_BIND=local SLURM_MEM_BIND_VERBOSE=quiet",
    "--acctg-freq=task=10 --profile=none": "SLURM_ACCTG_FREQ=task=10 SLURM_PROFILE=None",
    "-n4 -N2 -m plane=2": "SLURM_DIST_PLANESIZE=2",
    "--hint=nomultithread": "SLURM_HINT=nomultithread",
}
SRUN = {
    "--gpus-per-node=1 -N2": (NEW, "SLURM_GPUS_PER_NODE=1"),
    "--gpus-per-task=1 -n2": (NEW, "SLURMD_TRES_BIND=gres/gpu:per_task:1"),
    "-n2 --ntasks-per-gpu=1": (NEW, "SLURM_NTASKS_PER_TRES=1 SLURM_TRES_BIND=gres/gpu:single:1"),
    "-n2 --gpus-per-task=1": (("22.05",), "SLURMD_TRES_BIND=gpu:per_task:1"),
    "-n2 --mem-bind=local": (RELEASES, "SLURM_MEM_BIND=quiet,local SLURM_MEM_BIND_TYPE=local SLURM_MEM_BIND_LIST="),
    "--network=ib --oom-kill-step=1": (NEW, "SLURM_NETWORK=ib SLURM_OOM_KILL_STEP=1"),
    "-N2 -n3 --ntasks-per-node=2": (NEW, "SLURM_NTASKS_PER_NODE=2"),
    "--exclusive -n1": (RELEASES, "SLURM_CPUS_ON_NODE=1"),
    "--exclusive -N1": (RELEASES, "SLURM_CPUS_ON_NODE=16"),
    "-n4 -N2 -m plane=2": (RELEASES, "SLURM_STEP_TASKS_PER_NODE=3,1"),
    "--container=/tmp": (RELEASES, "SLURM_CONTAINER=/tmp"),
    "--mem-per-cpu=50 -n3": (NEW, "SLURM_MEM_PER_CPU=50"),
}
"""Options -> the releases that say so, and what they say."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.slow] if name == "24.11" else []) for name in RELEASES],
)
def live(request: pytest.FixtureRequest) -> Iterator[slurmsim.Cluster]:
    with slurmsim.cluster(nodes=2, cpus_per_node=16, gpus_per_node=4, slurm_version=request.param) as cluster:
        yield cluster


def release(live: slurmsim.Cluster) -> str:
    return live.run(["squeue", "--version"], check=True).stdout.split()[1][:5]


def test_what_salloc_tells_its_command(live: slurmsim.Cluster) -> None:
    for options, wanted in SALLOC.items():
        told = live.run(["bash", "-c", f"salloc {options} env"]).stdout.split("\n")
        assert (options, sorted(set(wanted.split()) - set(told))) == (options, [])
    if release(live) < "24.11":
        return
    told = live.run(["bash", "-c", "salloc --mem=0 --oom-kill-step=1 env"]).stdout
    assert "SLURM_OOM_KILL_STEP=1" in told
    assert "SLURM_MEM_PER_NODE" not in told


def test_what_srun_tells_its_tasks(live: slurmsim.Cluster) -> None:
    for options, (releases, wanted) in SRUN.items():
        if release(live) not in releases:
            continue
        told = live.run(["bash", "-c", f"srun {options} env"]).stdout.split("\n")
        assert (options, sorted(set(wanted.split()) - set(told))) == (options, [])


def test_memory_is_sorted_no_longer(live: slurmsim.Cluster) -> None:
    done = live.run(["sbatch", "--mem-bind=verbose,sort", "-o", "/dev/null", "--wrap", "true"])
    if release(live) < "26.05":
        assert done.returncode == 0
    else:
        assert done.stderr == 'sbatch: error: unrecognized --mem-bind argument "sort"\n'


def test_files_of_steps(live: slurmsim.Cluster, tmp_path: Path) -> None:
    (tmp_path / "job").write_text("#!/bin/bash\nsrun -o st-%J.out -e st-%t.err -i none bash look\n")
    (tmp_path / "look").write_text(
        "squeue -h -s $SLURM_JOB_ID.0 -O StdOut:20,StdErr:20,StdIn:10 > named\n"
        "squeue -h -s $SLURM_JOB_ID.0 --expand-patterns -O StdOut:90 > filled\n"
        "scontrol show step $SLURM_JOB_ID.0 > shown; squeue -s --json > document\n"
    )
    live.run(["bash", "-c", f"cd {tmp_path}; sbatch -W -t1 -J one job"])
    shown = (tmp_path / "shown").read_text()
    if release(live) < "26.05":
        assert "StdOut" not in shown
        return
    job = shown.split("StepId=")[1].split(".")[0]
    assert (tmp_path / "named").read_text().split() == ["st-%J.out", "st-%t.err", "/dev/null"]
    assert (tmp_path / "filled").read_text().strip() == f"{tmp_path}/st-{job}.0.out"
    assert f"\n   StdIn=/dev/null\n   StdErr={tmp_path}/st-0.err\n   StdOut={tmp_path}/st-{job}.0.out\n" in shown
    steps = {step["id"]: step for step in json.loads((tmp_path / "document").read_text())["steps"]}
    assert steps[f"{job}.0"]["stdout_expanded"] == f"{tmp_path}/st-{job}.0.out"
    assert steps[f"{job}.batch"]["stdout"] == ""


def test_what_steps_asked_for(live: slurmsim.Cluster, tmp_path: Path) -> None:
    asked = "--exact -n1 -N1 --gpus=1", "-n2 -N1 --ntasks-per-gpu=1", "-n2 -N1"
    look = "bash -c 'scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID | grep -E \"Tres(Per|Bind)\"; echo ;' | uniq"
    (tmp_path / "job").write_text("#!/bin/bash\n" + "\n".join(f"srun {one} {look}" for one in asked))
    live.run(["bash", "-c", f"cd {tmp_path}; sbatch -W -t1 -o out -n4 -N1 --gpus=2 job"])
    text = " ".join((tmp_path / "out").read_text().split())
    mark = "gres:" if release(live) < "24.11" else "gres/"
    assert f"TresPerStep=cpu:1,{mark}gpu:1" in text
    assert "TresBind=gpu:single:1" in text.replace("gres/", "")
    assert text.count("cpu:") == text.count("TresPerStep=cpu:1")


def test_steps_in_tasks_of_arrays(live: slurmsim.Cluster) -> None:
    job = live.run(
        ["sbatch", "--parsable", "-n1", "-t1", "-a", "1-2", "-o", "/dev/null", "--wrap", "sleep 20"]
    ).stdout.strip()
    live.run(["bash", "-c", f"until squeue -h -j {job}_1 -o %t | grep -q R; do sleep 0.1; done"])
    told = live.run(["srun", f"--jobid={job}_1", "-n1", "bash", "-c", "echo $SLURM_JOB_ID"])
    live.run(["scancel", job])
    if release(live) < "23.02":
        assert told.stderr == f'srun: error: Invalid numeric value "{job}_1" for --jobid.\n'
    else:
        assert told.stdout.strip().isdigit()


@pytest.mark.parametrize("release", RELEASES)
def test_arbitrary_nodes_are_named_as_often_as_they_have_tasks(release: str, tmp_path: Path) -> None:
    """`-m arbitrary` with a node twice: what is refused, and what ReqNodeList says."""
    refused = "sbatch: error: Batch job submission failed: Task count specification invalid\n"
    with slurmsim.cluster(nodes=3, cpus_per_node=8, slurm_version=release, frozen=True, folder=tmp_path / "c") as c:
        one, _, last = dict.fromkeys(c.run("sinfo -h -N -o %N").stdout.split())

        def asked(options: str) -> str:
            done = c.run(f"sbatch --parsable -H -m arbitrary -w {last},{one},{last} {options} --wrap true")
            job = done.stdout.strip()
            if not job:
                return done.stderr
            return c.run(f"scontrol show job {job} | grep -o ' ReqNodeList=.*' | cut -d= -f2 | cut -d' ' -f1").stdout

        as_named = f"{one[:-1]}[{last[-1]},{one[-1]},{last[-1]}]\n"
        listed = f"{one[:-1]}[{one[-1]},{last[-1]}]\n" if release == "22.05" else as_named
        beside_n = "sbatch: error: --nodes is incompatible with --distribution=arbitrary\n"
        assert asked("-n3") == asked("") == listed
        assert asked("-n2") == asked("-n4") == (refused if release == "26.05" else listed)
        assert asked("-N2 -n3") == (listed if release == "22.05" else beside_n)
