"""The same tasks on Dask's workers: on this machine, or where a scheduler of Dask has some (extra ``dask``).

Workers write results themselves, so they must see the folder of the sweep under the same name; nothing but a few
numbers a cell goes through the scheduler. Dask starts a task anew whose worker dies, three times.
"""

from __future__ import annotations

import ipaddress
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from slurmsim.campaign.memory import cores
from slurmsim.campaign.tasks import Done, Spent, Task
from slurmsim.campaign.worker import answer
from slurmsim.errors import ConfigError, SlurmSimError

LOCAL = "local"
_EXPECTED = "local, tcp://127.0.0.1:PORT or tls://HOST:PORT"
WAIT_S = "10s"


def check_address(address: str) -> None:
    """Raises ConfigError unless it is ``local``, on this machine, or encrypted; or Dask is not installed."""
    if address != LOCAL:
        parts = urlsplit(address)
        if parts.scheme not in ("tcp", "tls") or not parts.hostname:
            raise ConfigError(repr(address), field="--dask", expected=_EXPECTED)
        if parts.scheme == "tcp" and not _is_loopback(parts.hostname):
            raise ConfigError(f"{address!r} would send Python objects unprotected through a network", field="--dask",
                              expected="tls://HOST:PORT, or an address of this machine")  # fmt: skip
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise ConfigError("Dask is not installed", field="--dask", expected="pip install 'slurmsim[dask]'") from None


def run_on_dask(
    tasks: Iterable[Task], *, address: str, workers: int = 0, stopping: Callable[[], bool] = lambda: False
) -> Generator[Done, None, None]:
    """As `run_tasks`, by the workers at `address`; `workers` counts for ``local`` only.

    Raises
    ------
    ConfigError
        Nobody answers at the address.
    """
    import distributed

    try:
        cluster = _local(workers or cores()) if address == LOCAL else None
        client = distributed.Client(cluster or address, timeout=WAIT_S)
    except OSError as error:
        raise ConfigError(f"nobody answers at {address}: {' '.join(str(error).split())}", field="--dask",
                          expected=_EXPECTED) from None  # fmt: skip
    try:
        yield from _work(client, iter(tasks), stopping)
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


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


def _work(client: Any, tasks: Iterable[Task], stopping: Callable[[], bool]) -> Generator[Done, None, None]:
    """Twice as many tasks as threads are with the scheduler at a time, so that none of these waits for the next."""
    import distributed

    ahead = iter(tasks)
    given: dict[str, Task] = {}

    def submit(n: int) -> list[Any]:
        futures = []
        for task in islice(ahead, n) if not stopping() else ():
            given[task.name] = task
            futures.append(client.submit(answer, pickle.dumps(task), key=task.name, pure=False))
        return futures

    first = submit(2 * max(1, sum(client.nthreads().values())))
    running = distributed.as_completed(first)
    for future in running:
        yield _done(given.pop(future.key), future)
        for new in submit(1):
            running.add(new)


def _done(task: Task, future: Any) -> Done:
    if future.status == "finished":
        value, error, spent = pickle.loads(future.result())
        return Done(task, value, error, spent)
    said = " ".join(str(future.exception()).split()) if future.status == "error" else future.status
    return Done(task, None, SlurmSimError(f"Dask: {said}"), Spent(0.0, 0.0, 0))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
