"""Workload formats: SWF, ``sacct`` dumps and slurmsim's own Parquet, all behind the workload port.

`read_workload` and `write_workload` find formats through the entry points ``slurmsim.workloads``, so a stranger's
package adds a format the same way these are added.
"""

from slurmsim_workloads.quality import format_quality
from slurmsim_workloads.registry import formats, read_workload, write_workload

__all__ = ["format_quality", "formats", "read_workload", "write_workload"]
