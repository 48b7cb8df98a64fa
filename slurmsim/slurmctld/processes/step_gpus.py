"""The GPUs of a step on each of its nodes: what it asks for, else what its job was given for it.

Mirrors what slurmstepd counts for SLURM_GPUS_ON_NODE (22.05, 26.05): a step of a job that has GPUs of whole nodes and
asked for none has none. A step takes the lowest devices of its job that no step beside it has, and waits until there
are enough of them (recorded with 26.05), unless it has --overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.core.records.local_cores import SHARED
from slurmsim.gres_counts import BAD_GRES, gres_items
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.fields.gres_ids import gpu_devices, shares_told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmsim.core.records.job import Job
    from slurmsim.core.records.node_table import NodeTable
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob

_ASKED = ("gpus", "tres_per_node", "tres_per_task", "tres_per_socket", "cpus_per_tres", "mem_per_tres")


def check_gres(core: Job, table: NodeTable, asked: Mapping[str, Any], release: str) -> None:
    """Refuse a step that wants GRES its job has none of, or more than it has. Raises Refusal.

    CPUs or memory of each GPU want one, too.
    """
    alloc = core.alloc
    given = [table.gres_kinds[kind] for kind, _ in alloc.gres] if alloc is not None else []
    wanted = [(name, kind) for key in _ASKED for name, kind, *_ in _items(asked, key) if name not in ("cpu", "none")]
    why = _too_many(core, table, asked)
    if why is None:
        raise Refusal(BAD_GRES, 2072)
    if not given:
        why = "Step requested GRES but job doesn't have GRES" if wanted else ""
    for name, kind in wanted if given else ():
        if not any(name == own and kind in ("", of) for own, of in given):
            why = f"Step requested GRES ({name}{kind and ':'}{kind}) not found in the job"
    if why:
        raise Refusal(BAD_GRES if since(release, "missing_gres_not_named") else f"{why}\n{BAD_GRES}", 2072)


def _items(asked: Mapping[str, Any], key: str) -> list[tuple[str, str, int, str]]:
    return gres_items(str(asked.get(key) or ""), "task" if key == "tres_per_task" else "step")


def _too_many(core: Job, table: NodeTable, asked: Mapping[str, Any]) -> str | None:
    """Return what Slurm says of a step that wants more GRES than its job has: None for nothing, "" if it does not."""
    alloc, tasks = core.alloc, int(asked["num_tasks"])
    for key, times in (("tres_per_node", 1), ("gpus", 1), ("tres_per_task", tasks)):
        for name, kind, count, _ in _items(asked, key):
            if any(table.gres_kinds[index][0] == name for index in table.unconsumed):
                continue  # its job has none of it, and the node has it
            counts = [have for index, have in (alloc.gres if alloc is not None else ())
                      if table.gres_kinds[index][0] == name and kind in ("", table.gres_kinds[index][1])]  # fmt: skip
            on_nodes = [sum(have if isinstance(have, int) else int(have[place]) for have in counts)
                        for place in range(core.n_nodes)]  # fmt: skip
            if not counts or (count * times <= sum(on_nodes) and (key == "gpus" or count <= max(on_nodes))):
                continue
            if key == "tres_per_node":
                shown, most = f"{name}:{kind}" if kind else name, max(on_nodes)
                wants = f"Step requested gres_per_node={shown}:{count}"
                return f"{wants} is more than the job's gres_per_node={shown}:{most}"
            return None
    return ""


def gres_of_step(
    core: Job, table: NodeTable, asked: Mapping[str, Any], places: Sequence[int], tasks: Sequence[int], wanted: str
) -> list[int]:
    """Return the GRES of one name on each node of a step.

    Parameters
    ----------
    asked
        What srun asked for.
    places
        Places of its nodes among those of the allocation.
    tasks
        Its tasks on each.
    wanted
        The name, as ``gpu``.
    """
    if (
        wanted == "gpu"
        and asked.get("cpus_per_tres")
        and not any(g.name == "gpu" and g.count for g in core.sub.request.gres)
    ):
        return _on_nodes(core, table, places, "gpu", "")  # CPUs of GPUs that come with whole nodes: of all of them
    if asked.get("no_gres"):
        return [0] * len(places)
    counts = {key: _count(asked, key, wanted) for key in ("tres_per_task", "tres_per_node", "gpus")}
    if counts["tres_per_node"]:
        return [counts["tres_per_node"]] * len(places)
    if counts["tres_per_task"]:
        return [counts["tres_per_task"] * count for count in tasks]
    if counts["gpus"]:
        return shared_out(counts["gpus"], _on_nodes(core, table, places, wanted, ""))
    if any(name not in ("cpu", "none") for key in counts for name, *_ in _items(asked, key)):
        return [0] * len(places)  # it asked for others
    return _of_job(core, table, places, tasks, wanted)


def shared_out(total: int, given: Sequence[int]) -> list[int]:
    """How many of `total` each node gives: the first ones all they have, with one left for each of the others.

    >>> shared_out(6, [4, 4]), shared_out(2, [4, 4]), shared_out(3, [2])
    ([4, 2], [1, 1], [2])
    """
    found, left = [], total
    for place, have in enumerate(given):
        others = sum(1 for more in given[place + 1 :] if more)
        found.append(min(have, max(left - others, min(left, 1))))
        left -= found[-1]
    return found


def short_of_gres(
    cluster: LiveCluster, live: LiveJob, asked: Mapping[str, Any], places: Sequence[int], tasks: Sequence[int]
) -> list[int]:
    """Return those of the places of a step where other steps of its job have the GRES it wants."""
    core, table = live.core, cluster.controller.state.table
    assert core.alloc is not None
    short: list[int] = []
    if asked.get("overlap") or not core.alloc.gres:
        return short
    place_of = {int(node): place for place, node in enumerate(core.alloc.indices())}
    for name in {table.gres_kinds[kind][0] for kind, _ in core.alloc.gres}:
        wanted = gres_of_step(core, table, asked, places, tasks, name)
        if not any(wanted):
            continue
        used = dict.fromkeys(place_of.values(), 0)
        for step in live.placed_steps:
            if step.asked and not step.asked.get("overlap") and place_of.keys() >= set(step.nodes):
                there = [place_of[node] for node in step.nodes]
                for place, count in zip(
                    there, gres_of_step(core, table, step.asked, there, step.tasks, name), strict=True
                ):
                    used[place] += count
        have = _on_nodes(core, table, places, name, "")
        for place, count, most in zip(places, wanted, have, strict=True):
            if used[place] and count + used[place] > most:
                short.append(place)
    return short


def tres_of_step(
    cluster: LiveCluster, core: Job, asked: Mapping[str, Any], places: Sequence[int], tasks: Sequence[int]
) -> dict[str, int]:
    """Return the GRES of a step that are TRES, by their names there."""
    state, alloc = cluster.controller.state, core.alloc
    given = [state.table.gres_kinds[kind] for kind, _ in alloc.gres] if alloc is not None else []
    counts: dict[str, int] = {}
    for name in dict.fromkeys(name for name, _ in given):
        types = [kind for own, kind in given if own == name]
        total = sum(gres_of_step(core, state.table, asked, places, tasks, name))
        state.billing.add_gres(counts, name, types[0] if len(types) == 1 else "", total)
    return {name: count for name, count in counts.items() if count}


def devices_of_step(
    cluster: LiveCluster, live: LiveJob, nodes: Sequence[int], counts: Sequence[int]
) -> list[list[int]]:
    """Return the numbers of the devices of a new step on each of its `nodes`; fewer where its job has no more free."""
    found = []
    for node, count in zip(nodes, counts, strict=True):
        taken: set[int] = set()
        for step in live.placed_steps:
            if step.asked.get("devices") and node in step.nodes and not step.asked.get("overlap"):
                taken.update(step.asked["devices"][step.nodes.index(node)])
        own = gpu_devices(live.core, node, cluster)
        free = [device for device in own if device not in taken]
        found.append((free if len(free) >= count else own)[:count])
    return found


def variables_of(variables: tuple[str, ...], told: Mapping[str, str]) -> tuple[str, ...]:
    """Return which variables name GPUs: of MPS it is CUDA's alone."""
    return ("CUDA_VISIBLE_DEVICES",) if "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE" in told else variables


