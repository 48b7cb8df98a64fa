"""slurmsim: a Slurm you can hold in one process.

``slurmsim.run`` replays a workload, ``slurmsim.sweep`` many, ``slurmsim.read_trace`` opens what a run left,
``slurmsim.cluster`` is a live cluster; all are loaded when first used, because commands that need none of them must
start fast.
"""

from __future__ import annotations

from slurmsim.safe_path import leave_out_working_folder

leave_out_working_folder()  # before anything else is imported

from slurmsim.version import __version__  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.campaign.sweep import sweep
    from slurmsim.live.cluster import Cluster, cluster, restore
    from slurmsim.replaying.replay import run
    from slurmsim.trace.reader import Trace, read_trace


__all__ = ["Cluster", "Trace", "__version__", "cluster", "compiled", "read_trace", "restore", "run", "sweep"]


def compiled() -> bool:
    """Return True if this installation's core is compiled (docs/speed.md) or plain Python; the results are the same."""
    from importlib.util import find_spec

    spec = find_spec("slurmsim.core.controller.controller")
    return spec is not None and spec.origin is not None and not spec.origin.endswith(".py")


def __getattr__(name: str) -> Any:
    if name == "run":
        from slurmsim.replaying.replay import run

        return run
    if name in ("read_trace", "Trace"):
        from slurmsim.trace import reader

        return getattr(reader, name)
    if name in ("cluster", "Cluster", "restore"):
        from slurmsim.live import cluster as live

        return getattr(live, name)
    if name == "sweep":
        from slurmsim.campaign.sweep import sweep

        return sweep
    raise AttributeError(f"module 'slurmsim' has no attribute {name!r}")
