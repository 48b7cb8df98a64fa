"""Runs of a policy through the public door: files in, a trace out, and the independent validator's verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
from slurmsim.trace.reader import Trace, read_trace
from slurmsim.validate import validate_trace
from slurmsim.workload import TextColumn, Workload
from slurmsim_workloads import write_workload
from slurmsim_workloads.generators import generate

HEAD = """ClusterName=conformance
SlurmctldHost=head
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
"""
SMALL_NODES = "NodeName=n[1-8] CPUs=4 CoresPerSocket=4 RealMemory=16000\n"


@dataclass(frozen=True)
class World:
    """A cluster, a workload and what happens to the nodes."""

    name: str
    conf: str
    workload: Workload
    node_events: str = ""


def run(world: World, policy: str, folder: Path) -> Trace:
    """Replay `world` under `policy`; the trace is in ``folder/out`` and the validator has nothing against it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "slurm.conf").write_text(world.conf, encoding="utf-8")
    write_workload(world.workload, str(folder / "log.parquet"))
    events = None
    if world.node_events:
        events = str(folder / "nodes.csv")
        Path(events).write_text(world.node_events, encoding="utf-8")
    options = RunOptions(
        str(folder / "log.parquet"), str(folder / "out"), str(folder / "slurm.conf"), policy=policy, node_events=events
    )
    execute(prepare(options), report=False)
    report = validate_trace(folder / "out")
    assert report.valid, report.to_text()
    return read_trace(folder / "out")


def jobs(rows: list[dict[str, Any]]) -> Workload:
    """A workload of `rows`; ids are 1, 2, … unless given, limits are minutes rounded up from the run time."""
    ints: dict[str, Any] = {}
    for name in sorted({key for row in rows for key, value in row.items() if isinstance(value, int)}):
        default = 1 if name == "cpus_per_task" else -1
        ints[name] = np.array([row.get(name, default) for row in rows], np.int64)
    ints.setdefault("job_id", np.arange(1, len(rows) + 1, dtype=np.int64))
    ints.setdefault("time_limit", -(-ints["run_time"] // 60) * 60)
    texts = {
        name: TextColumn.from_list([row.get(name, "") for row in rows])
        for name in sorted({key for row in rows for key, value in row.items() if isinstance(value, str)})
    }
    return Workload(ints=ints, texts=texts).sorted()


def drawn(rows: int, seed: int, **bounds: tuple[int, int]) -> list[dict[str, Any]]:
    """`rows` jobs with each column uniform within its bounds, submitted a minute apart on average."""
    random = np.random.default_rng(seed)
    columns = {name: random.integers(low, high + 1, rows).tolist() for name, (low, high) in bounds.items()}
    submit = np.cumsum(random.integers(0, 121, rows)).tolist()
    return [{"submit": submit[i], **{name: column[i] for name, column in columns.items()}} for i in range(rows)]


def single_partition() -> World:
    """Whole-node jobs on equal nodes, overloaded at first."""
    rows = drawn(80, 1, nodes=(1, 8), run_time=(1, 1800))
    for row in rows:
        row |= {"tasks": row["nodes"] * 4}
    conf = HEAD + SMALL_NODES + "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n"
    return World("single-partition", conf, jobs(rows))


def overlapping_partitions() -> World:
    """Two partitions that share half of their nodes, one of a higher tier, jobs in either or in both."""
    rows = drawn(80, 2, nodes=(1, 3), run_time=(1, 1800), which=(0, 2))
    for row in rows:
        row["partition"] = ("left", "right", "left,right")[row.pop("which")]
        row["tasks"] = row["nodes"] * 4
    conf = HEAD + SMALL_NODES + (
        "PartitionName=left Nodes=n[1-5] Default=YES MaxTime=1:00:00\n"
        "PartitionName=right Nodes=n[4-8] PriorityTier=2 MaxNodes=3 MaxTime=UNLIMITED\n"
    )  # fmt: skip
    return World("overlapping-partitions", conf, jobs(rows))


def shared_nodes() -> World:
    """Jobs that share nodes by cores, memory and GPUs, and some that do not share."""
    options = {"jobs": "100", "partitions": "batch:nodes=6:cpus=8:mem=32000,gpu:nodes=3:cpus=8:gpus=4:mem=64000",
               "arrays": "0", "sigma": "1", "exclusive": "0.1"}  # fmt: skip
    conf = HEAD + (
        "DefMemPerCPU=2000\n"
        "NodeName=c[1-6] CPUs=8 CoresPerSocket=8 RealMemory=32000\n"
        "NodeName=g[1-3] CPUs=8 CoresPerSocket=8 RealMemory=64000 Gres=gpu:4\n"
        "PartitionName=batch Nodes=c[1-6] Default=YES MaxTime=UNLIMITED\n"
        "PartitionName=gpu Nodes=g[1-3] MaxTime=UNLIMITED\n"
    )
    return World("shared-nodes", conf, generate("mix", options, 3))


def arrays_and_dependencies() -> World:
    """Throttled arrays, chains of jobs that wait for each other's success, and one that can never run."""
    rows: list[dict[str, Any]] = []
    for number in range(4):
        first, submit = len(rows) + 1, 600 * number
        for task in range(6):
            row = {"job_id": first + task, "array_job_id": first, "array_task_id": task}
            throttle = 2 if number % 2 else -1
            rows.append({**row, "submit": submit, "run_time": 60 + 90 * task, "tasks": 3, "array_limit": throttle})
        after = len(rows) + 1
        rows.append(
            {"job_id": after, "submit": submit + 1, "run_time": 100, "tasks": 8, "dependency": f"afterok:{first}"}
        )
        rows.append({"job_id": after + 1, "submit": submit + 2, "run_time": 50, "tasks": 30,
                     "dependency": f"afterany:{after}"})  # fmt: skip
        rows.append({"job_id": after + 2, "submit": submit + 3, "run_time": 50, "tasks": 4, "begin": submit + 2000})
    conf = HEAD + SMALL_NODES + "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n"
    return World("arrays-and-dependencies", conf, jobs(rows))


def failing_nodes() -> World:
    """Nodes go down under running jobs, others are drained, all come back."""
    rows = drawn(60, 5, nodes=(1, 6), run_time=(60, 1800), requeue=(0, 1))
    for row in rows:
        row["tasks"] = row["nodes"]
    conf = HEAD + SMALL_NODES + "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n"
    events = (
        "time,action,nodes\n1000,down,n[1-3]\n1500,drain,n8\n2600,resume,n[1-2]\n4000,resume,n3\n6000,resume,n8\n"
        "7000,down,n[5-8]\n9000,resume,n[5-8]\n"
    )
    return World("failing-nodes", conf, jobs(rows), events)


def stream_of_small_jobs(days: int = 4) -> World:
    """One job of all nodes against a stream of one-node jobs that alone would keep every node busy for days.

    Whoever always fills what is free starts the wide job only when the stream dries up.
    """
    rows: list[dict[str, Any]] = [
        {"submit": i * 450, "run_time": 3540 + i % 60, "nodes": 1, "tasks": 1, "exclusive": 1, "name": "small"}
        for i in range(days * 24 * 8)
    ]
    rows.append({"submit": 1800, "run_time": 3600, "nodes": 8, "tasks": 8, "exclusive": 1, "name": "wide"})
    conf = HEAD + SMALL_NODES + "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n"
    return World("stream-of-small-jobs", conf, jobs(rows))


WORLDS = (single_partition, overlapping_partitions, shared_nodes, arrays_and_dependencies, failing_nodes)
