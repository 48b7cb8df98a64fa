"""seff: what the script of that name printed of ended jobs on a real 22.05.8, with nothing measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_client import START, Cluster
from test_sreport import MIDNIGHT, record

USAGE = """\
Usage: seff [Options] <Jobid>
       Options:
       -h    Help menu
       -v    Version
       -d    Debug mode: display raw Slurm data
"""
UNMEASURED = """\
CPU Utilized: 00:00:00
CPU Efficiency: 0.00% of 00:00:{:02} core-walltime
Job Wall-clock time: 00:00:03
Memory Utilized: 0.00 MB (estimated maximum)
Memory Efficiency: 0.00% of {}
"""
HEAD = "Job ID: {0}\nCluster: tux\nUser/Group: {1}/{1}\nState: {2}\n"
RAW = """\
Slurm data: JobID ArrayJobID User Group State Clustername Ncpus Nnodes Ntasks Reqmem PerNode Cput Walltime Mem \
ExitStatus
Slurm data: 3  bob bob FAILED tux 9 2 0 921600 0 0 3 0 3

"""
THIRD = (HEAD.format(3, "bob", "FAILED (exit code 3)") + "Nodes: 2\nCores per node: 4\n"
         + UNMEASURED.format(27, "900.00 MB (100.00 MB/core)"))  # fmt: skip
CASES = [
    ("seff 2", 0, HEAD.format(2, "alice", "COMPLETED (exit code 0)") + "Nodes: 1\nCores per node: 2\n"
     + UNMEASURED.format(6, "200.00 MB (100.00 MB/core)")),
    ("seff 3", 0, THIRD), ("seff -d 3", 0, RAW + THIRD),
    ("seff 4", 0, HEAD.format(4, "carol", "COMPLETED (exit code 0)") + "Cores: 1\n"
     + UNMEASURED.format(3, "500.00 MB (500.00 MB/node)")),
    ("seff 5_1", 0, HEAD.format(8, "dave", "COMPLETED (exit code 0)").replace("Cluster", "Array Job ID: 5_1\nCluster")
     + "Cores: 1\n" + UNMEASURED.format(3, "100.00 MB (100.00 MB/core)")),
    ("seff", 1, USAGE), ("seff -h", 1, USAGE), ("seff 1 2", 1, USAGE), ("seff -v", 1, "seff Version 2.1\n"),
    ("seff 999", 2, "Job not found.\n"), ("seff 8_1", 2, "Job not found.\n"),
    ("seff x", 1, "perl: fatal: Bad job/step specified: x\n"),
]  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    made = Cluster(tmp_path_factory.mktemp("seff"), users=("alice", "bob", "carol", "dave"))
    for words in ("account physics", "user alice account=physics"):
        made.run(f"sacctmgr -i add {words}")
    made.now, start = START + 1000, START - MIDNIGHT + 10
    for number, user, cpus, nodes, mem in ((2, "alice", 2, 1, 200), (3, "bob", 9, 2, 900), (4, "carol", 1, 1, 500),
                                           (8, "dave", 1, 1, 100)):  # fmt: skip
        tres = {"cpu": cpus, "mem": mem, "node": nodes, "billing": cpus}
        row = record([number, "a", user, "", "batch", "n1", start, start, start, start + 3, cpus, tres, "normal", None])
        row = replace(row, mem_cpu=None if number == 4 else 100, mem_node=500 if number == 4 else None)
        if number == 3:
            row = replace(row, state="FAILED", exit_code=3 << 8)
        if number == 8:
            row = replace(row, array_job_id=5, array_task_id=1)
        made.engine.storage.store.add(row)
    return made


@pytest.mark.parametrize(("line", "code", "text"), CASES)
def test_seff_prints_what_the_script_prints(cluster: Cluster, line: str, code: int, text: str) -> None:
    cluster.release = "22.05"
    found, out, error = cluster.run(line)
    assert (found, out + error) == (code, text)


def test_of_a_job_that_runs_it_says_so(cluster: Cluster) -> None:
    number = cluster.submit("alice")
    cluster.now += 6  # its row is complete
    cluster.release = "24.11"
    lines = cluster.text(f"seff {number}").splitlines()
    assert lines[3] == "State: RUNNING"
    assert "Memory Utilized: 0.00 MB" in lines
    assert lines[-1].startswith("WARNING: Efficiency statistics can only be obtained after the job has ended")
