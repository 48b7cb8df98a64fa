"""What slurmctld logs of a topology.yaml that its data parser cannot read; it then does not start (25.05 on).

The parser walks the file in a fixed order and ends at the first part of another type than it expects there, or at a
second kind of topology beside one that is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from slurmsim.config.option import earlier

NO_PLUGIN = "fatal: Failed to initialize topology plugin"
NO_KIND = ("error: _get_plugin_index_by_type: cannot create topo context for (null)", NO_PLUGIN)
_PARSERS = {"25.05": "v0.0.43", "25.11": "v0.0.44"}  # the parser each release reads the file with
_LATEST_PARSER = "v0.0.45"
_ERRORS = {9202: "Unable to convert Data type", 9209: "Data parser expected a dictionary or object",
           -1: "Unspecified error"}  # fmt: skip
_TYPES = {str: "string", list: "list", dict: "dictionary", bool: "boolean", int: "64 bit integer",
          float: "64 bit floating-point number"}  # fmt: skip


class _Row(NamedTuple):
    """A mapping, or (`many`) a list of mappings, and which of its keys are such things themselves."""

    below: Mapping[str, _Row] = {}
    many: bool = False


_POINT = _Row()
_TORUS = {
    "dims": _POINT,
    "placements": _Row({"dims": _POINT, "anchor_seed": _POINT, "anchor_spacing": _POINT}, many=True),
    "regions": _Row({"anchor": _POINT, "dims": _POINT}, many=True),
}
_KINDS = {  # in the order they are looked at
    "block": _Row({"blocks": _Row(many=True)}),
    "flat": _Row(),
    "ring": _Row({"rings": _Row(many=True)}),
    "torus3d": _Row({"toruses": _Row(_TORUS, many=True)}),
    "tree": _Row({"switches": _Row(many=True)}),
}
_SECOND = {  # how a kind is refused beside another; the spelling is Slurm's
    "block": "Field block is mutually excusive with fields tree and flat",
    "flat": "Field flat is mutually exclusive with other plugins",
    "ring": "Field ring is mutually excusive with fields block, tree and flat",
    "torus3d": "Field torus3d is mutually exclusive with fields block, tree, flat and ring",
    "tree": "Field tree is mutually excusive with fields block and flat",
}
_SECOND_FLAT_BEFORE_26_05 = "Field flat is mutually excusive with fields tree and block"


class _Unreadable(Exception):
    """A part of the file is not what is expected: where, the error's number, and the parser's words."""

    def __init__(self, path: str, code: int, words: str) -> None:
        super().__init__(words)
        self.path, self.code, self.words = path, code, words


def refusal(found: Any, release: str, file: str) -> tuple[str, ...]:
    """Return the lines slurmctld logs of a file of this content as it ends, () if its parser reads it."""
    try:
        for row in _rows(found, "#/"):
            _topology(row, release)
    except _Unreadable as error:
        parser, means = _PARSERS.get(release, _LATEST_PARSER), _ERRORS[error.code]
        return (
            f"error: {error.path}: parser=data_parser/{parser} rc[{error.code}]={means} -> {error.words}",
            f"error: [{file}] source: {error.path}, description: {error.words}, rc: {error.code}",
            f"error: Failed to load topology.yaml: {means}",
            NO_PLUGIN,
        )
    return ()


def _topology(row: Mapping[str, Any], release: str) -> None:
    taken = False
    for kind, expected in _KINDS.items():
        found = row.get(kind)
        if kind == "flat" and isinstance(found, bool):
            there = found
        elif found is None or (kind == "flat" and not isinstance(found, dict)):
            continue
        else:
            there = bool(_mapping(found, f"#/{kind}/")) or kind == "flat"
        if there and taken:
            older = kind == "flat" and earlier(release, "26.05")
            raise _Unreadable(f"#/{kind}/", -1, _SECOND_FLAT_BEFORE_26_05 if older else _SECOND[kind])
        taken = taken or there
        if there and isinstance(found, dict):
            _look(found, expected, f"#/{kind}/")


def _look(found: Mapping[str, Any], expected: _Row, path: str) -> None:
    """Look at the keys of a mapping that are mappings or lists of them."""
    for key, below in expected.below.items():
        if found.get(key) is None:
            continue
        at = f"{path}{key}/"
        for row in _rows(found[key], at) if below.many else [_mapping(found[key], at)]:
            _look(row, below, at)


def _rows(found: Any, path: str) -> list[Mapping[str, Any]]:
    if isinstance(found, dict):
        return [found]
    if not isinstance(found, list):
        raise _Unreadable(path, 9202, f"Unexpected type {_type(found)} when expecting a list")
    return [_mapping(row, path) for row in found]


def _mapping(found: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise _Unreadable(path, 9209, f"Rejecting {_type(found)} when dictionary expected")
    return found


def _type(found: Any) -> str:
    return _TYPES.get(type(found), "null")
