"""The process that answers at SlurmctldPort where `MetricsType` is set: begun, begun anew and ended with the daemon."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

from slurmsim.release_changes import since

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

PROGRAM = "slurmsim.rest.controller_port"
DEFAULT_PORT = "6817"
END_S = 2.0


def wanted(cluster: LiveCluster) -> tuple[str, str] | None:
    """Return the port and the host of a cluster that tells metrics; None for others.

    The first of a range of ports is meant.
    """
    options = cluster.spec.options
    if "openmetrics" not in str(options.get("MetricsType") or "") or not since(cluster.release, "metrics_port"):
        return None
    host = cluster.conf.hosts[0] if cluster.conf.hosts else "localhost"
    port = str(options.get("SlurmctldPort") or DEFAULT_PORT).partition("-")[0]
    return port, host.partition("(")[0]


class MetricsPort:
    """The process, or none."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._at: tuple[str, str] | None = None

    def tend(self, cluster: LiveCluster) -> None:
        """Begin the process, or another one, as the cluster's configuration says now."""
        at = wanted(cluster)
        if at == self._at:
            return
        self.close()
        self._at = at
        if at is not None:
            command = (sys.executable, "-P", "-m", PROGRAM, self._folder, *at)
            with contextlib.suppress(OSError):
                self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def close(self) -> None:
        """End it: it ends when its standard input does."""
        process, self._process, self._at = self._process, None, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
            return
        process.kill()
        process.wait()
