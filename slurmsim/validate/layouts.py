"""Layouts: the units of a job on each node, against what the row says it asked for and was given.

Every unit has the same demand, so a node with k units of n gives k/n of the CPUs, and no less than k times what one
unit needs: the job's request over n. With the sums of all jobs on a node, which `sweep` holds against what it has, no
layout fills a node beyond its capacity.
"""

from __future__ import annotations

from slurmsim.validate.amounts import parse_counts, parse_gres
from slurmsim.validate.columns import NULL, Table
from slurmsim.validate.report import ValidationReport


def check_layouts(report: ValidationReport, jobs: Table, memory_tracked: bool) -> None:
    if not jobs.has("layout", "nodes", "cpus_per_node"):
        report.skip("layouts_fit", "no columns layout, nodes, cpus_per_node")
        return
    layouts = jobs.texts["layout"]
    rows = (~layouts.mask([""])).nonzero()[0].tolist()
    if not rows:
        report.skip("layouts_fit", "no job was laid out")
        return
    check = report.new("layouts_fit", len(rows))
    ids, nodes = jobs.ints["job_id"], jobs.ints["nodes"]
    known: dict[tuple[object, ...], str] = {}
    columns = [name for name in ("cpus_per_node", "mem_per_node_mib", "gres_per_node") if jobs.has(name)]
    asked = [name for name in ("req_cpus", "req_mem_mib", "req_gpus") if jobs.has(name)]
    if not memory_tracked and "req_mem_mib" in asked:
        asked.remove("req_mem_mib")
    for row in rows:
        texts = {name: jobs.texts[name][row] for name in columns}
        wants = {name: int(jobs.ints[name][row]) for name in asked}
        key = (layouts[row], int(nodes[row]), *texts.values(), *wants.values())
        wrong = known.get(key)
        if wrong is None:
            wrong = known[key] = _problem(layouts[row], int(nodes[row]), texts, wants)
        if wrong:
            check.add(f"job {ids[row]}: {wrong}")


def _problem(layout: str, n_nodes: int, texts: dict[str, str], asked: dict[str, int]) -> str:
    """Return what is wrong with one row's layout, "" for nothing."""
    units = _along(parse_counts(layout), n_nodes)
    if units is None or not all(units):
        return f"layout {layout!r} is not one number of units for each of {n_nodes} nodes"
    total = sum(units)
    cpus = _along(parse_counts(texts["cpus_per_node"]), n_nodes)
    if cpus is None:
        return ""  # another check names it
    for k, count in enumerate(units):
        if cpus[k] * units[0] != cpus[0] * count:
            return f"{count} units have {cpus[k]} CPUs on node {k + 1} of it, {units[0]} have {cpus[0]} on the first"
    given = {"req_cpus": cpus, "req_mem_mib": _along(parse_counts(texts.get("mem_per_node_mib", "")), n_nodes)}
    gres = parse_gres(texts.get("gres_per_node", "")) or {}
    given["req_gpus"] = _along(gres.get("gpu", [(n_nodes, 0)]), n_nodes)
    for name, amount in asked.items():
        have = given[name]
        if amount in (0, NULL) or have is None:
            continue
        each = amount // total
        for k, count in enumerate(units):
            if have[k] < count * each:
                what = name.removeprefix("req_")
                return f"{count} units on node {k + 1} of it need {count * each} {what} and have {have[k]}"
    return ""


def _along(pairs: list[tuple[int, int]] | None, n_nodes: int) -> list[int] | None:
    """Run-length pairs as one value a node; None where they are not for so many nodes."""
    if pairs is None:
        return None
    if len(pairs) == 1 and pairs[0][0] == -1:
        return [pairs[0][1]] * n_nodes
    values = [value for n, value in pairs for _ in range(n)]
    return values if len(values) == n_nodes else None
