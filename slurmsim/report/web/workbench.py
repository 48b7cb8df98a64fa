"""The part of a run's page one can work in."""

from collections.abc import Sequence
from typing import Any

from slurmsim.report import style
from slurmsim.report.rundata import RunData
from slurmsim.report.text import number
from slurmsim.report.web import markup
from slurmsim.report.web import page_data as of_page
from slurmsim.report.web.assets import content
from slurmsim.report.web.packing import json_text
from slurmsim.shown import all_shown


def workbench(data: RunData) -> str:
    """Gantt chart, use over time, tables of jobs and of users, with the data they show, as markup."""
    return drawn([of_page.page_data(data)])


def drawn(runs: Sequence[tuple[dict[str, Any], str]]) -> str:
    """Return the parts, and what they show: facts and packed columns of each run; the first is shown first."""
    style_of = {"palette": style.PALETTE, "other": style.OTHER, "ramp": style.RAMP}
    parts = {
        "notes": "".join(map(markup.banner, _notes(runs[0][0]))),
        "which": '<label>run <select id="which"></select></label>' if len(runs) > 1 else "",
        "runs": "".join(_run(json_text(all_shown(found | style_of)), columns) for found, columns in runs),
    }
    page = content("workbench.html").removesuffix("\n")
    for name, part in parts.items():
        page = page.replace(f"<!-- {name} -->", part)
    return markup.Html(page)


def _run(facts: str, columns: str) -> str:
    """Return the data of a run for the scripts: JSON in which no element ends, and text."""
    return (
        f'<script type="application/json" class="run-data">{facts}</script>\n'
        f'<script type="text/plain" class="run-columns">{markup.escaped(columns)}</script>'
    )


def _notes(found: dict[str, Any]) -> list[str]:
    """Return what the reader must know of the data: a sample, means for steps."""
    notes = []
    if found["shown"] < found["jobs"]:
        notes.append(
            f"A sample: {number(found['shown'])} of {number(found['jobs'])} jobs, always the same, among them the "
            f"{number(of_page.KEPT_LONGEST)} that waited longest. Use over time, users and all other numbers are of "
            "all jobs."
        )
    if found["thinned"]:
        notes.append(f"Use over time is shown as means of {number(of_page.BINS)} equal parts of the run.")
    return notes
