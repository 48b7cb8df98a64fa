"""The progress bar of a run: simulated date, jobs done, jobs/s, time left. Nothing where no terminal looks on."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar(workload: Any, *, shown: bool) -> Iterator[Callable[[Any], None] | None]:
    """Yield a function to call with the simulation now and then, or None when nothing is shown."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    epoch = workload.header.epoch
    layout = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} jobs, {rate_fmt}, {remaining} left"
    with tqdm(total=len(workload), unit=" jobs", bar_format=layout, dynamic_ncols=True, file=sys.__stderr__) as bar:

        def show(simulation: Any) -> None:
            now = int(simulation.env.now)
            date = dt.datetime.fromtimestamp(epoch + now, dt.UTC)
            bar.set_description_str(f"{date:%Y-%m-%d %H:%M}", refresh=False)
            bar.update(simulation.n_done - bar.n)

        yield show
        bar.update(bar.total - bar.n if bar.n else 0)


@contextmanager
def counting_bar(total: int, what: str, *, shown: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function to call with (done, total) whenever one of `total` things is done, or None."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=f" {what}", dynamic_ncols=True, file=sys.__stderr__) as bar:
        yield lambda done, _: bar.update(done - bar.n)


@contextmanager
def slow_bar(what: str, *, shown: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function to call with (done, total) of work that is usually over at once, or None."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=0, unit=f" {what}", dynamic_ncols=True, file=sys.__stderr__, delay=1.0, leave=False) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
