"""The parts of the experiment on PARM together: what `slurmsim bench parm` prints and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmsim.bench import parm_large_view, parm_view
from slurmsim.bench.output import write_results
from slurmsim.bench.parm import Result
from slurmsim.bench.parm_large import LargeResult

PARTS = ("testbed", "intrepid", "theta")


@dataclass(frozen=True, slots=True)
class Parts:
    """What was run: the testbed or None, and large machines."""

    testbed: Result | None
    large: Sequence[LargeResult]


def as_text(found: Parts) -> str:
    """All tables for a terminal."""
    blocks = [] if found.testbed is None else [parm_view.as_text(found.testbed)]
    return "\n\n\n".join([*blocks, *(parm_large_view.as_text(one) for one in found.large)])


def as_dict(found: Parts) -> dict[str, Any]:
    """The same for programs."""
    testbed = {} if found.testbed is None else parm_view.as_dict(found.testbed)
    return testbed | {one.machine: parm_large_view.as_dict(one) for one in found.large}


def write(found: Parts, folder: Path) -> list[Path]:
    """Write ``results.txt``, ``results.json`` and a picture a part. Raises OutputError."""
    figures = {} if found.testbed is None else {"parm.png": parm_view.figure(found.testbed)}
    figures |= {f"parm-{one.machine}.png": parm_large_view.figure(one) for one in found.large}
    return write_results(folder, as_text(found), as_dict(found), figures)
