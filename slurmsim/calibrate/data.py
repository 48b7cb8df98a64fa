"""What a log lacks for a replay, and what of it cannot be modelled."""

from collections.abc import Iterator

import numpy as np

from slurmsim.calibrate.candidates import used_nodes
from slurmsim.calibrate.remarks import Remark
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.workload import Workload
from slurmsim_workloads.sacct.clock import DumpClock
from slurmsim_workloads.sacct.needs import lacking


def data_remarks(
    workload: Workload, cluster: ClusterSpec, accounting: Accounting | None, dump: DumpClock | None
) -> list[Remark]:
    """Missing fields, empty columns, names the configuration does not know, and what the reader repaired or dropped."""
    found = (
        [] if dump is None else [Remark("warning", f"no {what}: {without}") for what, without in lacking(dump.fields)]
    )
    found += _empty(workload, cluster, accounting)
    found += _unknown(workload, cluster)
    found += [Remark("warning", f"left out: {reason}", n) for reason, n in workload.quality.dropped.items()]
    found += [Remark("note", reason, n) for reason, n in workload.quality.repaired.items() if not _not_modelled(reason)]
    return found


def log_not_modelled(workload: Workload) -> list[Remark]:
    """Options of the log's jobs that a replay leaves out, by count."""
    return [Remark("warning", why, n) for why, n in workload.quality.repaired.items() if _not_modelled(why)]


def _not_modelled(reason: str) -> bool:
    return "not modelled" in reason


def _empty(workload: Workload, cluster: ClusterSpec, accounting: Accounting | None) -> Iterator[Remark]:
    ints, n = workload.ints, len(workload)
    ran = ints["run_time"] >= 0
    if lost := int(np.count_nonzero(ran & (ints["log_start"] == -1))):
        yield Remark("warning", "jobs that ran have no recorded start: they are not graded", lost)
    if silent := int(np.count_nonzero(ints["time_limit"] == -1)):
        default = "which the partition's MaxTime or UNLIMITED stands for where DefaultTime is not set"
        yield Remark("warning", f"jobs name no time limit and have their partition's default, {default}", silent)
    memory = any("Memory" in word for word in cluster.option("SelectTypeParameters"))
    if memory and not ((ints["mem_per_node"] > 0) | (ints["mem_per_cpu"] > 0)).any():
        yield Remark("warning", "memory is given out (SelectTypeParameters), and no job says how much it asked for", n)
    weighs = any(cluster.option(f"PriorityWeight{name}") for name in ("Fairshare", "QOS", "Assoc"))
    if accounting is None and (weighs or cluster.option("AccountingStorageEnforce")):
        yield Remark("warning", "slurm.conf goes by accounts, and no --accounting says who is in which")
    for column, key in (("user", "users"), ("account", "accounts")):
        if accounting is not None and not any(workload.texts[column].values):
            yield Remark("warning", f"the accounting data are about {key}, and no job of the log names one", n)


def _unknown(workload: Workload, cluster: ClusterSpec) -> Iterator[Remark]:
    known = {node.name for node in cluster.nodes}
    seen = used_nodes(workload)
    if strangers := sorted(seen - known):
        yield Remark("warning", f"jobs had nodes that slurm.conf does not define (such as {strangers[0]}): the machine "
                     "was another then", len(strangers))  # fmt: skip
    if seen and (idle := known - seen):
        yield Remark("note", f"nodes of slurm.conf no job of the log had (such as {min(idle)})", len(idle))
