"""CPUs, distribution, binding and GRES of steps, as real 22.05.8, 24.11.5 and 26.05.5 answered.

`recorded_steps.json`: options of a job -> a command in it -> what its tasks or srun said, counted; by release where
they differ, each from the release named on. GPUs are of type a100.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.releases import RECORDED_RELEASES, row

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
TaskPlugin=task/none
DefMemPerCPU=100
GresTypes=gpu
NodeName=n[1-2] Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=64000
NodeName=g[1-2] Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:a100:4
PartitionName=cpu Nodes=n[1-2] Default=YES DefaultTime=10
PartitionName=gpu Nodes=g[1-2] DefaultTime=10
"""
TASK = {"cpu_bind": "'env | grep CPU_BIND | sort'", "": "'echo CPUS=$SLURM_CPUS_ON_NODE NT=$SLURM_NTASKS "
        "DIST=$SLURM_DISTRIBUTION CPT=$SLURM_CPUS_PER_TASK'"}  # fmt: skip
RECORDED = json.loads(Path(__file__).with_name("recorded_steps.json").read_text())
WAITED = re.compile(r"srun: (Job \d+ step creation temporarily disabled|Step created)")


@pytest.fixture(scope="module", params=[RECORDED_RELEASES[0], RECORDED_RELEASES[-1]])
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurmsim.Cluster]:
    conf = tmp_path_factory.mktemp("conf") / "slurm.conf"
    conf.write_text(CONF)
    with slurmsim.cluster(conf=conf, slurm_version=request.param) as cluster:
        yield cluster


@pytest.mark.parametrize("options", RECORDED)
def test_what_steps_say(live: slurmsim.Cluster, tmp_path: Path, options: str, request: pytest.FixtureRequest) -> None:
    release = request.node.callspec.params["live"]
    task = TASK["cpu_bind" if any("CPU_BIND=" in str(said) for said in RECORDED[options].values()) else ""]
    lines = [f"echo '== {cmd}'; {cmd} {'' if cmd.endswith('true') else f'bash -c {task}'} 2>&1; echo rc $?"
             for cmd in RECORDED[options]]  # fmt: skip
    (tmp_path / "job").write_text("#!/bin/bash\n" + "\n".join(lines) + "\n")
    live.run(["bash", "-c", f"cd {tmp_path}; sbatch -W -o out {options} job"])
    for section in (tmp_path / "out").read_text().split("== ")[1:]:
        cmd, *said = section.strip().split("\n")
        found = Counter(re.sub(r"for job \d+", "for job J", line) for line in said if not WAITED.match(line))
        recorded = RECORDED[options][cmd]
        wanted = row(recorded, release) if isinstance(recorded, dict) else recorded
        if cmd.endswith("true"):
            wanted = [f"1 {line}" if line.startswith("rc") else line for line in wanted]
        else:
            found = Counter({line: n for line, n in found.items() if not line.startswith("rc ")})
        assert (cmd, sorted(f"{n} {line}" for line, n in found.items())) == (cmd, sorted(wanted))
