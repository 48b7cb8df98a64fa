"""scontrol listpids: processes of steps, found by their environments."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.commands.engine_client import Cluster

from slurmsim.commands.scontrol import local
from slurmsim.commands.scontrol.step_processes import Process, step_processes


def process(proc: Path, pid: int, parent: int, folder: Path, **environ: str) -> None:
    (proc / str(pid)).mkdir(parents=True)
    found = {"SLURMSIM_CLUSTER_DIR": str(folder), "SLURMD_NODENAME": "n1", **environ}
    (proc / str(pid) / "environ").write_bytes(b"\0".join(f"{k}={v}".encode() for k, v in found.items()) + b"\0")
    (proc / str(pid) / "stat").write_text(f"{pid} (a) b) S {parent} 1 1 0")


def task(job: object, step: str, place: object, number: int) -> dict[str, str]:
    return {"SLURM_JOB_ID": str(job), "SLURM_STEP_ID": step, "SLURM_LOCALID": str(place), "SLURM_PROCID": str(number)}


def test_tasks_and_what_they_made(tmp_path: Path) -> None:
    proc, folder = tmp_path / "proc", tmp_path / "cluster"
    process(proc, 10, 1, folder, SLURM_JOB_ID="7")  # the script
    process(proc, 11, 10, folder, **task(7, "0", 0, 2))
    process(proc, 12, 11, folder, **task(7, "0", 0, 2))
    process(proc, 13, 10, folder, **task(7, "1", 1, 1))
    process(proc, 14, 10, tmp_path / "other", **task(7, "0", 0, 0))
    process(proc, 15, 10, folder, **task(7, "-5", 0, 0))
    process(proc, 17, 10, folder, **task("²", "0", 0, 0))
    process(proc, 18, 10, folder, **task("9" * 5_000, "0", 0, 0))
    process(proc, 19, 10, folder, **task(7, "0", "\x1b[2J", 0))
    (proc / "16").mkdir()  # whose environment may not be read
    (proc / "self").mkdir()
    assert step_processes(str(folder), str(proc)) == [
        Process(11, 7, "0", "n1", "0", "2"), Process(12, 7, "0", "n1", "-", "-"), Process(13, 7, "1", "n1", "1", "1"),
    ]  # fmt: skip
    assert step_processes(str(folder), str(tmp_path / "none")) == []


@pytest.mark.parametrize(
    ("words", "out", "error"),
    [
        ("1.0 n1", "PID      JOBID    STEPID   LOCALID GLOBALID\n11       1        0        0       2       \n", ""),
        ("1.10 n1", "", "StepId=1.10 does not exist on node n1."),
        ("1 n2", "", "JobId=1 does not exist on node n2."),
        ("x", "", '"x" does not look like a jobid'),
        ("", "PID      JOBID    STEPID   LOCALID GLOBALID\n11       1        0        0       2       \n", ""),
    ],
)
def test_what_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, out: str, error: str) -> None:
    monkeypatch.setattr(local, "step_processes", lambda folder: [Process(11, 1, "0", "n1", "0", "2")])
    cluster = Cluster(tmp_path, release="26.05")
    found = cluster.run(f"scontrol listpids {words}")
    assert "".join(line.rstrip() + "\n" for line in found[1].splitlines()) == "".join(
        line.rstrip() + "\n" for line in out.splitlines()
    )
    assert found[2].strip() == error


def test_a_job_named_by_its_sluid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(tmp_path, release="26.05")
    cluster.text("sacctmgr -iQ add account phys")
    cluster.text("sacctmgr -iQ add user alice account=phys")
    job = cluster.submit()
    cluster.now += 10
    monkeypatch.setattr(local, "step_processes", lambda folder: [Process(11, job, "0", "n1", "0", "0")])
    named = cluster.text(f"sacct -nP -X -j {job} -o sluid").strip()
    assert f"11       {job}        0" in cluster.text(f"scontrol listpids {named}.0 n1")
    assert cluster.run(f"scontrol listpids {named}.10 n1")[2] == f"StepId={named}.10 does not exist on node n1.\n"
