"""Shares of GPUs (shard, mps): which GPU they lie on, and which jobs find none, as real slurmctld gave them."""

from __future__ import annotations

from pathlib import Path

import pytest
from world import World

from slurmsim.hostlist import expand
from slurmsim.slurmctld.base.live_job import task_ranges

_NODE = "NodeName=n[1-2] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:2"
_SHARDS = "Name=gpu File=/dev/gpu[0-1]\nName=shard Count=8"
_SOCKETS = "NodeName=n[1-2] Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:4,shard:16"


def _conf(node: str, more: str = "") -> str:
    return f"""ClusterName=shares
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core{more}
GresTypes=gpu,shard,mps
{node}
PartitionName=main Nodes=ALL Default=YES
"""


CLUSTERS = {
    "shard": (_conf(f"{_NODE},shard:8"), _SHARDS),
    "shardll": (_conf(f"{_NODE},shard:8", ",LL_SHARED_GRES"), _SHARDS),
    "shardpj": (_conf(f"{_NODE},shard:8", ",MULTIPLE_SHARING_GRES_PJ"), _SHARDS),
    "shardco": (
        _conf(_SOCKETS),
        "Name=gpu File=/dev/gpu[0-1] Cores=0-3\nName=gpu File=/dev/gpu[2-3] Cores=4-7\nName=shard Count=16",
    ),
    "mps": (_conf(f"{_NODE},mps:200"), "Name=gpu File=/dev/gpu[0-1]\nName=mps Count=200"),
}


def _recorded() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for line in Path(__file__).with_name("gpu_shares.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            asked, given = line.split(" | ")
            section.append((asked, given))
    return found


RECORDED = _recorded()


def _given(world: World, name: str, *, of_one: bool) -> dict[str, str] | str:
    """CPUs, GPUs and shares of each node, or why there are none; `of_one`: the GPU that the shares are of."""
    if name in world.refused:
        return "refused"
    alloc, table = world[name].alloc, world.controller.state.table
    if alloc is None:
        return "waits"
    assert table.local is not None
    found = {}
    for node, held in (alloc.held or {}).items():
        layout = table.local.layouts[node]
        mine = sum(bits for _, bits in held.devices)
        gpus = task_ranges(k for k, device in enumerate(layout.of_name("gpu")) if device.bit & mine)
        counts = next((counts for _, counts in held.shares), ())
        shares = f"of{counts.index(max(counts))}" if of_one and counts else "+".join(map(str, counts))
        cores = task_ranges(core for core in range(layout.cores.bit_length()) if held.cores >> core & 1)
        found[table.names[node]] = f"{cores}/{gpus}/{shares}"
    return found


def _told(given: str) -> dict[str, str] | str:
    shares = [word.split("=") for word in given.split() if "=" in word]
    return {node: share for nodes, share in shares for node in expand(nodes)} or given


@pytest.mark.parametrize("section", RECORDED)
def test_shares_of_gpus_are_those_that_were_recorded(section: str) -> None:
    cluster, release = section.split()
    conf, gres = CLUSTERS[cluster]
    world = World(conf, release=release, gres=gres)
    differ = []
    for case, (asked, given) in enumerate(RECORDED[section]):
        names = [f"j{case}.{k}" for k in range(asked.count(";;") + 1)]
        for name, line in zip(names, asked.split(" ;; "), strict=True):
            world.sbatch(f"-J {name} {line}", run=None)
            world.until(world.now + 60)
        ours = [_given(world, name, of_one=release == "22.05") for name in names]
        if ours != [_told(one) for one in given.split(" ;; ")]:
            differ.append(f"{asked}: {ours}, not {given}")
        for name in names:
            world.scancel(name)
        world.until(world.now + 60)
    assert not differ, "\n".join(differ)


def test_a_gpu_is_shared_or_taken_as_a_whole_and_free_once_its_last_share_is() -> None:
    conf, gres = CLUSTERS["shard"]
    world = World(conf, "fcfs", release="26.05", gres=gres)
    for name, run in (("a", 100), ("b", 200)):
        world.sbatch(f"-J {name} -w n1 --gres=shard:1", run=run)
    world.sbatch("-J whole -w n1 --gres=gpu:2", run=100)
    world.sbatch("-J more -w n1 --gres=shard:1", run=100)
    world.until(150)
    assert world.starts("a b whole more") == {"a": 0, "b": 0, "whole": None, "more": None}
    world.until(400)
    assert world.starts("whole more") == {"whole": 200, "more": 300}