def shares_of_step(
    cluster: LiveCluster, core: Job, asked: Mapping[str, Any], nodes: Sequence[int], places: Sequence[int],
    tasks: Sequence[int],
) -> list[tuple[list[int], dict[str, str]]]:  # fmt: skip
    """Return the GPUs of which a step has shares on each node, and the variables that say how much."""
    table = cluster.controller.state.table
    wanted = {name: gres_of_step(core, table, asked, places, tasks, name) for name in SHARED}
    found = []
    for k, node in enumerate(nodes):
        mine = {name: counts[k] for name, counts in wanted.items() if counts[k]}
        found.append(shares_told(core, node, cluster, mine) if mine else ([], {}))
    return found


def _count(asked: Mapping[str, Any], key: str, wanted: str) -> int:
    by_type = {kind: count for name, kind, count, _ in _items(asked, key) if name == wanted}
    return sum(by_type.values())  # the last of a type counts


def _of_job(core: Job, table: NodeTable, places: Sequence[int], tasks: Sequence[int], wanted: str) -> list[int]:
    found = [0] * len(places)
    for wish in core.sub.request.gres:
        if wish.name != wanted or core.alloc is None:
            continue
        given = _on_nodes(core, table, places, wanted, wish.type)
        for k in range(len(places)):
            if wish.scope == "task":
                found[k] += wish.count * tasks[k]
            elif wish.scope == "node":
                found[k] += wish.count
            else:
                found[k] += given[k]
    return found


def _on_nodes(core: Job, table: NodeTable, places: Sequence[int], wanted: str, kind: str) -> list[int]:
    """Return how many GRES of a name, and of a type if there is one, the job has on the nodes at `places`."""
    kinds = [n for n, (name, of) in enumerate(table.gres_kinds) if name == wanted and kind in ("", of)]
    given = [count for number, count in (core.alloc.gres if core.alloc is not None else ()) if number in kinds]
    return [sum(count if isinstance(count, int) else int(count[place]) for count in given) for place in places]
