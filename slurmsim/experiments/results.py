"""What an experiment leaves in its folder: the same files for every one."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmsim.metrics.estimate import Estimate
from slurmsim.report.build import render, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["estimate_facts", "render", "write_file", "write_results"]


def write_results(
    folder: Path, text: str, facts: dict[str, Any], figures: Mapping[str, Figure],
    titles: Sequence[str] = (), rows: Sequence[tuple[Any, ...]] = (),
) -> list[Path]:  # fmt: skip
    """Write ``results.txt``, ``results.json``, ``results.parquet`` if there are `titles`, and the figures.

    Parameters
    ----------
    figures
        By file name; its ending says the format.
    titles, rows
        Of the table for programs.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    import pandas as pd

    from slurmsim.trace.jsonfile import to_json

    written = [
        write_file(folder / "results.txt", (text + "\n").encode()),
        write_file(folder / "results.json", to_json(facts).encode()),
    ]
    if titles:
        buffer = io.BytesIO()
        pd.DataFrame({title: [row[i] for row in rows] for i, title in enumerate(titles)}).to_parquet(
            buffer, index=False
        )
        written.append(write_file(folder / "results.parquet", buffer.getvalue()))
    drawn = ((name, render(figure, name.rpartition(".")[2])) for name, figure in figures.items())
    return written + [write_file(folder / name, image) for name, image in drawn]


def estimate_facts(e: Estimate | None) -> dict[str, Any] | None:
    """Return a mean and its interval for programs."""
    return None if e is None else {"mean": e.mean, "half_width_95": e.half, "n": e.n}
