"""The programs that a PowerAction of slurm.conf names."""

from __future__ import annotations

from typing import NamedTuple


class PowerAction(NamedTuple):
    """A line PowerAction of slurm.conf (26.05): a program with its first arguments, and where it runs."""

    name: str
    words: tuple[str, ...]
    on_nodes: bool = False  # on each node, as slurmd does; else once, as slurmctld does
