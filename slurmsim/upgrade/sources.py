"""Which releases are known from Slurm's sources, and which are only the first recorded one that was seen to have it.

A release that is not recorded was looked up, in the sources or the change log of each release. A row that names
a recorded release may have come with any release after the recorded one before, unless it is listed here.
Options, fields and columns were looked up row by row, so they are not listed.
"""

from __future__ import annotations

from enum import Enum

from slurmsim.releases import RECORDED_RELEASES, RELEASES

SHOWN: frozenset[str] = frozenset(
    {
        "admin_comment_as_a_whole",
        "busy_nodes_planned",
        "configuration_as_document",
        "container_types",
        "cpu_bind_read_once",
        "data_parser_v0_0_45",
        "exclusive_of_partitions",
        "first_node_serves",
        "flush_advises",
        "gpus_in_one_way",
        "gpus_override_those_of_nodes",
        "heading_of_processes",
        "invalid_power_action",
        "job_id_ends_there",
        "long_jobs_tried",
        "job_not_found_is_an_error",
        "marks_busy_nodes",
        "memory_of_running_jobs",
        "memory_per_tres",
        "meta_tells_whole_command",
        "mixed_fails",
        "no_error_is_silent",
        "owners_from_try",
        "sacctmgr_ping",
        "sbcast_empty_file_fails",
        "script_without_heading",
        "refusals_are_unprocessable",
        "reservations_preempt",
        "seff_of_allocated_memory",
        "suspend_time_of_nodes",
        "ten_digits",
        "tops_by_tier",
        "total_count_of_jobs",
        "typed_tres_loaded",
        "unknown_partition_is_a_warning",
        "usage_by_qos",
    }
)
"""Rows of `CHANGES` and `ReleaseRules` with a recorded release that the sources of the release before lack."""


class Came(Enum):
    """Whether a difference came between two releases."""

    NO = "no"
    MAYBE = "maybe"
    YES = "yes"


def before(name: str, since: str) -> str:
    """Return the last release that surely lacks what the row called `name` says came with `since`.

    >>> before("sacctmgr_ping", "24.11"), before("amounts_cut", "24.11"), before("hours_begun", "25.05")
    ('24.05', '22.05', '24.11')
    """
    seen = RECORDED_RELEASES if is_inferred(name, since) else RELEASES
    return seen[seen.index(since) - 1]


def is_inferred(name: str, since: str) -> bool:
    """Return True if the difference may have come with a release before `since`, too."""
    return since in RECORDED_RELEASES and name not in SHOWN


def came(name: str, since: str, old: str, new: str) -> Came:
    """Return whether what the row called `name` says came after `old` and not after `new`.

    >>> came("hours_begun", "25.05", "24.11", "25.05"), came("amounts_cut", "24.11", "23.02", "23.11")
    (<Came.YES: 'yes'>, <Came.MAYBE: 'maybe'>)
    """
    if not since or since <= old:
        return Came.NO
    last = before(name, since)
    if last >= new:
        return Came.NO
    return Came.YES if old <= last and since <= new else Came.MAYBE
