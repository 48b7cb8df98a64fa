"""``scontrol show topology``: the switches of topology.conf."""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.session import Session
from slurmsim.commands.text.typed_hosts import typed_hosts
from slurmsim.commands.text.values import leading_number
from slurmsim.hostlist import expand
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def show_topology(session: Session, value: str | None) -> None:
    """All switches, the one of that name, or those above a node."""
    try:
        rows = session.io.client.call("topology")["switches"]
    except FAILED_CALLS as error:
        session.io.error(f"slurm_load_topo error: {text_of(error)}")
        return
    if not value:
        if not rows and not since(session.release, "no_topology_is_silent"):
            session.error("No topology information available")
        for row in rows:
            _print(session, row)
        return
    chosen = [row for row in rows if row["name"] == value][:1] or [row for row in rows if _has(row, value)]
    for row in chosen:
        _print(session, row)
    if not chosen:
        session.error(f"Topology information contains no switch or node named {value}")


def _has(row: dict[str, Any], nodes: str) -> bool:
    try:
        return bool(row["nodes"]) and set(typed_hosts(nodes, lambda _: None)) <= set(expand(row["nodes"]))
    except ValueError:
        return False


def _print(session: Session, row: dict[str, Any]) -> None:
    text = f"SwitchName={row['name']} Level={row['level']} LinkSpeed={row['link_speed']}"
    text += f" Nodes={row['nodes']}" if row["nodes"] else ""
    text += f" Switches={row['switches']}" if row["switches"] else ""
    width = session.io.environ.get("SLURM_TOPO_LEN")
    session.io.out((text[: leading_number(width)[0]] if width else text) + "\n")
