"""Per-node amounts of allocations: run-length texts into segments, and segments laid over node runs."""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.validate.columns import IntArray, distinct
from slurmsim.validate.nodelists import NodeRuns

ALL = -1  # in place of a number of nodes: all nodes of the allocation

_NONE = -2
_NUMBER = re.compile(r"([0-9]+)(?:\(x([0-9]+)\))?")
_GRES = re.compile(r"([^:,()]+)(?::([^:,()]+))?:([0-9]+(?:\(x[0-9]+\))?)")


def parse_counts(text: str) -> list[tuple[int, int]] | None:
    """Run-length text as Slurm writes it, ``4(x2),2``, as (nodes, amount) pairs; None when it is malformed.

    >>> parse_counts("4(x2),2")
    [(2, 4), (1, 2)]
    """
    found = [_part(part) for part in text.split(",")] if text else []
    return None if None in found else found  # type: ignore[return-value]


@lru_cache(maxsize=1 << 16)
def _part(text: str) -> tuple[int, int] | None:
    match = _NUMBER.fullmatch(text)
    return None if match is None else (int(match[2] or 1), int(match[1]))


def parse_gres(text: str) -> dict[str, list[tuple[int, int]]] | None:
    """GRES on each node: per GRES its (nodes, amount) pairs; None when malformed.

    A single amount holds for `ALL` nodes; several are run-length coded. A typed GRES counts under name:type and,
    with the other types of its name, under the name.

    >>> parse_gres("gpu:a100:2,nvme:1(x2),3")
    {'gpu:a100': [(-1, 2)], 'gpu': [(-1, 2)], 'nvme': [(2, 1), (1, 3)]}
    """
    kinds: list[tuple[str, str, list[str]]] = []
    for part in text.split(",") if text else ():
        match = _GRES.fullmatch(part)
        if match is not None:
            kinds.append((match[1], match[2] or "", [match[3]]))
        elif kinds and _NUMBER.fullmatch(part):
            kinds[-1][2].append(part)
        else:
            return None
    found: dict[str, list[tuple[int, int]]] = {}
    for name, kind, amounts in kinds:
        pairs = parse_counts(",".join(amounts)) or []
        if len(amounts) == 1 and "(" not in amounts[0]:
            pairs = [(ALL, pairs[0][1])]
        for key in dict.fromkeys((f"{name}:{kind}" if kind else name, name)):
            found[key] = _added(found[key], pairs) if key in found else pairs
    return found


def _added(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sum of two run-length lists over the same nodes."""
    if two[0][0] == ALL:
        one, two = two, one
    if one[0][0] == ALL:
        return [(n, value + one[0][1]) for n, value in two]
    flat = [[value for n, value in pairs for _ in range(n)] for pairs in (one, two)]
    return [(1, sum(values)) for values in zip(*flat, strict=False)]


def _nodes(parsed: list[tuple[int, int]] | None) -> int:
    """Nodes a text covers."""
    if parsed is None:
        return _NONE
    return ALL if any(n == ALL for n, _ in parsed) else sum(n for n, _ in parsed)


@dataclass(slots=True)
class Segments:
    """Amounts of one resource along the nodes of many allocations.

    Allocation k has segments ``first[k]`` up to ``first[k + 1]``; segment i says `value[i]` for `nodes[i]` nodes.
    """

    first: IntArray
    nodes: IntArray
    value: IntArray


def segments(
    codes: IntArray, parsed: Sequence[list[tuple[int, int]] | None], sizes: IntArray, otherwise: int
) -> tuple[Segments, IntArray]:
    """Segments of each allocation, and which allocations had an unusable text.

    Parameters
    ----------
    codes
        Per allocation, the index of its text in `parsed`; -1 for unknown amounts.
    parsed
        Per distinct text, its (nodes, amount) pairs; None when it is malformed.
    sizes
        Nodes of each allocation. Where a text covers another number of nodes it is unusable.
    otherwise
        Amount on each node where the text is unknown or unusable.
    """
    lengths = np.array([len(p) if p else 0 for p in parsed] + [0], np.int64)
    covered = np.array([_nodes(p) for p in parsed] + [_NONE], np.int64)
    flat_nodes = np.array([n for p in parsed if p for n, _ in p], np.int64)
    flat_value = np.array([v for p in parsed if p for _, v in p], np.int64)
    begin = np.cumsum(lengths) - lengths
    usable = ((covered[codes] == sizes) | (covered[codes] == ALL)) & (lengths[codes] > 0)
    take = np.where(usable, lengths[codes], 1)
    first = np.concatenate([[0], np.cumsum(take)])
    owner = np.repeat(np.arange(len(codes)), take)
    within = np.arange(first[-1]) - first[owner]
    source = begin[codes[owner]] + within
    ok = usable[owner]
    nodes, value = sizes[owner], np.full(len(owner), otherwise, np.int64)
    said, value[ok] = flat_nodes[source[ok]], flat_value[source[ok]]
    nodes[ok] = np.where(said == ALL, nodes[ok], said)
    return Segments(first, nodes, value), np.flatnonzero(~usable & (codes >= 0) & (sizes > 0))


@dataclass(slots=True)
class Pieces:
    """Allocations cut so that a piece is a run of nodes with equal amounts.

    `owner` is the allocation (ascending), `low`..`high` its nodes (both included), `amounts` a column per resource.
    """

    owner: IntArray
    low: IntArray
    high: IntArray
    amounts: list[IntArray]


def pieces(runs: NodeRuns, text_of: IntArray, columns: Sequence[Segments]) -> Pieces:
    """Lay the amounts of `columns` over the nodes of each allocation.

    Parameters
    ----------
    runs
        Nodes of each distinct node list.
    text_of
        Per allocation, its node list (index into ``runs.count``).
    columns
        Amounts of each resource, covering exactly the allocation's nodes.
    """
    per_text = np.bincount(runs.text, minlength=len(runs.count))
    first_run = np.cumsum(per_text) - per_text
    owner = np.repeat(np.arange(len(text_of)), per_text[text_of])
    before = np.cumsum(per_text[text_of]) - per_text[text_of]
    run = first_run[text_of[owner]] + np.arange(len(owner)) - before[owner]
    low, length = runs.low[run], runs.high[run] - runs.low[run] + 1
    # All allocations on one line of node positions: a piece begins where a run or a segment of any column does.
    at = np.cumsum(length) - length
    edges = [np.cumsum(c.nodes) - c.nodes for c in columns]
    cut = [edge for c, edge in zip(columns, edges, strict=True) if len(c.nodes) > len(text_of)]
    begin = at
    if cut and len(at):
        total = int(at[-1] + length[-1])
        begin = distinct(np.concatenate([at, *cut]))
        begin = begin[begin < total]
        of_run = np.searchsorted(at, begin, "right") - 1
        owner, low = owner[of_run], low[of_run] + begin - at[of_run]
        length = np.diff(begin, append=total)
    amounts = []
    for column, edge in zip(columns, edges, strict=True):
        if len(column.nodes) == len(text_of):  # one segment each
            amounts.append(column.value[owner])
        else:
            amounts.append(column.value[np.searchsorted(edge, begin, "right") - 1])
    return Pieces(owner, low, low + length - 1, amounts)
