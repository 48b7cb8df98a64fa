"""What a submitting command wants to know of its cluster before it submits."""

from __future__ import annotations

import os

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text.messages import Stop
from slurmsim.commands.text.release import release_of
from slurmsim.release_changes import since
from slurmsim.releases import VERSION_VARIABLE, of_new, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


NO_CLUSTER = "Could not get cluster information"


def not_reached(names: str, own: str, *, database: bool) -> list[str]:
    """Return what commands say of ``-M names``; nothing where they name this cluster and a database knows it."""
    named = [] if names.lower() == "all" else list(filter(None, names.split(",")))
    if not database:
        found = ["Problem talking to database"] if names else []
    else:
        found = [f"No cluster '{name}' known by database." for name in named if name != own]
    return found and [
        *found,
        f"'{names}' can't be reached now, or it is an invalid entry for --cluster.  "
        "Use 'sacctmgr list clusters' to see available clusters.",
    ]


def named_cluster(io: Io, program: str, names: str) -> str:
    """Return the one cluster there is, which ``-M names`` may name. Raises Stop, and says why, where it does not."""
    try:
        told = io.client.call("hello")
    except FAILED_CALLS as error:
        io.error(f"{program}: error: {text_of(error)}")
        raise Stop(1) from None
    own = str(told["cluster"])
    lines = not_reached(names, own, database=bool(told.get("accounting", True)))
    for line in lines:
        io.error(f"{program}: error: {line}")
    if lines and since(release_of(io), "unknown_cluster_is_fatal"):
        io.error(f"{program}: fatal: {NO_CLUSTER}")
    if lines:
        raise Stop(1)
    return own


def reach(program: str, names: str, io: Io) -> None:
    """End the command where ``-M names`` does not name the cluster. Raises Stop."""
    cluster = Cluster(io)
    lines = cluster.not_reached(names)
    for line in lines:
        io.error(f"{program}: error: {line}")
    if lines:
        if since(cluster.release, "unknown_cluster_is_fatal"):
            io.error(f"{program}: fatal: {NO_CLUSTER}")
        raise Stop(1)


class Cluster:
    """The cluster as the daemon tells of it, with fallbacks for one that does not answer."""

    def __init__(self, io: Io) -> None:
        self._io = io
        try:
            told = io.client.call("hello")
        except FAILED_CALLS:
            told = {}
        named = io.environ.get(VERSION_VARIABLE) or told.get("slurm_version")
        self.release = short(named or of_new(io.environ))  # release to look like
        self.name = str(told.get("cluster") or "")  # the cluster's name, empty when unknown
        # its clock, epoch seconds; the machine's when it does not answer
        self.now = int(told["now"] if told.get("now") is not None else io.now())
        self.uid = int(told["uid"] if told.get("uid") is not None else os.getuid())  # who the caller is there
        self.cli_filter: str | None = told.get("cli_filter")  # the site's script around submissions, if it has one
        self._database = bool(told.get("accounting", True))
        self._configured: dict[str, str | None] = {}

    def configured(self, name: str) -> str | None:
        """Return an option of slurm.conf as ``scontrol show config`` has it; None when it is not told."""
        if name not in self._configured:
            try:
                found = self._io.client.call("config", names=[name])["values"].get(name)
            except FAILED_CALLS:
                found = None
            self._configured[name] = None if found is None else str(found)
        return self._configured[name]

    def not_reached(self, names: str) -> list[str]:
        """Return what a command says of ``-M names``; nothing where they name this cluster."""
        return not_reached(names, self.name, database=self._database)
