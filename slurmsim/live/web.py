"""The page to watch a cluster, as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType

from slurmsim.errors import OutputError

_GONE_S = 5.0
_PREFIX = "slurmsim: error: "


class Page:
    """A page that is served; a context manager that ends it."""

    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        # url: its address, with the key in it
        self.url, self._process = url, process

    def close(self) -> None:
        """Serve it no more."""
        self._process.terminate()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_GONE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start_page(folder: Path, *, may_change: bool = False, with_cluster: bool = True) -> Page:
    """Serve the page of the cluster in `folder` until it is closed. Raises OutputError.

    `with_cluster`: it ends with the cluster. Else it waits until there is one again, and ends with this process.
    """
    words = [sys.executable, "-P", "-m", "slurmsim", "web", "--state", str(folder)]
    words += ["--with-cluster" if with_cluster else "--with-input", *(["--control"] if may_change else [])]
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL if with_cluster else subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, cwd="/",
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    url = process.stdout.readline().strip()
    if not url:
        said = process.stderr.read().strip().splitlines()
        process.wait()
        raise OutputError(f"the page cannot be served: {said[-1].removeprefix(_PREFIX) if said else 'no reason given'}")
    process.stdout.close()
    process.stderr.close()
    return Page(url, process)
