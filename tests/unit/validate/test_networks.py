"""The judge of blocks, rings and tori: what is right passes, and each way of being wrong is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slurmsim.trace import schema
from slurmsim.validate.columns import table_of
from slurmsim.validate.networks import check_networks
from slurmsim.validate.report import ValidationReport

BLOCKS = {"kind": "block", "base": 4, "widths": [1, 2], "units": [f"n[{4 * k + 1}-{4 * k + 4}]" for k in range(4)]}
RINGS = {"kind": "ring", "units": ["n[1-8]", "n[16,15,14,13,12,11,10,9]"]}
SHAPES = [[[2, 2, 1], [0, 0, 0], [2, 2, 1]], [[2, 2, 2], [0, 0, 0], [1, 2, 2]]]
TORUS = {"kind": "torus", "units": [[f"n{k}" for k in range(1, 17)]], "tori": [{"dims": [4, 2, 2], "shapes": SHAPES}]}


def problems(network: dict[str, Any], nodes: str, asked: int, segment: int = 0, *, spread: bool = False) -> list[str]:
    columns: dict[str, Any] = {
        "job_id": [7], "submit": [0], "start": [10], "end": [20], "node_list": [nodes], "partition": ["p"],
        "req_nodes": [asked],
    }  # fmt: skip
    report = ValidationReport("test")
    segments = [[segment, spread, [5, 9]]] if segment else None
    check_networks(report, table_of(columns, schema.JOBS, "jobs"), {"p": network}, segments, np.zeros(1, bool))
    return [text for check in report.checks for text in check.examples]


@pytest.mark.parametrize(
    ("network", "nodes", "asked", "segment", "spread"),
    [
        (BLOCKS, "n[1-4]", 4, 0, False), (BLOCKS, "n[3-8]", 6, 0, False), (BLOCKS, "n[1-16]", 16, 0, False),
        (BLOCKS, "n[2-3,6-7]", 4, 2, False), (BLOCKS, "n[1-2,5-6]", 4, 2, True), (BLOCKS, "m[1-3]", 3, 0, False),
        (BLOCKS, "n[9-16]", 8, 8, False), (RINGS, "n[1-3]", 3, 0, False), (RINGS, "n[1,7-8]", 3, 0, False),
        (RINGS, "n[6-7,15-16]", 4, 2, False), (TORUS, "n[1-2,5-6]", 4, 0, False),
        (TORUS, "n[1,4-5,8-9,12-13,16]", 8, 0, False), (TORUS, "n[1-8]", 8, 4, False),
    ],
)  # fmt: skip
def test_what_is_right(network: dict[str, Any], nodes: str, asked: int, segment: int, spread: bool) -> None:
    assert problems(network, nodes, asked, segment, spread=spread) == []


@pytest.mark.parametrize(
    ("network", "nodes", "asked", "segment", "spread", "message"),
    [
        (BLOCKS, "n[4-5]", 2, 0, False, "on 2 blocks"), (BLOCKS, "n[5-10]", 6, 0, False, "on 2 blocks"),
        (BLOCKS, "n[2-5]", 4, 2, False, "across blocks"), (BLOCKS, "n[1-4]", 4, 2, True, "4 nodes of one base block"),
        (BLOCKS, "n[1-2],m1", 3, 0, False, "in no unit"), (BLOCKS, "n[1-3]", 3, 2, False, "no whole segments"),
        (RINGS, "n[1,3]", 2, 0, False, "no neighbours"), (RINGS, "n[8-9]", 2, 0, False, "1 nodes on"),
        (TORUS, "n[2-3,6-7]", 4, 0, False, "no boxes of 4"), (TORUS, "n[1-3]", 3, 0, False, "no boxes of 3"),
    ],
)  # fmt: skip
def test_what_is_wrong(
    network: dict[str, Any], nodes: str, asked: int, segment: int, spread: bool, message: str
) -> None:
    found = problems(network, nodes, asked, segment, spread=spread)
    assert len(found) == 1 and message.replace("no whole", "not whole") in found[0]
