"""The format of dumps of ``sacct -P``; what reads them (`reading`) is loaded for the first dump."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slurmsim.errors import WorkloadError
from slurmsim.workload import Workload


class SacctFormat:
    """Reader of ``sacct -P`` dumps."""

    name = "sacct"
    suffixes: tuple[str, ...] = (
        ".sacct", ".sacct.gz", ".csv", ".csv.gz", ".txt", ".txt.gz", ".json", ".json.gz",
    )  # fmt: skip

    def sniff(self, head: bytes) -> bool:
        """Return True if the first line names fields of sacct, or the content is that of ``sacct --json``."""
        from slurmsim_workloads.sacct.dump import looks_like_dump

        return looks_like_dump(head)

    def read(self, path: Path, options: Mapping[str, str]) -> Workload:
        """Read a dump.

        Raises
        ------
        WorkloadError
            No header line, a needed field is missing, a row or value is not what it should be, or no job is left.
        ConfigError
            An option is unknown or has a wrong value.
        """
        from slurmsim_workloads.sacct.reading import read

        return read(path, options)

    def write(self, workload: Workload, path: Path) -> None:
        """Refuse: a dump is what Slurm's accounting writes."""
        raise WorkloadError("sacct dumps can be read only", file=str(path), expected=".parquet, .swf or .swf.gz")
