"""Ways to ask for GPUs, as real Slurm answers them by release: what jobs show, and what their scripts find.

`recorded_gpus.json` has one row a request: what it shows while it is held, once it was submitted without, and what its
script finds; once where 22.05.8, 24.11.5 and 26.05.5 are alike. GPUs had device files, which are numbered from 0, and
nics none.
"""

from __future__ import annotations

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
GresTypes=gpu,nic
NodeName=n[1-2] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:a:2
NodeName=n[3-4] Sockets=2 CoresPerSocket=8 RealMemory=16000 Gres=gpu:b:4,nic:2
NodeName=n5 Sockets=1 CoresPerSocket=16 RealMemory=16000
PartitionName=main Nodes=ALL Default=YES DefaultTime=10 DefMemPerCPU=100
PartitionName=defs Nodes=ALL DefaultTime=10 DefCpuPerGPU=3 DefMemPerGPU=1500
"""
RECORDED = recorded("recorded_gpus.json")


@pytest.fixture(scope="module", params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    yield Scripts(tmp_path_factory.mktemp("gpus"), request.param, CONF)


@pytest.mark.parametrize("options", RECORDED)
def test_what_is_asked_for_and_what_is_given(cluster: Scripts, options: str) -> None:
    wanted = of_release(RECORDED[options], cluster.release)
    code, out, error = cluster.run(f"sbatch --parsable -H {options} --wrap true", "alice")
    if code:
        assert error.strip() == wanted.get("refused")
        return
    found: dict[str, str | None] = {f"held {name}": value for name, value in cluster.shown(int(out)).items()}
    cluster.text(f"scancel {out}")
    code, out, error = cluster.run(f"sbatch --parsable {options} --wrap 'sleep 99'", "alice")
    if code:
        found["refused"] = "refused unheld"  # what is asked for now cannot be
    else:
        cluster.now += 6  # a cycle of backfill
        found |= cluster.shown(int(out)) | cluster.environment(int(out))
        cluster.text(f"scancel {out}")
        cluster.now += 6
    assert {name: found.get(name) for name in wanted} == wanted
