"""Cases from sites: what was typed, and what real Slurm answers (each with its source in the issue it came from)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.releases import RECORDED_RELEASES

CONF = """\
ClusterName=field
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/gpu
NodeName=n[1-2] CPUs=8 RealMemory=16000 Gres=gpu:a100:4
PartitionName=batch Nodes=ALL Default=YES DefMemPerCPU=100
"""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.slow] if name == "24.11" else []) for name in RECORDED_RELEASES],
)
def field(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurmsim.Cluster]:
    conf = tmp_path_factory.mktemp("conf") / "slurm.conf"
    conf.write_text(CONF)
    with slurmsim.cluster(conf=conf, slurm_version=request.param) as made:
        made.release = request.param
        yield made


def ran(cluster: slurmsim.Cluster, folder: Path, script: str) -> str:
    """What a shell script prints in `folder`; times and the parts of slurmstepd's name are left out."""
    told = cluster.run(["bash", "-c", f"cd {folder}; exec 2>&1; {script}"]).stdout
    told = re.sub(r"^\[\d{4}-\S+\] error|^slurmstepd(-n\d)?: error", "stepd", told, flags=re.M)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+", "TIME", told)


def test_variables_that_contradict_each_other(field: slurmsim.Cluster, tmp_path: Path) -> None:
    if field.release == "22.05":
        pytest.skip("has no SLURM_TRES_PER_TASK")
    told = ran(field, tmp_path, "SLURM_CPUS_PER_TASK=2 SLURM_TRES_PER_TASK=cpu=1 srun -n1 true; echo rc=$?")
    assert told == (
        "srun: fatal: cpus-per-task set by two different environment variables SLURM_CPUS_PER_TASK=2 != "
        "SLURM_TRES_PER_TASK=cpu=1\nrc=1\n"
    )


def test_a_step_without_path(field: slurmsim.Cluster, tmp_path: Path) -> None:
    told = ran(field, tmp_path, "srun -n1 --export=MYVAR=1 hostname; echo rc=$?")
    assert sorted(told.splitlines()) == [
        "rc=2", "srun: error: n1: task 0: Exited with exit code 2",
        "stepd: execve(): hostname: No such file or directory",
    ]  # fmt: skip


def test_files_named_by_nodes(field: slurmsim.Cluster, tmp_path: Path) -> None:
    script = "sbatch -W -Q -w n1 -o y-%N.out --wrap true; sbatch -W -Q -N2 -o /dev/null --wrap 'srun -o f-%N.out true'"
    ran(field, tmp_path, script)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f-n1.out", "f-n2.out", "y-n1.out"]


def test_devices_of_steps(field: slurmsim.Cluster, tmp_path: Path) -> None:
    steps = (
        'srun -n2 --gpus-per-task=1 sh -c "echo \\$SLURM_PROCID \\$CUDA_VISIBLE_DEVICES / \\$SLURM_STEP_GPUS";'
        'srun -n1 --gres=gpu:1 --exact sh -c "echo one \\$CUDA_VISIBLE_DEVICES";'
        'srun -n1 --gres=none --overlap sh -c "echo none:\\$CUDA_VISIBLE_DEVICES"'
    )
    told = ran(field, tmp_path, f"sbatch -W -Q --gres=gpu:a100:2 -N1 -n2 -o g.txt --wrap '{steps}'; sort g.txt")
    first, second, one, none = told.splitlines()
    assert [line.split()[0] for line in (first, second)] == ["0", "1"]
    assert len({line.split()[1] for line in (first, second)}) == 2
    assert all(line.rpartition("/")[2].strip() for line in (first, second))
    assert (
        (one in ("one 0", "one 1"), none) == (False, "one 0")
        if none.startswith("one")
        else (none in ("one 0", "one 1") or one == "none:")
    )


def test_a_login_shell_finds_the_commands(field: slurmsim.Cluster, tmp_path: Path) -> None:
    if shutil.which("srun", path="/usr/bin:/bin"):
        pytest.skip("this machine has another srun, which login shells find first")
    (tmp_path / "login.sh").write_text("#!/bin/bash -l\nsrun -n1 echo found\n")
    assert ran(field, tmp_path, "sbatch -W -Q -n1 -o l.txt login.sh; cat l.txt") == "found\n"


def test_documents_of_a_job_with_an_unknown_signal(field: slurmsim.Cluster, tmp_path: Path) -> None:
    field.inject("OUT_OF_MEMORY", job=f"oom{tmp_path.name}", seconds=1)
    ran(field, tmp_path, f"sbatch -W -Q -n1 -J oom{tmp_path.name} -o /dev/null --wrap 'sleep 20'")
    assert "0:125" in ran(field, tmp_path, "sacct -nX -o exitcode")
    for command in ("sacct --json", "squeue --json -t all"):
        told = ran(field, tmp_path, f"{command} >o; echo $?; head -c 1 o")
        assert told == "0\n{"


