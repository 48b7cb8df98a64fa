"""The first entry of a journal: all an engine is made of. Light: `slurmsim up` writes it before anything loads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

JOURNAL = "journal"
CONF = "slurm.conf"
STREAMS = "streams.toml"
BUDGET = "power-budget.csv"
CARBON = "carbon.csv"


def new_header(
    *, start: int, mode: str, rate: float, conf: str = "", nodes: int = 4, cpus: int = 8, owner: int | None = None,
    users: Mapping[str, str] | None = None, release: str = "22.05", jobs: str = "simulate",
    accounting: Sequence[str] = (), storage: str = "", operators: Sequence[str] = (), streams: str = "",
    power: Mapping[str, str] | None = None, flavour: str = "debian", programs: bool = False, boot_s: int = 60,
) -> dict[str, Any]:  # fmt: skip
    """Return the header of a new cluster: what it is made of.

    `conf` is the name of a slurm.conf in its folder, empty for `nodes` times `cpus`. `storage` is ``none`` or
    ``slurmdbd`` in place of what the conf says of its database. `operators` are users who may do to all jobs what
    their owners may. `streams` is the name of a file of streams of jobs in its folder.
    `flavour` is the build that ``--version`` names (`slurmsim.releases.FLAVOURS`).
    `power` has options of power (`slurmsim.sim.power_options`) by name. `completing` says that jobs keep their nodes
    until their processes are gone: folders older than 0.6.0 go on without. `programs` says that those slurm.conf names
    run, as Prolog. `boot_s` is how many seconds a node takes to boot.
    """
    return {
        "start": start, "mode": mode, "rate": rate, "conf": conf, "nodes": nodes, "cpus": cpus,
        "owner": os.getuid() if owner is None else owner, "users": dict(users or {}), "release": release, "jobs": jobs,
        "accounting": list(accounting), "storage": storage, "operators": list(operators),
        "streams": streams, "power": dict(power or {}), "completing": True, "flavour": flavour,
        "programs": programs, "boot_s": boot_s,
    }  # fmt: skip
