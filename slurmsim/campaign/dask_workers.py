"""The same tasks on Dask's workers: on this machine, in jobs of Slurm, or where a scheduler of Dask has some.

Workers write results themselves, so they must see the folder of the sweep under the same name; nothing but a few
numbers a cell goes through the scheduler. When a worker dies, Dask starts its task anew, three times.
"""

from __future__ import annotations

import ipaddress
import pickle
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from slurmsim.campaign.dask_slurm import SlurmWorkers
from slurmsim.campaign.memory import cores
from slurmsim.campaign.tasks import Done, Spent, Task
from slurmsim.campaign.worker import answer
from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.extras import how_to_install

LOCAL, SLURM = "local", "slurm"
_EXPECTED = "local, slurm, tcp://127.0.0.1:PORT or tls://HOST:PORT"
WAIT_S = "10s"
ANSWER_S = 5.0  # for the few bytes of an answer, beyond which its worker is taken to be gone
LOOK_S = 1.0  # between two looks at how many workers there are, and at whether to stop


def check_address(address: str) -> None:
    """Raise ConfigError unless it is ``local``, ``slurm``, on this machine, or encrypted; or Dask is not installed."""
    if address not in (LOCAL, SLURM):
        parts = urlsplit(address)
        if parts.scheme not in ("tcp", "tls") or not parts.hostname:
            raise ConfigError(repr(address), field="--dask", expected=_EXPECTED)
        if parts.scheme == "tcp" and not _is_loopback(parts.hostname):
            raise ConfigError(f"{address!r} would send Python objects unprotected through a network", field="--dask",
                              expected="tls://HOST:PORT, or an address of this machine")  # fmt: skip
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise ConfigError("Dask is not installed", field="--dask", expected=how_to_install("dask")) from None


def run_on_dask(
    tasks: Iterable[Task], *, address: str, workers: int = 0, folder: Path = Path(),
    stopping: Callable[[], bool] = lambda: False,
) -> Generator[Done, None, None]:  # fmt: skip
    """As `run_tasks`, by the workers at `address`.

    Parameters
    ----------
    workers
        Of ``local`` (0 for one a core) and ``slurm``; an address has as many as it has.
    folder
        Of the sweep, which workers see, too.

    Raises
    ------
    ConfigError
        No scheduler answers at the address, Slurm would refuse the jobs, or a worker has several threads.
    """
    import distributed

    slurm, local = None, None
    try:
        if address == SLURM:
            slurm = SlurmWorkers(
                workers, shared=(folder / "scratch").absolute(), logs=(folder / "logs" / "dask").absolute()
            )
        elif address == LOCAL:
            local = _local(workers or cores())
        cluster = slurm.cluster if slurm is not None else local
        client = distributed.Client(cluster or address, timeout=WAIT_S)
    except OSError as error:
        raise ConfigError(f"no scheduler answers at {address}: {' '.join(str(error).split())}", field="--dask",
                          expected=_EXPECTED) from None  # fmt: skip
    try:
        yield from _work(client, iter(tasks), stopping, slurm)
    finally:
        client.close()
        for one in (slurm, local):
            if one is not None:
                one.close()


def _local(workers: int) -> Any:
    import distributed

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None  # workers inherit it: Ctrl-C is for us
    try:
        return distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
        )
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


def _work(
    client: Any, tasks: Iterator[Task], stopping: Callable[[], bool], slurm: SlurmWorkers | None
) -> Generator[Done, None, None]:
    """Twice as many tasks as workers are with the scheduler at a time, so that no worker waits for its next."""
    import distributed

    given: dict[Any, Task] = {}
    workers, looked = 0, -LOOK_S
    while True:
        if time.monotonic() - looked >= LOOK_S:
            workers, looked = _workers(client), time.monotonic()
            if slurm is not None:
                slurm.look()
        stop = stopping()
        for task in islice(tasks, 0 if stop else max(0, 2 * max(1, workers) - len(given))):
            given[client.submit(answer, pickle.dumps(task), key=task.name, pure=False)] = task
        if not given or (stop and not workers):
            return
        try:
            over = distributed.wait(list(given), timeout=LOOK_S, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            continue
        for future in over:
            if (done := _done(given[future], future)) is not None:
                del given[future]
                yield done


def _workers(client: Any) -> int:
    """How many there are. Raises ConfigError where one does several tasks at a time: what they print would mix."""
    threads = client.nthreads()
    if many := [address for address, n in threads.items() if n > 1]:
        raise ConfigError(f"the worker at {many[0]} has {threads[many[0]]} threads", field="--dask",
                          expected="workers of one thread: dask worker --nthreads 1 --nworkers N")  # fmt: skip
    return len(threads)


def _done(task: Task, future: Any) -> Done | None:
    """None where the worker is gone with its answer: Dask starts the task anew once there is a worker again."""
    try:
        value, error, spent = pickle.loads(future.result(timeout=ANSWER_S))
    except TimeoutError:
        return None
    except Exception as reason:  # of Dask; what goes wrong in the task is part of its answer
        return Done(task, None, SlurmSimError(f"Dask: {' '.join(str(reason).split())}"), Spent(0.0, 0.0, 0))
    return Done(task, value, error, spent)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
