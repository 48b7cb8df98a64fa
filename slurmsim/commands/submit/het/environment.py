"""What commands and tasks are told of a heterogeneous allocation: each component, and a step in several of them.

Mirrors het_job_env of salloc.c and setup_env (src/common/env.c), 22.05: what a step in several components shows as its
nodes and counts are those of all of them in the order of their nodes; the rest is the last component's.
"""

from __future__ import annotations

from slurmsim.commands.submit.steps.environment import (
    COMMON_TO_COMPONENTS,
    allocation_environment,
    run_length,
)
from slurmsim.hostlist import compress, natural_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from slurmsim.commands.submit.component import Part
    from slurmsim.commands.submit.steps.life import StepLife


_OLD = (
    ("SLURM_JOB_ACCOUNT", "account"), ("SLURM_JOB_ID", "job_id"), ("SLURM_JOB_NODELIST", "node_list"),
    ("SLURM_JOB_PARTITION", "partition"), ("SLURM_JOB_QOS", "qos"),
)  # fmt: skip
"""What tasks of srun's own allocation are told of each component, under old names alone, and the fact it shows."""


def salloc_environment(facts: Mapping[str, Any], parts: Sequence[Part], release: str) -> dict[str, str]:
    """Return what salloc adds to the environment of its command in a heterogeneous allocation."""
    found: dict[str, str] = {"SLURM_JOB_ID": str(facts["job_id"]), **size_variables(len(parts))}
    for component, part in zip(facts["components"], parts, strict=False):
        for name, value in allocation_environment(component, part, release).items():
            if name in COMMON_TO_COMPONENTS:
                found[name] = value
                continue
            found[f"{name}_HET_GROUP_{component['offset']}"] = value
            found[f"{name}_PACK_GROUP_{component['offset']}"] = value
            if name in ("SLURM_NTASKS", "SLURM_NPROCS"):
                found[name] = str(int(found.get(name, 0)) + int(value))
    return found


def size_variables(size: int) -> dict[str, str]:
    """How many components there are."""
    return dict.fromkeys(("SLURM_HET_SIZE", "SLURM_PACK_SIZE"), str(size))


def common_facts(lives: Sequence[StepLife]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Allocation and step as one: of all components the step is in, in the order of their nodes."""
    last = lives[-1]
    allocated = _by_node((life.facts["nodes"], life.facts["cpus"]) for life in lives)
    used = _by_node((life.step["nodes"], life.step["tasks"]) for life in lives)
    if "het_comp" in last.facts:  # in an ordinary allocation: what the step has of it
        allocated = used
    nodes = [name for name, _ in allocated]
    facts = {**last.facts, "nodes": nodes, "node_list": compress(nodes), "cpus": [count for _, count in allocated]}
    facts["job_id"] = lives[0].facts.get("het_job_id", lives[0].facts["job_id"])
    names = [name for name, _ in used]
    return facts, {**last.step, "nodes": names, "node_list": compress(names), "tasks": [count for _, count in used]}


def _by_node(pairs: Any) -> list[tuple[str, int]]:
    found = [item for names, counts in pairs for item in zip(names, counts, strict=True)]
    return sorted(found, key=lambda item: natural_key(item[0]))


def het_variables(
    lives: Sequence[StepLife], facts: Mapping[str, Any], step: Mapping[str, Any], size: int | None, *, own: bool
) -> dict[str, str]:
    """Return what tasks of a step know of their heterogeneous allocation beside what every step has."""
    nodes = str(len(step["nodes"]))
    found = {
        "SLURM_JOB_NUM_NODES": nodes, "SLURM_NNODES": nodes, "SLURM_JOB_NODELIST": str(facts["node_list"]),
    }  # fmt: skip
    if size is None:
        return found
    found["SLURM_JOB_CPUS_PER_NODE"] = run_length(facts["cpus"])
    if own:
        for life in lives:
            told = ((name, life.facts[fact]) for name, fact in _OLD)
            found |= {f"{name}_PACK_GROUP_{life.facts['offset']}": str(value) for name, value in told if value}
            cpus = run_length(life.facts["cpus"])
            found[f"SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_{life.facts['offset']}"] = cpus
    if own:
        found |= {**size_variables(size), "SLURM_JOB_NAME": str(facts["name"])}
    return found
