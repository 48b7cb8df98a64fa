"""Jobs on nodes of a single CPU share them as on others, also in what is told of them (26.05)."""

from __future__ import annotations

import re

import slurmsim


def test_a_job_on_a_node_of_one_cpu_is_not_exclusive() -> None:
    with slurmsim.cluster(nodes=2, cpus_per_node=1, frozen=True, slurm_version="26.05") as cluster:
        told = {}
        for options in ("", "--exclusive"):
            job = cluster.run(["sbatch", "--parsable", *options.split(), "--wrap", "sleep 60"]).stdout.strip()
            cluster.step(5)
            found = re.search(r"Exclusive=(\S+)", cluster.run(["scontrol", "show", "job", job]).stdout)
            assert found is not None
            told[options] = found[1]
    assert told == {"": "NO", "--exclusive": "NODE"}
