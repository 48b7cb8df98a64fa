"""GPUs of nodes, as `scontrol`, `sinfo` and `sacctmgr` of 22.05.8, 24.11.5 and 26.05.5 showed them beside one job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import slurmsim

CONF = """ClusterName=gpus
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/gpu,gres/gpu:a100
DefMemPerCPU=100
GresTypes=gpu
NodeName=g[1-3] Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:a100:4
NodeName=c1 Sockets=2 CoresPerSocket=8 RealMemory=64000
PartitionName=gpu Nodes=g[1-3] Default=YES DefCpuPerGPU=4 TRESBillingWeights="CPU=1.0,Mem=0.25G,GRES/gpu=2.0"
PartitionName=all Nodes=g[1-3],c1
"""
CAPACITY = "cpu=16,mem=62.50G,billing=39,gres/gpu=4,gres/gpu:a100=4"
USED = "cpu=8,mem=800M,gres/gpu=2,gres/gpu:a100=2"
NONE = {"22.05": "gpu:0", "24.11": "(null)", "26.05": "(null)"}


# what is asked, and what `scontrol show job` of 24.11.5 and 26.05.5 tells of it while it is held
ASKED = """
--gpus=2 --cpus-per-gpu=3 | NumCPUs=6 ReqTRES=cpu=6,mem=600M,node=1,billing=6,gres/gpu=2
-G 5 --cpus-per-gpu=2 | NumCPUs=10 ReqTRES=cpu=10,mem=1000M,node=1,billing=10,gres/gpu=5
--gpus-per-node=2 --cpus-per-gpu=3 | NumCPUs=6 ReqTRES=cpu=6,mem=600M,node=1,billing=6,gres/gpu=2
-N2 --gres=gpu:2 --cpus-per-gpu=3 | NumCPUs=12 ReqTRES=cpu=12,mem=1200M,node=2,billing=12,gres/gpu=4
-n4 --gpus-per-task=1 --cpus-per-gpu=2 | NumCPUs=8 ReqTRES=cpu=8,mem=800M,node=1,billing=8,gres/gpu=4
-N2 --sockets-per-node=2 --gpus-per-socket=2 | NumCPUs=4 ReqTRES=cpu=4,mem=400M,node=2,billing=4,gres/gpu=8
--gres=gpu:3 --mem-per-gpu=300 | NumCPUs=1 ReqTRES=cpu=1,mem=900M,node=1,billing=1,gres/gpu=3 MinMemoryTRES=300M
"""


def test_counts_of_waiting_jobs(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF)
    with slurmsim.cluster(conf=conf, slurm_version="24.11", frozen=True) as c:
        c.step(10)
        for line in ASKED.strip().splitlines():
            asked, told = line.split(" | ")
            job = c.run(f"sbatch --parsable -H -p all {asked} --wrap true", check=True).stdout.strip()
            shown = c.run(f"scontrol show job {job}", check=True).stdout.split()
            assert set(told.split()) <= set(shown), (asked, shown)


@pytest.mark.parametrize("release", NONE)
def test_nodes_tell_of_gpus(release: str, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF)
    with slurmsim.cluster(conf=conf, slurm_version=release, frozen=True) as c:

        def tells(command: str, *words: str) -> None:
            out = c.run(command, check=True).stdout
            assert not [word for word in words if word not in out], out

        c.step(10)
        c.run("sbatch --gres=gpu:2 -n3 --wrap 'sleep 900'", check=True)
        c.step(5)
        tells("scontrol show node g1", f"CfgTRES={CAPACITY}\n", f"AllocTRES={USED}\n")
        tells("scontrol show node g2", f"CfgTRES={CAPACITY}\n", "AllocTRES=\n")
        tells("scontrol show node c1", "CfgTRES=cpu=16,mem=62.50G,billing=16\n")
        tells("sinfo -h -N -n c1 -O gresused:9", NONE[release])
        tells("scontrol show partition gpu", "TRES=cpu=48,mem=187.50G,node=3,billing=118,gres/gpu=12,gres/gpu:a100=12")
        more = [] if release == "22.05" else ["gres/gpumem", "gres/gpuutil"]
        gres = ["gres|gpu|1001", "gres|gpu:a100|1002"]
        gres += [f"{name.replace('/', '|')}|{1003 + at}" for at, name in enumerate(more)]
        assert c.run("sacctmgr -nP show tres", check=True).stdout.split()[8:] == gres
        counts = [f"{name}=N(0)" for name in ("gres/gpu", "gres/gpu:a100", *more)]
        for limit in ("GrpTRES", "GrpTRESMins", "GrpTRESRunMins"):
            tells(
                "scontrol show assoc_mgr flags=assoc", f"{limit}=cpu=N(0),mem=N(0)", f"pages=N(0),{','.join(counts)}\n"
            )
        if more:
            [node] = json.loads(c.run("scontrol show node g1 --json", check=True).stdout)["nodes"]
            assert (node["tres"], node["tres_used"]) == (CAPACITY, USED)
