"""``run.json``: enough to repeat a run bit for bit, and the facts the validator judges on."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import numpy as np

from slurmsim import __version__, compiled
from slurmsim.core.controller.life_cycle import again_s
from slurmsim.core.placement.cluster_state import allocation_unit
from slurmsim.core.placement.sharing import takes_turns
from slurmsim.core.records.node_columns import grain_cpus
from slurmsim.core.records.node_names import NodeNamer, index_runs
from slurmsim.core.records.release_rules import rules_of
from slurmsim.hostlist import compress_in_order
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.node import NodeSpec
from slurmsim.model.topology import TopologySpec
from slurmsim.policy import Policy
from slurmsim.replaying.preparation import Prepared
from slurmsim.sim.accounting_data import accounting_facts, enforcement, takes_facts
from slurmsim.sim.checkpoints import Checkpoints
from slurmsim.sim.more_options import parse_more_options

LIMIT_SCAN_S = 30


def manifest(prepared: Prepared) -> dict[str, Any]:
    """run.json: enough to repeat the run bit for bit, and the facts the validator judges on."""
    cluster, workload, options = prepared.cluster, prepared.workload, prepared.options
    quality = workload.quality
    over = cluster.option("OverTimeLimit")
    slack = (
        None if over is None else LIMIT_SCAN_S + max([over, *(p.over_time_limit_s or 0 for p in cluster.partitions)])
    )
    return {
        "slurmsim": __version__,
        "python": sys.version.split()[0],
        "compiled": compiled(),
        "policy": prepared.policy_name,
        "policy_options": {k: str(v) for k, v in prepared.policy.options.items()},
        **predictor_named(prepared.policy),
        "seed": options.seed,
        "options": options.as_dict(),
        **prepared.hashes,
        "workload": {
            "file": options.workload, "format": workload.header.format, "epoch": workload.header.epoch,
            "records": quality.records, "jobs": len(workload), "repaired": quality.repaired,
            "dropped": quality.dropped, "examples": quality.examples,
        },
        "limit_allowance_s": 0 if prepared.policy.event_driven else slack,
        "cluster": cluster_facts(cluster, prepared.accounting),
        **_segments_asked(prepared),
        **_power_facts(cluster),
        **_checkpoint_facts(prepared),
        "findings": [
            {"severity": f.severity, "file": f.file, "line": f.line, "key": f.key, "value": f.value,
             "message": f.message}
            for f in prepared.findings
        ],
    }  # fmt: skip


def _checkpoint_facts(prepared: Prepared) -> dict[str, Any]:
    """Return how jobs saved their work; nothing where they did not."""
    spec = Checkpoints.configured(prepared.cluster.scheduler_parameters)
    return {} if spec is None else {"checkpoints": asdict(spec)}


def _power_facts(cluster: ClusterSpec) -> dict[str, Any]:
    """Return what the run knew of watts; nothing where it knew none."""
    spec = cluster.power
    if spec is None:
        return {}
    facts = asdict(spec)
    facts["budget"] = [list(step) for step in spec.budget]
    del facts["carbon"]  # the file has it, and its hash is kept
    return {"power": facts}


def predictor_named(policy: Policy) -> dict[str, str]:
    """Return the predictor `policy` plans with, an oracle as such; nothing where limits count."""
    predictor = policy.predictor
    if predictor is None:
        return {}
    return {"predictor": f"{predictor.name} (oracle)" if predictor.oracle else predictor.name}


def cluster_facts(cluster: ClusterSpec, accounting: Accounting | None = None) -> dict[str, Any]:
    """Nodes and partitions as the manifest keeps them (docs/validation.md)."""
    enforce = enforcement(cluster)
    namer = NodeNamer([n.name for n in cluster.nodes])
    index = {n.name: i for i, n in enumerate(cluster.nodes)}
    unit, memory = allocation_unit(cluster)
    runs: list[list[Any]] = []
    first = 0
    for i in range(1, len(cluster.nodes) + 1):
        if i < len(cluster.nodes) and _same_size(cluster.nodes[i], cluster.nodes[first]):
            continue
        node = cluster.nodes[first]
        gres: dict[str, int] = {}
        for g in node.gres:
            gres[g.name] = gres.get(g.name, 0) + g.count
            if g.type:
                gres[f"{g.name}:{g.type}"] = gres.get(f"{g.name}:{g.type}", 0) + g.count
        usable = max(0, node.real_memory_mib - node.mem_spec_limit_mib)
        size = [namer.runs([(first, i - first)]), node.cpus, usable, gres]
        threads = grain_cpus(node, unit) if unit == "core" else 1
        runs.append(size if threads == 1 else [*size, threads])
        first = i
    partitions = {}
    for p in cluster.partitions:
        members = sorted(index[n] for n in p.nodes)
        partitions[p.name] = {
            "nodes": namer.runs(index_runs(members)), "max_time_s": p.max_time_s,
            "exclusive": p.oversubscribe == "EXCLUSIVE",
            "cpus_per_node": p.cpus_of_node(min((cluster.nodes[i].sockets for i in members), default=1)),
            "jobs_per_cpu": p.oversubscribe_max if p.oversubscribe in ("YES", "FORCE") else 1,
            "shares_cpus": p.oversubscribe == "FORCE" or (p.oversubscribe == "YES" and p.oversubscribe_max > 1),
            **takes_facts(p, accounting, enforce),
        }  # fmt: skip
        if takes_turns(cluster):  # jobs of one partition take turns, those of several may run on the same CPUs
            partitions[p.name] |= {"jobs_per_cpu": 1, "shares_cpus": p.oversubscribe != "EXCLUSIVE"}
    return {"name": cluster.name, "nodes": runs, "partitions": partitions, "whole_nodes": unit == "node",
            "memory_tracked": memory, "requeue_s": again_s(cluster), "licenses": dict(cluster.option("Licenses")),
            **({"gpus_trusted": True} if rules_of(cluster.release).first_node_serves else {}),
            **_networks(cluster), **_layers(cluster), **accounting_facts(accounting, enforce)}  # fmt: skip


def _layers(cluster: ClusterSpec) -> dict[str, Any]:
    """Return the layers of hierarchical resources, ``[resource, mode, nodes, count]`` each; nothing without any."""
    found = [[one.name, one.mode, layer.shown, layer.count] for one in cluster.hierarchies for layer in one.layers]
    return {"layers": found} if found else {}


def _networks(cluster: ClusterSpec) -> dict[str, Any]:
    """Return the blocks, rings or tori of each partition that has any; nothing where none has."""
    found = {p.name: facts for p in cluster.partitions if (facts := _network(cluster.network_of(p.topology)))}
    optional = "TopoOptional" in cluster.option("TopologyParam")
    return {"networks": found} if found and not optional else {}


def _network(spec: TopologySpec) -> dict[str, Any]:
    if spec.blocks is not None:
        widths = [1 << level for level in spec.blocks.levels]
        units = [compress_in_order(block.nodes) for block in spec.blocks.blocks]
        return {"kind": "block", "base": spec.blocks.base, "widths": widths, "units": units}
    if spec.rings:
        return {"kind": "ring", "units": [compress_in_order(ring.nodes) for ring in spec.rings]}
    if spec.toruses:
        shapes = [[[one.dims, one.seed, one.step] for one in torus.placements] for torus in spec.toruses]
        return {"kind": "torus", "units": [list(torus.cells) for torus in spec.toruses],
                "tori": [{"dims": torus.dims, "shapes": shape}
                         for torus, shape in zip(spec.toruses, shapes, strict=True)]}  # fmt: skip
    return {}


def _segments_asked(prepared: Prepared) -> dict[str, Any]:
    """Return ``[size, spread, [first id, last id, …]]`` of the jobs that asked for segments, where they count."""
    if not _networks(prepared.cluster):
        return {}
    options, ids = prepared.workload.texts["options"], prepared.workload.ints["job_id"]
    found = []
    for code, text in enumerate(options.values):
        more = parse_more_options(text) if "--segment" in text else None
        if more is not None and more.segment:
            mine = np.sort(ids[options.codes == code])
            ends = np.flatnonzero(np.diff(mine) != 1)
            first, last = mine[np.append(0, ends + 1)], mine[np.append(ends, len(mine) - 1)]
            found.append([more.segment, more.spread_segments, np.stack([first, last], 1).ravel().tolist()])
    return {"segments": found} if found else {}


def _same_size(a: NodeSpec, b: NodeSpec) -> bool:
    return (a.cpus, a.real_memory_mib, a.mem_spec_limit_mib, a.gres, grain_cpus(a, "core")) == (
        b.cpus, b.real_memory_mib, b.mem_spec_limit_mib, b.gres, grain_cpus(b, "core"),
    )  # fmt: skip
