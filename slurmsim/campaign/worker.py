"""A worker process: takes tasks from a pipe and answers each, until the other end is closed.

It is a program of its own and not a fork, so that it works wherever it is started from (a notebook, a script without
a main guard), and what a policy prints goes to the log of its cell.
"""

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection

from slurmsim import long_lived
from slurmsim.campaign.memory import forget_peak, peak_bytes
from slurmsim.campaign.tasks import Spent, Task
from slurmsim.errors import SlurmSimError


def main(descriptor: int) -> None:
    """Serve the pipe `descriptor` until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one says when to stop
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    pipe = Connection(descriptor)
    settled = False
    while True:
        try:
            content = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        pipe.send_bytes(answer(content))
        if not settled:  # what the first task has loaded stays; 27 of 155 ms of a run of 1,000 jobs
            long_lived.freeze()
            settled = True


def _leave_with_parent() -> None:
    """Leave when standard input ends, which it does when the parent ends in any way."""
    while os.read(0, 1):
        pass
    os._exit(1)


def answer(content: bytes) -> bytes:
    """Do one task, pickled; returns (value, error, spent), pickled."""
    forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    value, error = None, None
    try:
        task: Task = pickle.loads(content)
        with _printing_to(task.log):
            try:
                value = task.work(*task.arguments)
            except SlurmSimError:
                raise
            except Exception:
                traceback.print_exc()  # in the log: messages are one line
                raise
    except Exception as raised:
        error = raised
    spent = Spent(time.perf_counter() - wall, time.process_time() - cpu, peak_bytes())
    try:
        return pickle.dumps((value, error, spent))
    except Exception as raised:
        what = error or raised
        return pickle.dumps((None, SlurmSimError(f"{type(what).__name__}: {' '.join(str(what).split())}"), spent))


@contextlib.contextmanager
def _printing_to(log: str) -> Iterator[None]:
    """Both output streams of the process go to the file `log` (to nowhere if it is empty)."""
    before = os.dup(1), os.dup(2)
    target = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(target)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, old in enumerate(before, 1):
            os.dup2(old, descriptor)
            os.close(old)
