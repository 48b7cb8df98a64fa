"""What the server does before a request about dynamic nodes: it writes them into the folder's file.

The engine then goes on under a configuration that has them, and carries out the request itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmsim.config.dynamic_nodes import FILE, DynamicLine, found_gpus, lines_text, read_lines, with_gres
from slurmsim.config.load import FAKES
from slurmsim.data_classes import replace
from slurmsim.hostlist import compress
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.requests.cluster.dynamic_nodes import to_create, to_delete, to_register
from slurmsim.slurmctld.requests.cluster.nodes import administrators_only
from slurmsim.slurmctld.snapshot.file import sync_folder

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

__all__ = ["CALLS", "FILE", "wanted", "write"]
CALLS = frozenset({"create_node", "delete_node", "register_node"})
Arguments = dict[str, Any]


def wanted(
    cluster: LiveCluster, texts: Mapping[str, str], call: str, arguments: Arguments, person: Person
) -> tuple[str, Arguments, Refusal | None]:
    """Return the new text of the file, the request that is then carried out, and what is refused of it.

    Raises Refusal where nothing is to be done.
    """
    administrators_only(cluster, person)
    there = read_lines(texts.get(FILE, ""))
    if call == "delete_node":
        names, refused = to_delete(cluster, str(arguments["target"]))
        if refused is not None and not names:
            raise refused
        return lines_text(_without(there, names)), {**arguments, "target": compress(names)}, refused
    if call == "create_node":
        return lines_text([*there, *to_create(cluster, str(arguments["line"]))]), arguments, None
    new = to_register(cluster, str(arguments["line"]))
    if len(new) == 1 and since(cluster.release, "slurmd_finds_gpus"):
        gres = found_gpus(new[0].name, new[0], texts.get("gres.conf", ""), texts.get(FAKES, ""))
        if gres:
            new, arguments = [with_gres(new[0], gres)], {**arguments, "gres": gres}
    return lines_text([*there, *new]), arguments, None


def _without(lines: list[DynamicLine], names: list[str]) -> list[DynamicLine]:
    return [replace(one, here=False) if one.here and one.name in names else one for one in lines]


def write(folder: Path, text: str) -> None:
    """Put a text in place of the file, whole or not at all, and see it to the disk. Raises OSError."""
    new = folder / f"{FILE}.new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.chmod(0o644)
    new.replace(folder / FILE)
    sync_folder(folder)
