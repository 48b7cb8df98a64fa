"""Whether each started job got what its row of the workload asks for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from wild.texts import asked_gres, expand, gres_counts, pairs, unrun
from wild.world import Row, World

Trouble = tuple[str, str]
Nodes = dict[str, tuple[int, int, dict[str, int]]]
Held = dict[str, list[tuple[dict[str, Any], int]]]  # node -> rows that have it, and how many of its CPUs
CHOOSING = ("parm", "equipartition")
FAR = 1 << 30


def unmet(world: World, runs: Iterable[dict[str, Any]], nodes: Nodes, facts: dict[str, Any]) -> Iterator[Trouble]:
    """Runs that got something else than their job asked for."""
    asked = {int(job["job_id"]): job for job in world.jobs}
    features, runs = _features(world), list(runs)
    held, cut = _held(runs), {(row["job_id"], row["end"]) for row in runs if row["state"] == "RESIZING"}
    for row in runs:
        job = asked.get(row["job_id"])
        if job is None:
            yield "request", f"job {row['job_id']} is in no workload"
            continue
        smaller = (row["job_id"], row["held_since"]) in cut
        for what in _unmet(world, job, row, nodes, facts, held, smaller=smaller):
            yield "request", f"job {row['job_id']} started at {row['start']}: {what}"
        constraint = str(job.get("constraint", ""))
        if constraint in ("a", "b", "a&b"):
            wanted = set(constraint.split("&"))
            for name in expand(row["node_list"]):
                if not wanted <= features[name]:
                    yield "request", f"job {row['job_id']}: {name} has not {constraint}"


def _unmet(
    world: World, job: Row, row: dict[str, Any], nodes: Nodes, facts: dict[str, Any], held: Held, *, smaller: bool
) -> Iterator[str]:
    names = expand(row["node_list"])
    cpus = unrun(row["cpus_per_node"], len(names))
    yield from _places(world, job, row, names, facts)
    yield from _side_by_side(world, job, row, names, nodes, held)
    if world.policy.partition(":")[0] in CHOOSING and "app" in job:
        return
    if smaller:
        if "--no-kill" not in str(job.get("options")) and not job.get("malleable"):  # a budget shrinks those
            yield f"another size from {row['held_since']} on"
        return
    more = _of_other_weights(world, job, names)
    yield from _size(job, row, names, cpus, nodes, whole=facts["cluster"]["whole_nodes"], more=more)
    tasks = int(job.get("tasks", 0)) or int(job.get("nodes", 1)) * int(job.get("tasks_per_node", 1))
    missing = tasks * _each(job) - sum(cpus)
    if missing > 0 and not _rounded(world, row, cpus, nodes, held, each=_each(job), missing=missing):
        yield f"{cpus} CPUs, it asked for {tasks} tasks of {_each(job)}"
    yield from _gpus(job, row, names)
    if facts["cluster"]["memory_tracked"]:
        memory = unrun(row["mem_per_node_mib"], len(names))
        per_node, per_cpu = int(job.get("mem_per_node", -1)), int(job.get("mem_per_cpu", -1))
        if per_node > 0 and min(memory) < per_node:
            yield f"{min(memory)} MiB on a node, it asked for {per_node}"
        if per_cpu > 0 and "tasks" in job and sum(memory) < per_cpu * int(job["tasks"]) * _each(job):
            yield f"{sum(memory)} MiB, it asked for {per_cpu} a CPU and has {sum(cpus)}"


def _held(runs: Iterable[dict[str, Any]]) -> Held:
    found: Held = defaultdict(list)
    for row in runs:
        names = expand(row["node_list"])
        for name, n in zip(names, unrun(row["cpus_per_node"], len(names)), strict=False):
            found[name].append((row, n))
    return found


def _rounded(
    world: World, row: dict[str, Any], cpus: list[int], nodes: Nodes, held: Held, *, each: int, missing: int
) -> bool:
    """Whether slurmctld counts the `missing` CPUs and does not hand them out, as they make no whole task.

    It counts all that is free of a node, and gives it all or whole tasks. Of a node that jobs share the trace does not
    tell what is free: there a node may lack a part of a task. 22.05.8, nodes of 8 CPUs, MaxCPUsPerNode=4, a job has one
    CPU of n1: ``sbatch -n5 -c2`` gets 3, 4 and 2 CPUs. The last node that it counts may have a part of a task beside
    free CPUs: ``-n6 -c2`` gets 5 and 6 CPUs where 6 and 7 are free.
    """
    if _in_turns(world, row["partition"]):
        return missing <= len(cpus) * (each - 1)
    partition = _partition(world, row["partition"])
    names, most = expand(row["node_list"]), int(partition.get("MaxCPUsPerNode", FAR))
    counted = parts = 0
    for name, n in zip(names, cpus, strict=False):
        # others of the same second came before it, or after
        least, left = (_left(row, held[name], nodes[name][0], most, last) - n for last in (0, -1))
        parts += bool(n % each and least > 0)
        counted += 0 if n % each else max(0, min(left, each - 1))
    return parts <= 1 and counted >= missing


def _partition(world: World, name: str) -> dict[str, str]:
    return next(p for p in map(pairs, world.conf) if p.get("PartitionName") == name)


def _in_turns(world: World, partition: str) -> bool:
    """Whether jobs of `partition` may have CPUs that others have, so that the trace does not tell what is free."""
    gang = any(line.startswith("PreemptMode=") and "GANG" in line for line in world.conf)
    return gang or _partition(world, partition).get("OverSubscribe", "").startswith(("FORCE", "YES"))


def _left(row: dict[str, Any], held: list[tuple[dict[str, Any], int]], cpus: int, most: int, last: int) -> int:
    """CPUs of a node that `row` may have when it starts, beside those that began `last` seconds from then or before."""
    at = row["start"]
    there = [(other, n) for other, n in held if other is not row and _has(other, at, at + last)]
    mine = sum(n for other, n in there if other["partition"] == row["partition"])
    return min(cpus - sum(n for _, n in there), most - mine)


def _has(other: dict[str, Any], at: int, last: int) -> bool:
    """Whether `other`, which began at `last` or before, has its nodes at `at`."""
    began = other["start"] if other["held_since"] is None else other["held_since"]
    return bool(began <= last and (other["end"] is None or other["end"] > at))


def _each(job: Row) -> int:
    return int(job.get("cpus_per_task", 1))


def _places(world: World, job: Row, row: dict[str, Any], names: list[str], facts: dict[str, Any]) -> Iterator[str]:
    """Nodes and moments it must not have, and those it must."""
    partition = facts["cluster"]["partitions"][row["partition"]]
    if outside := set(names) - set(expand(partition["nodes"])):
        yield f"{sorted(outside)} are not of partition {row['partition']}"
    if "partition" in job and row["partition"] not in str(job["partition"]).split(","):
        yield f"ran in {row['partition']}, it asked for {job['partition']}"
    if "node_list" in job and not set(expand(str(job["node_list"]))) <= set(names):
        yield f"ran on {row['node_list']} without {job['node_list']}"
    if "exclude" in job and set(expand(str(job["exclude"]))) & set(names):
        yield f"ran on {row['node_list']} in spite of --exclude={job['exclude']}"
    if row["start"] < max(int(job["submit"]), int(job.get("begin", 0))):
        yield "before it was submitted or may begin"


def _side_by_side(
    world: World, job: Row, row: dict[str, Any], names: list[str], nodes: Nodes, held: Held
) -> Iterator[str]:
    """--contiguous: a fixed number of nodes is side by side, but the last one may be any further node of the same run.

    Slurm 22.05.8 gives ``--contiguous -N1-4`` n[01,03-04] where n02 is busy. The last node is the smallest that has the
    CPUs still missing. With n[1-5] of 4 CPUs and n6 of 8, ``-N2 -n6 -c2`` gets n[1,6], n[4,6] while a job has n[1-3],
    and ``-N3 -n8 -c2`` n[1-2,6]. With equal nodes, 2 CPUs of n[1-2] in use, ``-N2 -n3 -c2`` gets n[1,3]. A job on fewer
    nodes, after one was lost (--no-kill), keeps the others wherever they are.
    """
    fixed = job.get("nodes_max", job.get("nodes", 0)) == job.get("nodes") == len(names)
    if not job.get("contiguous") or not fixed or _least_loaded(world, row["partition"]):
        return
    numbers = sorted(int(name[1:]) for name in names)
    between = [f"n{number}" for number in range(numbers[0], numbers[-1]) if number not in numbers]
    apart = len(numbers) > 1 and numbers[-2] - numbers[0] != len(numbers) - 2
    preempts = any(line.startswith("PreemptType=") and "none" not in line for line in world.conf)
    told = not preempts and not _in_turns(world, row["partition"])  # what was free when it started
    if apart or (told and any(_left(row, held[name], nodes[name][0], FAR, -1) <= 0 for name in between)):
        yield f"{row['node_list']} are not side by side"


def _least_loaded(world: World, partition: str) -> bool:
    """Whether the least loaded nodes come first, be they side by side or not, in spite of --contiguous.

    22.05.8, other jobs on n2 and n4: with LLN=YES ``--contiguous -N4`` got n[1,3-5]; with CR_LLN and a job on n6
    besides n[1,3,5,7], without it n[1-4].
    """
    for line in map(pairs, world.conf):
        if "CR_LLN" in line.get("SelectTypeParameters", ""):
            return True
        if line.get("PartitionName") == partition:
            return line.get("LLN") == "YES"
    return False


def _of_other_weights(world: World, job: Row, names: list[str]) -> int:
    """How many nodes beyond its most --spread-job may give since 26.05: one of each further weight.

    A node that is powered down is of a weight of its own. 26.05.5, n[1-4] of one weight, n4 powered down:
    ``--spread-job -N2`` got n[1-2,4], ``-N2-3`` n[1-4]; while n4 was powering down ``-N2-3`` got n[1-3].
    """
    one = job.get("nodes_max", job.get("nodes")) == 1
    if world.release != "26.05" or one or "--spread-job" not in str(job.get("options")):
        return 0
    lines = [pairs(line) for line in world.conf]
    weights = {line.get("Weight", "1") for line in lines if set(expand(line.get("NodeName", ""))) & set(names)}
    powered = any("SuspendProgram" in line for line in lines)
    return len(weights) * (1 + powered) - 1


def _size(
    job: Row, row: dict[str, Any], names: list[str], cpus: list[int], nodes: Nodes, *, whole: bool, more: int
) -> Iterator[str]:
    least = int(job.get("nodes", 1))
    most = int(job.get("nodes_max", job.get("nodes", 1 << 30)))
    if not least <= len(names) <= most + more:
        yield f"{len(names)} nodes, it asked for {least} to {most}"
    if (job.get("exclusive") or whole) and cpus != [nodes[name][0] for name in names]:
        yield f"{cpus} CPUs, it asked for whole nodes"
    if row["nodes"] != len(names) or row["cpus"] != sum(cpus):
        yield f"row says {row['nodes']} nodes and {row['cpus']} CPUs, its lists {len(names)} and {sum(cpus)}"


def _gpus(job: Row, row: dict[str, Any], names: list[str]) -> Iterator[str]:
    got = gres_counts(row["gres_per_node"], len(names))
    for kind, n in asked_gres(str(job.get("gres", ""))).items():
        if min(got.get(kind, [0])) < n:
            yield f"{row['gres_per_node']!r} a node, it asked for --gres={job['gres']}"
    words = dict(word.removeprefix("--").partition("=")[::2] for word in str(job.get("options", "")).split())
    ways = {"gpus": str(job.get("gpus", "")), **{key: words[key] for key in words if key.startswith("gpus-per")}}
    for way, text in ways.items():
        for kind, n in _of_gpus(text).items():
            times = {"gpus-per-task": int(job.get("tasks", 1)), "gpus-per-node": len(names),
                     "gpus-per-socket": len(names)}.get(way, 1)  # fmt: skip
            if row["gpus"] < n * times:
                yield f"{row['gpus']} GPUs, it asked for --{way}={text} on {len(names)} nodes"
            if kind and kind not in row["gres_per_node"]:
                yield f"{row['gres_per_node']!r}, it asked for --{way}={text}"


def _of_gpus(text: str) -> dict[str, int]:
    """``x:2`` or ``2``: type, or nothing, and count."""
    return {kind: int(n) for kind, _, n in (word.rpartition(":") for word in filter(None, text.split(",")))}


def _features(world: World) -> dict[str, set[str]]:
    found = {}
    for line in map(pairs, world.conf):
        for name in expand(line.get("NodeName", "")):
            found[name] = set(line.get("Feature", "").split(","))
    return found
