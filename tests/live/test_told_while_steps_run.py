"""What `srun -v` and `salloc -v` tell, line by line as real Slurm 22.05.8, 24.11.5 and 26.05.5 did."""

from __future__ import annotations

import pytest

import slurmsim

_NEWER = """\
srun: Nodes n[1-2] are ready for job
srun: jobid 1: nodes(2):`n[1-2]', cpu counts: 2(x1),1(x1)
srun: CpuBindType=(null type)
srun: launching StepId=1.0 on host n1, 2 tasks: [0-1]
srun: launching StepId=1.0 on host n2, 1 tasks: 2
srun: Node n1, 2 tasks started
srun: Node n2, 1 tasks started
"""
_PLUGIN = "srun: topology/default: init: topology Default plugin loaded"
TOLD = {
    "26.05": "srun: JobId=1 returned by the controller\n" + _NEWER,
    "24.11": _NEWER.replace(
        "srun: Node n1", "srun: topology/default: init: topology Default plugin loaded\nsrun: Node n1"
    ),
    "22.05": """\
srun: jobid 1: nodes(2):`n[1-2]', cpu counts: 2(x1),1(x1)
srun: launch/slurm: launch_p_step_launch: CpuBindType=(null type)
srun: launching StepId=1.0 on host n1, 2 tasks: [0-1]
srun: launching StepId=1.0 on host n2, 1 tasks: 2
srun: route/default: init: route default plugin loaded
srun: launch/slurm: _task_start: Node n1, 2 tasks started
srun: launch/slurm: _task_start: Node n2, 1 tasks started
""",
}
ENDED = {"22.05": "launch/slurm: _task_finish: ", "24.11": "", "26.05": ""}


@pytest.mark.parametrize("release", TOLD)
def test_srun_tells_of_allocation_launch_and_ends(release: str) -> None:
    with slurmsim.cluster(nodes=2, slurm_version=release) as cluster:
        ran = cluster.run("srun -v -N2 -n3 true")
        said = ran.stderr.partition("end of defined options\n")[2]
        begin, ends = said[: len(TOLD[release])], sorted(said[len(TOLD[release]) :].splitlines())
        assert begin == TOLD[release]
        by = f"srun: {ENDED[release]}"
        notice = by + "Received task exit notification for {} of StepId=1.0 (status=0x0000)."
        assert ends == sorted([
            notice.format("1 task"), notice.format("2 tasks"),
            f"{by}n1: tasks 0-1: Completed", f"{by}n2: task 2: Completed",
        ])  # fmt: skip
        failed = cluster.run("srun -v false").stderr
        assert f"{notice.format('1 task').replace('1.0', '2.0').replace('0000', '0100')}\nsrun: error: n1:" in failed


def test_salloc_tells_the_id_first() -> None:
    with slurmsim.cluster(nodes=2, slurm_version="26.05") as cluster:
        said = cluster.run("salloc -v -N2 true").stderr.partition("end of defined options\n")[2]
        assert said.splitlines()[:3] == [
            "salloc: JobId=1 returned by the controller", "salloc: Granted job allocation 1",
            "salloc: Nodes n[1-2] are ready for job",
        ]  # fmt: skip
