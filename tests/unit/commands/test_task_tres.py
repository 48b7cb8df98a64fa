"""What ``--tres-per-task`` and ``--tres-bind`` give a job, as 24.11.5 and 26.05.5 answered on the same nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from script_cluster import Scripts

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu,nvme
AccountingStorageTRES=gres/gpu,gres/nvme,license/mat
Licenses=mat:50
NodeName=n[1-2] CPUs=6 RealMemory=8000 Gres=gpu:2,nvme:7
PartitionName=batch Nodes=ALL Default=YES
"""
BAD_TRES = "sbatch: error: Batch job submission failed: Invalid Trackable RESource (TRES) specification\n"


@pytest.fixture(scope="module", params=("24.11", "26.05"))
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scripts:
    return Scripts(tmp_path_factory.mktemp("tasks"), request.param, CONF)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("-n1 --tres-per-task=cpu:3", {"TresPerTask": "cpu:3", "ReqTRES": "cpu=3,mem=8000M,node=1,billing=3"}),
        ("-n1 --tres-per-task=gres/gpu", {"TresPerTask": "gres/gpu", "TresBind": "gres/gpu:per_task:1"}),
        ("-n1 --tres-per-task=gres:nvme:2", {"TresPerTask": "gres/nvme:2", "TresBind": "gres/nvme:per_task:2"}),
        (
            "-n2 --tres-per-task=license/mat:7 --licenses=mat:7",
            {"Licenses": "mat:7,mat=14", "ReqTRES": "cpu=2,mem=8000M,node=1,billing=2,license/mat=21"},
        ),
        ("-N2 --tres-per-task=license/mat:7", {"Licenses": "mat=14", "TresPerTask": "license/mat:7"}),
        ("-n2 --tres-per-task=license/mat:0", {"Licenses": "(null)", "TresPerTask": "license/mat:0"}),
        ("-n2 --tres-per-task=gres/gpu:1 -c2", {"TresPerTask": "cpu=2,gres/gpu:1", "NumCPUs": "4"}),
        (
            "-n2 --tres-per-task=license/mat:7 --gpus-per-task=1 -c2",
            {"TresPerTask": "cpu=2,gres/gpu=1,license/mat:7", "Licenses": "mat=14"},
        ),
        ("-n1 --gpus=1 --tres-bind=gres/gpu:map:0,1", {"TresBind": "gres/gpu:map:0,1"}),
        ("-n1 --gpus=1 --gpu-freq=medium", {"TresFreq": "gpu:medium"}),
    ],
)
def test_what_a_job_asks_for_its_tasks(cluster: Scripts, options: str, wanted: dict[str, str]) -> None:
    code, out, error = cluster.run(f"sbatch --parsable -H {options} --wrap true", "alice")
    assert (code, error) == (0, "")
    found = cluster.shown(int(out))
    assert {name: found.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--tres-per-task=mem:3", "sbatch: fatal: Invalid TRES for --tres-per-task: mem\n"),
        ("--tres-per-task=cpu", "sbatch: fatal: Invalid --tres-per-task=cpu=0\n"),
        ("--tres-per-task=license/mat:7license/mat:7", BAD_TRES),
        ("--tres-per-task=license//mat::7", BAD_TRES),
        ("--tres-per-task=foo:2", BAD_TRES),
        (
            "--tres-per-task=license/foo:2",
            "sbatch: error: Batch job submission failed: Invalid license specification\n",
        ),
        ("--gpus=1 --tres-bind=gpu:map:0", BAD_TRES),
        (
            "--tres-per-task=cpu:2 -c1",
            "sbatch: fatal: You can not have --tres-per-task=cpu= and --cpus-per-task please use one or the other\n",
        ),
    ],
)
def test_what_is_refused(cluster: Scripts, options: str, said: str) -> None:
    code, _, error = cluster.run(f"sbatch -H -n1 {options} --wrap true", "alice")
    assert (code, error) == (1, said)


def test_licenses_with_an_equals_sign(tmp_path: Path, cluster: Scripts) -> None:
    assert cluster.run("sbatch -H -L mat=2 --wrap true", "alice")[0] == 0
    older = Scripts(tmp_path, "22.05", CONF)
    code, _, error = older.run("sbatch -H -L mat=2 --wrap true", "alice")
    assert (code, error) == (1, "sbatch: error: Batch job submission failed: Invalid license specification\n")
