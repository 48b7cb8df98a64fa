"""Dumps of ``sacct``, as lines of ``-P`` or as ``--json``: the format, and what reading it takes (docs/sacct.md)."""

from slurmsim_workloads.sacct.format import SacctFormat

__all__ = ["SacctFormat"]
