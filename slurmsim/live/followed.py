"""A page of the cluster that a twin follows: its queue, its plan and why jobs wait, as of the last dump."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from slurmsim.live.cluster import Cluster
from slurmsim.live.settings import Settings
from slurmsim.live.web import Page, start_page


class FollowedPage:
    """Serves one live cluster after another at one address, each with its clock standing still.

    `url` is the address, with the page's key in it; "" before the first cluster. Needs the extra ``web``.
    """

    def __init__(self) -> None:
        self.url = ""
        self._home = tempfile.TemporaryDirectory(prefix="slurmsim-followed-")
        self._folder = Path(self._home.name) / "state"
        self._cluster: Cluster | None = None
        self._page: Page | None = None

    def show(self, write: Callable[[Path], None]) -> None:
        """Serve the cluster that `write` puts into the folder it is given. Raises OutputError, ConfigError."""
        following = self._folder.with_name("following")
        shutil.rmtree(following, ignore_errors=True)
        following.mkdir(mode=0o700)
        write(following)
        if self._cluster is not None:
            self._cluster.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        following.rename(self._folder)
        if self._cluster is None:
            self._cluster = Cluster(Settings(), self._folder).__enter__()
        else:
            self._cluster.start()
        if self._page is None:
            self._page = start_page(self._folder, with_cluster=False)
            self.url = self._page.url

    def close(self) -> None:
        """Serve nothing any more, and leave no file behind."""
        with ExitStack() as ends:
            ends.callback(self._home.cleanup)
            if self._cluster is not None:
                ends.push(self._cluster)
            if self._page is not None:
                ends.push(self._page)
