"""What ``scontrol show topology`` and ``show topoconf`` tell of each topology."""

from typing import Any

from slurmsim.hostlist import compress, compress_in_order
from slurmsim.model.block import BlockTopologySpec
from slurmsim.model.switch import SwitchSpec, level_of, nodes_below
from slurmsim.model.topology import PlacementSpec, Point, TopologySpec, TorusSpec
from slurmsim.slurmctld.requests.show.block_rows import block_rows

Row = dict[str, Any]
_KINDS = ("block", "flat", "ring", "torus3d", "tree")


def network_rows(network: TopologySpec, *, by_yaml: bool) -> dict[str, list[Row]]:
    """Return switches, blocks, rings and tori of one topology; topology.yaml has no speeds of links."""
    specs = {switch.name: switch for switch in network.switches}
    return {
        "blocks": block_rows(network.blocks) if network.blocks is not None else [],
        "rings": [{"name": one.name, "nodes": compress_in_order(one.nodes), "ring_size": len(one.nodes)}
                  for one in network.rings],
        "toruses": [_torus(one) for one in network.toruses],
        "switches": [
            {"name": switch.name, "level": level_of(switch, specs), "link_speed": 0 if by_yaml else 1,
             "nodes": compress(list(dict.fromkeys(nodes_below(switch, specs)))),
             "switches": compress(list(switch.switches))}
            for switch in specs.values()
        ],
    }  # fmt: skip


def _torus(one: TorusSpec) -> Row:
    return {
        "name": one.name, "dims": "x".join(map(str, one.dims)), "nodes": compress(sorted(one.nodes)),
        "placements": [
            {"dims": "x".join(map(str, shape.dims)), "size": shape.size, "anchors": shape.anchors(one.dims)}
            for shape in sorted(one.placements, key=lambda shape: shape.size)
        ],
    }  # fmt: skip


def conf_rows(networks: tuple[TopologySpec, ...]) -> list[Row]:
    """Return all topologies as topology.yaml would have them, for ``scontrol show topoconf``."""
    return [
        {"topology": one.name, "cluster_default": not k, **{kind: _config(one, kind) for kind in _KINDS}}
        for k, one in enumerate(networks)
    ]  # fmt: skip


def _config(network: TopologySpec, kind: str) -> Any:
    if network.plugin != f"topology/{kind}":
        return {}
    if kind == "flat":
        return True
    if kind == "ring":
        return {"rings": [{"ring": one.name, "nodes": compress_in_order(one.nodes)} for one in network.rings]}
    if kind == "torus3d":
        return {"toruses": [_torus_config(one) for one in network.toruses]}
    if kind == "block" and network.blocks is not None:
        return _block_config(network.blocks)
    return {"switches": [_switch_config(one) for one in network.switches]}


def _switch_config(one: SwitchSpec) -> Row:
    children, nodes = compress(list(one.switches)), compress(list(one.nodes))
    return {"switch": one.name, "children": children or None, "nodes": nodes or None}


def _block_config(spec: BlockTopologySpec) -> Row:
    return {"block_sizes": list(spec.sizes),
            "blocks": [{"block": one.name, "nodes": compress(list(one.nodes))} for one in spec.blocks]}  # fmt: skip


def _torus_config(one: TorusSpec) -> Row:
    nodes = None if one.regions else compress_in_order(one.cells)
    return {"name": one.name, "nodes": nodes, "dims": _point(one.dims),
            "placements": [_placement(shape) for shape in one.placements],
            "regions": [{"anchor": _point(part.anchor), "dims": _point(part.dims),
                         "nodes": compress_in_order(part.nodes)} for part in one.regions]}  # fmt: skip


def _placement(shape: PlacementSpec) -> Row:
    return {"dims": _point(shape.dims), "anchor_seed": _point(shape.seed), "anchor_spacing": _point(shape.step)}


def _point(point: Point) -> dict[str, int]:
    return dict(zip("xyz", point, strict=True))
