"""What slurmstepd writes into the output of a job or step: how it was ended, and what could not be started."""

import time

from slurmsim.releases import row

_PREFIX = {"22.05": "slurmstepd-{node}: error: ", "26.05": "[{when}.000] error: "}
_WHY = {
    "TIMEOUT": " DUE TO TIME LIMIT",
    "PREEMPTED": " DUE TO PREEMPTION",
    "NODE_FAIL": " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS",
    "REQUEUED": " DUE TO JOB REQUEUE",
}
_CANCELLED = {"22.05": "", "25.05": " DUE to SIGNAL Terminated"}

_OOM_KILLED = {
    "22.05": "Detected 1 oom-kill event(s) in {step}. Some of your processes may have been killed by the cgroup "
             "out-of-memory handler.",
    "23.02": "Detected 1 oom_kill event in {step}. Some of the step tasks have been OOM Killed.",
}  # fmt: skip


def line(text: str, node: str, now: float, release: str) -> str:
    """Return an error of the slurmstepd on `node`."""
    prefix: str = row(_PREFIX, release)
    return prefix.format(node=node, when=stamp(now)) + text


def cancelled(entity: str, node: str, now: float, why: str, release: str) -> str:
    """Return the line with the reason why ``JOB 9`` or ``STEP 9.0`` ended; `why` is the final state, or REQUEUED."""
    what = f"CANCELLED AT {stamp(now)}{_WHY.get(why, row(_CANCELLED, release))}"
    if why == "FAILED":
        what = "FAILED (non-zero exit code or other failure mode)"
    return line(f"*** {entity} ON {node} {what} ***", node, now, release)


def oom_killed(step: str, node: str, now: float, release: str) -> str:
    """Return the line that tells of a process killed for memory in a step, named as ``StepId=9.0``."""
    text: str = row(_OOM_KILLED, release)
    return line(text.format(step=step), node, now, release)


def stamp(now: float) -> str:
    """Return a date as slurmstepd writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(now))
