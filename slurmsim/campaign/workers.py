"""Worker processes on this machine: tasks in, what became of them out, as many side by side as cores and memory allow.

A worker that dies costs its task's time: the task is tried once more when the others are done, with the memory its
kind is known to need by then.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing.connection import Connection, wait

from slurmsim.campaign.memory import available_bytes, cores, peak_bytes
from slurmsim.campaign.tasks import Done, Spent, Task
from slurmsim.errors import SlurmSimError

START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[2]); "
    "from slurmsim.campaign.worker import main; main(int(sys.argv[1]))"
)
LEAST = 200 << 20  # bytes: what a worker has with its libraries and a small cell
SHARE = 0.9  # of the memory there is when we begin
LOOK_S = 1.0  # between two looks at the memory of workers, and at whether to stop


class Worker:
    """One process and the pipe to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", START, str(theirs.fileno()), json.dumps(sys.path)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=environment,
                process_group=0,  # Ctrl-C at a terminal is for the parent
            )  # fmt: skip
        self.pipe = Connection(ours.detach())
        self.task: Task | None = None  # what it does, None while it waits
        self.since = 0.0

    def give(self, task: Task) -> None:
        """Have it begin with `task`."""
        self.task, self.since = task, time.perf_counter()
        self.pipe.send_bytes(pickle.dumps(task))

    def take(self) -> Done:
        """Return what became of its task. Raises EOFError or OSError when the process has died."""
        assert self.task is not None
        value, error, spent = pickle.loads(self.pipe.recv_bytes())
        task, self.task = self.task, None
        return Done(task, value, error, spent)

    def end(self) -> int:
        """End it at once; returns the exit status."""
        self.process.kill()
        self.pipe.close()
        if self.process.stdin is not None:
            self.process.stdin.close()
        return self.process.wait()


class Peaks:
    """How much memory tasks of each kind have needed, and whether one more fits beside those that run."""

    def __init__(self, available: int | None, workers: int) -> None:
        self.budget = None if available is None else int(SHARE * available)
        self._workers = workers
        self._known: dict[str, int] = {}

    def seen(self, kind: str, peak: int) -> None:
        """Note that a task of `kind` had `peak` bytes."""
        self._known[kind] = max(peak, self._known.get(kind, 0))

    def fits(self, kind: str, running: Iterable[str]) -> bool:
        """Return True if a cell of `kind` may begin beside cells of the kinds `running`; alone it always may.

        A kind that has not run yet counts as its share of the memory there is, and as `LEAST` where that is less.
        """
        others = list(running)
        if self.budget is None or not others:
            return True
        unknown = max(LEAST, self.budget // self._workers)
        return sum(self._known.get(one, unknown) for one in (kind, *others)) <= self.budget


def run_tasks(
    tasks: Iterable[Task], *, workers: int = 0, available: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Generator[Done, None, None]:  # fmt: skip
    """Do `tasks` in worker processes; yields each as it is done, in whatever order that happens.

    Parameters
    ----------
    workers
        Processes at most; 0 for as many as cores.
    available
        Bytes of memory for all of them; None for what the machine has.
    stopping
        Asked now and then: once it is true no further task begins, and all ends with those that run.

    Notes
    -----
    Closing the generator, also by an exception in its user, ends what runs at once.
    """
    crew = Crew(workers or cores(), available_bytes() if available is None else available)
    try:
        yield from crew.work(iter(tasks), stopping)
    finally:
        crew.end()


class Crew:
    """Workers and what they do now."""

    def __init__(self, most: int, available: int | None) -> None:
        self.most = most
        self.peaks = Peaks(available, most)
        self.workers: list[Worker] = []
        self._again: deque[Task] = deque()
        self._died: set[str] = set()

    def work(self, tasks: Iterator[Task], stopping: Callable[[], bool]) -> Iterator[Done]:
        """See `run_tasks`."""
        ready: Task | None = None
        while True:
            stop = stopping()
            while not stop and len(self._busy) < self.most:
                ready = ready or next(tasks, None) or (self._again.popleft() if self._again else None)
                if ready is None or not self.peaks.fits(ready.kind, [w.task.kind for w in self._busy if w.task]):
                    break
                self._begin(ready)
                ready = None
            if not self._busy:
                return
            yield from self._over()

    @property
    def _busy(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.task is not None]

    def _begin(self, task: Task) -> None:
        idle = next((worker for worker in self.workers if worker.task is None), None)
        if idle is None:
            idle = Worker()
            self.workers.append(idle)
        try:
            idle.give(task)
        except OSError:  # it died meanwhile: its end is seen like that of any other
            return

    def _over(self) -> Iterator[Done]:
        """Wait a little for workers to answer, and look how much memory they have."""
        busy = {worker.pipe: worker for worker in self._busy}
        answered = wait(list(busy), LOOK_S)
        for pipe in answered:
            worker = busy[pipe]  # type: ignore[index]
            try:
                done = worker.take()
            except (EOFError, OSError):
                if (dead := self._bury(worker)) is not None:
                    yield dead
                continue
            self.peaks.seen(done.task.kind, done.spent.peak_bytes)
            yield done
        if not answered:
            for worker in self._busy:
                assert worker.task is not None
                self.peaks.seen(worker.task.kind, peak_bytes(worker.process.pid))

    def _bury(self, worker: Worker) -> Done | None:
        """Remove a worker that has died: its task comes again later, or is over if that was the second time."""
        task = worker.task
        assert task is not None
        status = worker.end()
        self.workers.remove(worker)
        if task.name not in self._died:
            self._died.add(task.name)
            self._again.append(task)
            return None
        how = signal.Signals(-status).name if status < 0 else f"exit code {status}"
        error = SlurmSimError(f"its process died twice ({how}); short of memory, it would be SIGKILL")
        return Done(task, None, error, Spent(time.perf_counter() - worker.since, 0.0, 0))

    def end(self) -> None:
        """End all of them at once."""
        for worker in self.workers:
            worker.end()
        self.workers.clear()
