"""Claim: a task of the sandbox begins in 50 ms of CPU on a cluster with 1,000 jobs."""

from __future__ import annotations

import statistics
import time

from live_cluster import judge

from slurmsim.assistant.sandbox import World

CONF = """
ClusterName=x
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
PriorityType=priority/multifactor
MinJobAge=1000000
NodeName=n[1-64] CPUs=16
PartitionName=p Nodes=ALL Default=YES
"""
JOBS = 1000
SETUP = (
    *(f"alice: sbatch -J j{k} -N{1 + k % 4} -t {10 + k % 300} --wrap='sleep {60 + k}'" for k in range(JOBS)),
    "+ 60",
)


def test_sandbox() -> None:
    taken = []
    with World(CONF, {"alice": 2001}, SETUP) as world:
        for _ in range(15):
            began = time.process_time()
            copy = world.copy()
            taken.append(1000 * (time.process_time() - began))
            assert len(copy.engine.jobs) == JOBS
    judge("sandbox", {"reset, ms": (statistics.median(taken), "<=", 50)})
