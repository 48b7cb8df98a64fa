"""Groups of users as one run uses them: read, checked against the partitions, and the log's strangers counted."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from slurmsim.config.findings import Finding, Report
from slurmsim.config.groups import Groups, check_groups, read_groups
from slurmsim.model.cluster import ClusterSpec
from slurmsim.workload import Workload


def with_groups(
    files: Sequence[str], cluster: ClusterSpec, workload: Workload, findings: list[Finding]
) -> ClusterSpec:  # fmt: skip
    """Return `cluster` with the groups of `files`, or as it is without files; warnings join `findings`.

    Jobs of users without a group are counted in the quality report of `workload` if their partition lets in groups
    only. Raises ConfigError.
    """
    groups = read_groups(files)
    if groups is None:
        return cluster
    report = Report()
    check_groups(groups, cluster, report)
    findings += report.findings
    _count_strangers(groups, cluster, workload)
    return replace(cluster, groups=groups)


def _count_strangers(groups: Groups, cluster: ClusterSpec, workload: Workload) -> None:
    closed = {p.name for p in cluster.partitions if p.allow_groups}
    default = next((p.name for p in cluster.partitions if p.default), "")
    partitions, users = workload.texts["partition"], workload.texts["user"]
    to_closed = np.array([not closed.isdisjoint((text or default).split(",")) for text in partitions.values], np.bool_)
    stranger = np.array([user != "root" and user not in groups for user in users.values], np.bool_)
    rows = np.flatnonzero(to_closed[partitions.codes] & stranger[users.codes])
    if len(rows):
        example = f"job {int(workload.ints['job_id'][rows[0]])}"
        workload.quality.repair("user unknown to the group data: in no group", len(rows), example)
