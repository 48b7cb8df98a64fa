"""The process that looks after an asynchronous step (``srun --async``), in place of the step manager of its job.

It is a child that srun leaves behind, in the session of its script but in a group of its own. It is stopped with its
job, and ends when the daemon tells that the job or the step is over. It knows how the step is to be run; the daemon
knows when. While the daemon is away it asks again.
"""

from __future__ import annotations

import os
import signal
import time

from slurmsim.commands.text.messages import Stop
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.submit.options.chosen_options import Chosen

NOT_LAUNCHED = 53
"""Wait status of a step with files that could not be opened: slurmd's own number, shown as a signal."""
_DEFAULT = "slurm-%J.out"
_AGAIN_S = 0.5


def leave(io: Io, work: Callable[[], None]) -> None:
    """Do the work in a process that is left behind."""
    io.stdout.flush()
    io.stderr.flush()
    if os.fork():
        return
    try:
        os.setpgid(0, 0)
        io.client.close()
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            signal.signal(number, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(null, descriptor)
        work()
        io.stderr.flush()
    finally:
        os._exit(0)


def place(io: Io, job_id: int, step_id: int) -> dict[str, Any] | None:
    """Wait until the step has its place; return it, None if the step will never run."""
    patient = io.client.patient()
    while True:
        try:
            answer = patient.call("step_begun", job_id=job_id, step_id=step_id)
        except Refusal:
            return None
        except Unreachable:
            time.sleep(_AGAIN_S)
            continue
        return None if answer.get("over") else answer


def direct_streams(chosen: Chosen) -> None:
    """Let all streams be files: there is no srun that passes bytes on. Raises Stop for an input that is none."""
    if chosen.get("std_out") is None:
        chosen.values["std_out"] = _DEFAULT
    given = str(chosen.get("std_in") or "")
    if given[:3].lower() == "all":
        raise Stop(1)
    if is_number(given):  # a pipe into which nothing is ever written
        reader, _ = os.pipe()
        os.dup2(reader, 0)
