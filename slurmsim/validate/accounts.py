"""Whether jobs ran only in partitions that take their account and QOS."""

import numpy as np

from slurmsim.validate.columns import Table
from slurmsim.validate.facts import ClusterFacts
from slurmsim.validate.report import ValidationReport
from slurmsim.validate.runs import JobRuns


def check_accounts(report: ValidationReport, jobs: Table, runs: JobRuns, cluster: ClusterFacts) -> None:
    """Check ``partition_takes_job``, for runs with a manifest that lists who may use each partition."""
    listed = {name: p.takes for name, p in cluster.partitions.items() if p.takes}
    if not listed:
        return
    if not jobs.has("partition", "account", "qos"):
        report.skip("partition_takes_job", "no columns partition, account, qos")
        return
    check = report.new("partition_takes_job", runs.n)
    ids = jobs.ints["job_id"]
    for code, name in enumerate(runs.partition.values):
        for key, names in listed.get(name, {}).items():
            verb, _, column = key.partition("_")
            texts = jobs.texts["account" if column == "accounts" else "qos"]
            found = texts.mask(names)[runs.row]
            rows = np.flatnonzero((runs.partition.codes == code) & (found if verb == "deny" else ~found))
            text = "job {} of {} {!r} ran in partition {}, which {} {}"
            says = "denies" if verb == "deny" else "allows"
            what = "account" if column == "accounts" else "QOS"
            check.flag(
                len(rows),
                (text.format(ids[runs.row[k]], what, texts[runs.row[k]], name, says, ",".join(names)) for k in rows),
            )
