"""Make the report of a trace folder: one HTML page, and pictures for papers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmsim.errors import ConfigError
from slurmsim.report.html import report_page
from slurmsim.report.pictures import pictures
from slurmsim.report.rundata import RunData
from slurmsim.report.svg import document
from slurmsim.trace.reader import read_trace
from slurmsim.trace.staging import output_errors, staged_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
# Fewer started jobs than this make no distribution and no picture; the page then has its tables only.
MIN_JOBS = 2


def build_report(folder: Path | str, *, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write ``report.html`` and ``plots/NAME.FORMAT`` into a trace folder; returns the files written, page first.

    The page works without network. A file is replaced only by a complete one.

    Parameters
    ----------
    folder
        A trace folder, or the staging folder of a `TraceWriter` after ``seal``.
    formats
        ``png``, ``svg`` or both, of the pictures for papers, for which Matplotlib takes a second: more than a run of
        some thousand jobs. With none, as ``slurmsim run`` asks, the page's own three become SVG files.

    Raises
    ------
    WorkloadError
        `folder` holds no readable trace.
    ConfigError
        Unknown format.
    OutputError
        A file cannot be written.
    """
    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"unknown picture format {name!r}", expected=" or ".join(FORMATS))
    path = Path(folder)
    data = RunData(read_trace(path))
    drawn = pictures(data) if int(data.jobs.started.sum()) >= MIN_JOBS else []
    written = [write_file(path / "report.html", report_page(data, drawn).encode())]
    if not formats:
        written += [write_file(path / "plots" / f"{name}.svg", document(svg)) for name, _, svg in drawn]
    elif drawn:
        from slurmsim.report.plots import FIGURES

        for kind in FIGURES:
            figure = kind.draw(data)
            written += [write_file(path / "plots" / f"{kind.name}.{name}", render(figure, name)) for name in formats]
    return written


def render(figure: Figure, name: str) -> bytes:
    """Return a figure as a PNG or SVG file; the same figure gives the same bytes."""
    from slurmsim.report.style import house_style

    buffer = io.BytesIO()
    metadata = {"Software": "slurmsim"} if name == "png" else {"Date": None, "Creator": "slurmsim"}
    with house_style():
        # the PNG in half the time of the default level for a tenth more bytes
        packing: dict[str, Any] = {"pil_kwargs": {"compress_level": 3}} if name == "png" else {}
        figure.savefig(buffer, format=name, metadata=metadata, **packing)
    return buffer.getvalue()


def write_file(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all; its folder is made. Raises OutputError."""
    with output_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with staged_file(path, synced=False) as staged:
        staged.write_bytes(content)
    return path
