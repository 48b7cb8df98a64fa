"""``scontrol show topology``: the switches or the blocks of topology.conf."""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.session import Session
from slurmsim.commands.text.typed_hosts import typed_hosts
from slurmsim.commands.text.values import leading_number
from slurmsim.hostlist import expand
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

DEFAULT = "default"  # the name of the one topology of a cluster without topology.yaml
_NODES, _UNITS = ("node", "nodes"), ("switch", "block", "ring", "unit")


def show_topology(session: Session, value: str | None, words: Sequence[str]) -> None:
    """All switches or blocks, those of a name, or those above a node."""
    if since(session.release, "topology_with_options"):
        _with_options(session, words[2:] if value is None or len(words) > 2 else [value])
        return
    rows = _rows(session)
    if rows is None or _all(session, rows, value):
        return
    chosen = [row for row in rows if row["name"] == value][:1] or [row for row in rows if _has(row, value or "")]
    for row in chosen:
        _print(session, row)
    if not chosen:
        session.error(f"Topology information contains no {_kind(rows)} or node named {value}")


def _with_options(session: Session, words: Sequence[str]) -> None:
    """``[NAME] [node=NODES] [unit=NAME]``: NAME is a topology's."""
    name, nodes, unit = "", "", ""
    for place, word in enumerate(words):
        tag, equals, text = word.partition("=")
        if not equals and name:
            session.warn(f"Too many arguments ({word}), the topology name ({name}) is already defined")
            return
        if not equals:
            name = word
        elif any(one.startswith(tag.lower()) for one in _NODES):
            nodes = text
        elif any(one.startswith(tag.lower()) for one in _UNITS):
            unit = text
        elif place or equals:
            session.warn(f"Unknown argument {word}")
            return
    rows = _rows(session)
    if rows is None:
        return
    if name not in ("", DEFAULT):
        session.io.error("slurm_load_topo error: Requested topology configuration is not available")
        return
    if _all(session, rows, nodes or unit):
        return
    chosen = [row for row in rows if unit in ("", row["name"]) and (not nodes or _has(row, nodes))]
    for row in chosen:
        _print(session, row)
    if not chosen:
        named, within = f" named {unit}" if unit else "", f" with nodes {nodes}" if nodes else ""
        session.error(f"Topology information contains no {_kind(rows)}{named}{within}")


def _rows(session: Session) -> list[dict[str, Any]] | None:
    try:
        answer = session.io.client.call("topology")
    except FAILED_CALLS as error:
        session.io.error(f"slurm_load_topo error: {text_of(error)}")
        return None
    rows: list[dict[str, Any]] = answer["switches"] or answer.get("blocks", [])
    return rows


def _all(session: Session, rows: list[dict[str, Any]], asked: str | None) -> bool:
    """Print all where none is asked for; return True if that was it."""
    if asked:
        return False
    if not rows and not since(session.release, "no_topology_is_silent"):
        session.error("No topology information available")
    for row in rows:
        _print(session, row)
    return True


def _kind(rows: list[dict[str, Any]]) -> str:
    return "block" if rows and "block_size" in rows[0] else "switch"


def _has(row: dict[str, Any], nodes: str) -> bool:
    try:
        return bool(row["nodes"]) and set(typed_hosts(nodes, lambda _: None)) <= set(expand(row["nodes"]))
    except ValueError:
        return False


def _print(session: Session, row: dict[str, Any]) -> None:
    nodes = f" Nodes={row['nodes']}" if row["nodes"] else ""
    if "block_size" in row:
        text = f"{'AggregatedBlock' if row['aggregated'] else 'BlockName'}={row['name']} BlockIndex={row['index']}"
        text += f"{nodes} BlockSize={row['block_size']}"
    else:
        text = f"SwitchName={row['name']} Level={row['level']} LinkSpeed={row['link_speed']}{nodes}"
        text += f" Switches={row['switches']}" if row["switches"] else ""
    width = session.io.environ.get("SLURM_TOPO_LEN")
    session.io.out((text[: leading_number(width)[0]] if width else text) + "\n")
