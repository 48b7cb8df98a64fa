"""select/linear on nodes that are not alike: what squeue of slurmctld 22.05.8 showed for each ``sbatch``."""

from __future__ import annotations

import pytest
from unit.core.world import HEAD, World

TWO_SIZES = "NodeName=n[1-5] CPUs=4 CoresPerSocket=4\nNodeName=n6 CPUs=8 CoresPerSocket=8\n"
WEIGHTS = """NodeName=n[1-2] CPUs=4 CoresPerSocket=4 Weight=5
NodeName=n[3-4] CPUs=8 CoresPerSocket=8
NodeName=n[5-7] CPUs=4 CoresPerSocket=4
"""
SEEN = {
    TWO_SIZES: {
        "-N2 -n6 -c2": "n[5-6] 12", "-N2 -n10": "n[5-6] 12", "-n12": "n[1-3] 12", "-n14": "n[1-4] 16",
        "-N3 -n14": "n[4-6] 16", "-N1-3 -n14": "n[4-6] 16",
    },
    WEIGHTS: {
        "-N3": "n[3-5] 20", "-N2": "n[3-4] 16", "-N6": "n[1-6] 32", "-n4": "n3 8", "-n9": "n[3-4] 16",
        "-n17": "n[3-4,7] 20", "-n21": "n[3-4,6-7] 24", "-N3 -n17": "n[3-4,7] 20", "-N2 -w n6": "n[3,6] 12",
        "-N3 -n20 -w n6": "n[3-4,6] 20", "-N1-4 -n5": "n[3-6] 24", "-N2-4": "n[3-6] 24",
        "-N2-4 -n20": "n[3-4,6-7] 24",
    },
}  # fmt: skip
BUSY = {"-N3": "n[3-5] 20", "-n20": "n[3-4,7] 20", "-N4": "n[3-5,7] 24", "-n8": "n3 8"}  # a job has n6
CASES = [(nodes, "", *case) for nodes, cases in SEEN.items() for case in cases.items()]


@pytest.mark.parametrize(
    ("nodes", "busy", "options", "seen"), [*CASES, *((WEIGHTS, "n6", *case) for case in BUSY.items())]
)
def test_nodes_of_several_sizes(nodes: str, busy: str, options: str, seen: str) -> None:
    conf = HEAD.replace("select/cons_tres", "select/linear").replace("CR_Core", "CR_Memory")
    w = World(f"{conf}{nodes}PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE\n", "backfill")
    if busy:
        w.sbatch(f"-J other -N1 -w {busy} -t 5", 300, at=0)
    w.sbatch(f"-J job {options} -t 5", 300, at=1)
    w.until(9)
    alloc = w["job"].alloc
    assert alloc is not None
    assert f"{w.controller.state.cluster.node_list(alloc)} {w['job'].n_cpus}" == seen