def test_a_script_without_interpreter(field: slurmsim.Cluster, tmp_path: Path) -> None:
    (tmp_path / "bad.sh").write_text("#!/bin/nosuchinterp\necho hi\n")
    told = ran(
        field, tmp_path,
        "job=$(sbatch --parsable -n1 -o bi bad.sh); while squeue -h -j $job | grep -q .; do sleep 0.3; done; cat bi;"
        " sacct -nXP -j $job -o state,exitcode",
    )  # fmt: skip
    assert told == "stepd: execve(): bad interpreter(/bin/nosuchinterp): No such file or directory\nFAILED|2:0\n"


def test_a_folder_that_is_not_there(field: slurmsim.Cluster, tmp_path: Path) -> None:
    told = ran(
        field, tmp_path,
        f"job=$(sbatch --parsable -n1 -D /nonexistent -o {tmp_path}/pw --wrap pwd);"
        " while squeue -h -j $job | grep -q .; do sleep 0.3; done; cat pw; sacct -nXP -j $job -o state,exitcode",
    )  # fmt: skip
    assert told.splitlines() == [
        "stepd: couldn't chdir to `/nonexistent': No such file or directory: going to /tmp instead", "/tmp",
        "COMPLETED|0:0",
    ]  # fmt: skip


def test_gpus_of_nodes_and_of_requests(field: slurmsim.Cluster, tmp_path: Path) -> None:
    told = ran(
        field, tmp_path,
        "job=$(sbatch --parsable -w n1 --gres=gpu:2 --mem=100 -n1 -o /dev/null --wrap 'sleep 60');"
        " while ! squeue -h -t R -j $job | grep -q .; do sleep 0.2; done;"
        " scontrol -d show node n1 | grep -E 'AllocT|GresU';"
        " squeue -h -j $job -o %b; scontrol show job $job | grep TresPer; scancel $job;"
        " job=$(sbatch --parsable --gpus=1 -H -n1 -o /dev/null --wrap true); scontrol show job $job | grep TresPer;"
        " scancel $job",
    )  # fmt: skip
    gres = "gres:gpu" if field.release == "22.05" else "gres/gpu"
    lines = [line.strip() for line in told.splitlines()]
    assert set(lines[:2]) == {"AllocTRES=cpu=1,mem=100M,gres/gpu=2", "GresUsed=gpu:a100:2(IDX:0-1)"}
    assert lines[2:] == [f"{gres}:2", f"TresPerNode={gres}:2", f"TresPerJob={gres}:1"]


def test_a_step_out_of_memory(field: slurmsim.Cluster, tmp_path: Path) -> None:
    with field.inject("OUT_OF_MEMORY", job="oom", seconds=1):
        told = ran(
            field, tmp_path,
            "job=$(sbatch --parsable -J oom -n1 -o oom.out --wrap 'echo begin; srun sleep 30'); echo $job;"
            " while squeue -h -j $job 2>/dev/null | grep -q .; do sleep 0.2; done; cat oom.out;"
            " sacct -nP -j $job -o jobid,state,exitcode",
        )  # fmt: skip
    job, *lines = told.splitlines()
    what = f"Detected 1 oom_kill event in StepId={job}.0. Some of the step tasks have been OOM Killed."
    if field.release == "22.05":
        what = (f"Detected 1 oom-kill event(s) in StepId={job}.0. Some of your processes may have been killed by the "
                "cgroup out-of-memory handler.")  # fmt: skip
    assert lines == [
        "begin", f"stepd: {what}", "srun: error: n1: task 0: Out Of Memory", f"{job}|OUT_OF_MEMORY|0:125",
        f"{job}.batch|OUT_OF_MEMORY|0:125", f"{job}.0|OUT_OF_MEMORY|0:125",
    ]  # fmt: skip


def test_a_script_out_of_memory(field: slurmsim.Cluster, tmp_path: Path) -> None:
    with field.inject("OUT_OF_MEMORY", job="oom", seconds=1):
        told = ran(
            field, tmp_path,
            "job=$(sbatch --parsable -J oom -n1 -o oom.out --wrap 'exec sleep 30'); echo $job;"
            " while squeue -h -j $job 2>/dev/null | grep -q .; do sleep 0.2; done; cat oom.out",
        )  # fmt: skip
    job, *lines = told.splitlines()
    assert len(lines) == 1 and re.fullmatch(rf"stepd: Detected 1 oom.kill event.* in StepId={job}\.batch\..*", lines[0])
