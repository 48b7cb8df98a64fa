"""``scontrol show topology`` and ``show topoconf``: switches, blocks, rings and tori of a topology."""

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

_NODES, _UNITS = ("node", "nodes"), ("switch", "block", "ring", "unit")
_KINDS = {"topology/block": "block", "topology/ring": "ring", "topology/torus3d": "torus"}


def show_topology(session: Session, value: str | None, words: Sequence[str]) -> None:
    """All switches or blocks, those of a name, or those above a node."""
    if since(session.release, "topology_with_options"):
        _with_options(session, words[2:] if value is None or len(words) > 2 else [value])
        return
    found = _rows(session)
    if found is None or _all(session, found, value):
        return
    kind, rows = found
    chosen = [row for row in rows if row["name"] == value][:1] or [row for row in rows if _has(row, value or "")]
    for row in chosen:
        _print(session, row)
    if not chosen:
        session.error(f"Topology information contains no {kind} or node named {value}")


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
    found = _rows(session, name)
    if found is None or _all(session, found, nodes or unit):
        return
    kind, rows = found
    chosen = [row for row in rows if unit in ("", row["name"]) and (not nodes or _has(row, nodes))]
    for row in chosen:
        _print(session, row)
    if not chosen:
        named, within = f" named {unit}" if unit else "", f" with nodes {nodes}" if nodes else ""
        session.error(f"Topology information contains no {kind}{named}{within}")


def _rows(session: Session, name: str = "") -> tuple[str, list[dict[str, Any]]] | None:
    """Return what the units of a topology are called, and their rows."""
    try:
        answer = session.io.client.call("topology", **({"topology": name} if name else {}))
    except FAILED_CALLS as error:
        session.io.error(f"slurm_load_topo error: {text_of(error)}")
        return None
    rows: list[dict[str, Any]] = [*answer["switches"], *answer["blocks"], *answer["rings"], *answer["toruses"]]
    return _KINDS.get(answer["kind"], "switch"), rows


def _all(session: Session, found: tuple[str, list[dict[str, Any]]], asked: str | None) -> bool:
    """Print all where none is asked for; return True if that was it."""
    if asked:
        return False
    if not found[1] and not since(session.release, "no_topology_is_silent"):
        session.error("No topology information available")
    for row in found[1]:
        _print(session, row)
    return True


def _has(row: dict[str, Any], nodes: str) -> bool:
    try:
        return bool(row["nodes"]) and set(typed_hosts(nodes, lambda _: None)) <= set(expand(row["nodes"]))
    except ValueError:
        return False


def _print(session: Session, row: dict[str, Any]) -> None:
    width = session.io.environ.get("SLURM_TOPO_LEN")
    for text in _lines(row):
        session.io.out((text[: leading_number(width)[0]] if width else text) + "\n")


def _lines(row: dict[str, Any]) -> list[str]:
    """Return one line for a unit, and one more for each placement of a torus."""
    nodes = f" Nodes={row['nodes']}" if row["nodes"] else ""
    if "block_size" in row:
        name = f"{'AggregatedBlock' if row['aggregated'] else 'BlockName'}={row['name']}"
        return [f"{name} BlockIndex={row['index']}{nodes} BlockSize={row['block_size']}"]
    if "ring_size" in row:
        return [f"RingName={row['name']}{nodes} RingSize={row['ring_size']}"]
    if "dims" in row:
        placements = [f"  TorusName={row['name']} PlacementDims={one['dims']}({one['size']}) Anchors={one['anchors']}"
                      for one in row["placements"]]  # fmt: skip
        return [f"TorusName={row['name']} Dims={row['dims']}{nodes}", *placements]
    text = f"SwitchName={row['name']} Level={row['level']} LinkSpeed={row['link_speed']}{nodes}"
    return [text + (f" Switches={row['switches']}" if row["switches"] else "")]


def show_configuration(session: Session) -> None:
    """Print all topologies as topology.yaml has them."""
    try:
        rows = session.io.client.call("topology", conf=True)["conf"]
    except FAILED_CALLS as error:
        session.io.error(f"slurm_load_topo error: {text_of(error)}")
        return
    if not rows:
        session.refuse("show topoconf without a topology.yaml is not modelled")
        return
    session.io.out("%YAML 1.1\n---\n" + "".join(f"{line}\n" for line in _yaml(rows, "")) + "...\n\n")


def _yaml(value: Any, indent: str) -> list[str]:
    """Return the lines of a list or mapping as Slurm writes them without tags."""
    if isinstance(value, list):
        found = []
        for one in value:
            lines = _yaml(one, indent + "  ") if isinstance(one, dict) else [f"{indent}  {one}"]
            found += [f"{indent}- {lines[0][len(indent) + 2 :]}", *lines[1:]]
        return found
    found = []
    for key, one in value.items():
        if isinstance(one, (list, dict)) and one:
            found += [f"{indent}{key}:", *_yaml(one, indent if isinstance(one, list) else indent + "  ")]
        else:
            found.append(f"{indent}{key}: {_plain(one)}".rstrip())
    return found


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return {"[]": "[]", "{}": "{}"}.get(str(value), "" if value is None else str(value))
