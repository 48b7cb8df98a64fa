"""What a dump of ``sacct -P`` lacks, and what a replay does without it (the table of docs/sacct.md)."""

from __future__ import annotations

from collections.abc import Container

# Each need: the fields that give it, any of which will do, and what happens without all of them.
NEEDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("Start",), "no recorded starts: nothing to grade a replay against"),
    (("End",), "no recorded ends; jobs cancelled while pending are left out"),
    (("Eligible",), "jobs compete from their submit time on, whatever held them back"),
    (("Timelimit", "TimelimitRaw"), "each job has its partition's default limit"),
    (("ReqTRES", "ReqMem"), "what was allocated stands for what was asked for; memory may be missing"),
    (("AllocTRES", "NNodes", "AllocNodes"), "node counts are taken as asked for"),
    (("Partition",), "all jobs go to the default partition"),
    (("QOS",), "its limits, priority and preemption do nothing"),
    (("Account",), "each user's default account"),
    (("User", "UID"), "fair share and limits by user do nothing"),
    (("Constraints",), "no features are asked for"),
    (("NodeList",), "which nodes jobs had is not known"),
    (("SubmitLine",), "options such as --exclusive, -N ranges, dependencies and -w are not known (Slurm before 21.08 "
                      "does not record them)"),
    (("Suspended",), "time suspended counts as run time where ElapsedRaw is missing too"),
    (("Reservation",), "no job is in a reservation"),
    (("JobID",), "no arrays, so no array throttle"),
)  # fmt: skip


def lacking(fields: Container[str]) -> list[tuple[str, str]]:
    """(field, consequence) of what a dump with `fields` does not say."""
    return [(" or ".join(any_of), without) for any_of, without in NEEDS if not any(name in fields for name in any_of)]
