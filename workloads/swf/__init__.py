"""The Standard Workload Format: the format, its header, its table of numbers, and how it is written."""

from slurmsim_workloads.swf.format import SwfFormat

__all__ = ["SwfFormat"]
