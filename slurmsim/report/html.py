"""The HTML report of one run: numbers, pictures, and what one must know to trust and repeat them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any

from slurmsim.metrics.classes import CLASSES
from slurmsim.report import breakdown, page
from slurmsim.report.pictures import Picture
from slurmsim.report.rundata import RunData
from slurmsim.report.shortfall import shortfall
from slurmsim.report.text import duration, in_reading_order, number, percent, summary_label, summary_value
from slurmsim.report.web.assets import WORKBENCH_SCRIPTS, WORKBENCH_STYLES
from slurmsim.report.web.workbench import workbench

_TILES = (
    "jobs", "utilization", "mean_wait_s", "median_wait_s", "p95_wait_s", "mean_buffer_s", "mean_bounded_slowdown",
    "makespan_s",
)  # fmt: skip


def report_page(data: RunData, pictures: Sequence[Picture] = ()) -> str:
    """Return the report of a run as one HTML document; without `pictures` it has its tables only."""
    summary = data.trace.summary
    blocks = [page.heading(title(data), *_lead(data))]
    if data.trace.partial:
        blocks.append(page.banner("The run was interrupted: this is the part before the interruption."))
    if missing := shortfall(summary):
        blocks.append(page.banner(missing))
    blocks.append(page.tiles((summary_label(key), _tile(key, summary[key])) for key in _TILES if key in summary))
    if len(data.jobs):
        blocks.append(workbench(data))
    blocks += _more(data, pictures)
    return page.page(title(data), blocks, styles=WORKBENCH_STYLES, scripts=WORKBENCH_SCRIPTS if len(data.jobs) else ())


def _more(data: RunData, pictures: Sequence[Picture]) -> list[str]:
    """Parts behind the first screens, closed; open where nothing else is to see."""
    quality, findings = _quality(data.section("workload")), data.trace.manifest.get("findings")
    count = f" ({len(findings):,})" if isinstance(findings, list) else ""
    classes = page.stack(_lengths_and_widths(data), _classes(data, "partition"), _classes(data, "user"))
    parts = (
        ("Pictures", page.stack(*page.drawings((one.caption, one.svg) for one in pictures))),
        ("All numbers", page.columns(page.table(("measure", "value"), _numbers(data)), classes)),
        ("Longest waits", page.stack(_longest(data), page.subsection("By width", _widths(data)))),
        ("Data quality of the workload", quality),
        (f"Configuration findings{count}", _findings(findings)),
        ("To repeat this run", page.definitions(_recipe(data.trace.manifest))),
    )
    return [page.more(name, block, opened=not len(data.jobs)) for name, block in parts]


def _numbers(data: RunData) -> list[tuple[str, str]]:
    summary = data.trace.summary
    return [(summary_label(k), summary_value(k, summary[k], data.epoch)) for k in in_reading_order(summary)]


def title(data: RunData) -> str:
    """Workload under policy, as far as the manifest names them."""
    workload = str(data.section("workload").get("file") or "").rsplit("/", 1)[-1]
    policy = data.trace.manifest.get("policy") or data.trace.summary.get("policy")
    if policy and (predictor := data.trace.manifest.get("predictor")):
        policy = f"{policy} with predictor {predictor}"
    return " under ".join(str(x) for x in (workload or "Run", policy) if x)


def moment(data: RunData, seconds: int) -> str:
    """Return a trace time as a date (UTC), or as time since the first submit."""
    if data.epoch is None:
        return f"+{duration(seconds - data.interval.begin)}"
    return f"{dt.datetime.fromtimestamp(data.epoch + seconds, dt.UTC):%Y-%m-%d %H:%M}"


def _lead(data: RunData) -> list[str]:
    over, cluster = data.interval, data.cluster
    name = str(data.section("cluster").get("name") or "")
    name = "" if name == "cluster" else name
    sizes: list[str] = []
    if cluster is not None:
        known = ((cluster.nodes, "nodes"), (cluster.cpus, "CPUs"), (cluster.gpus, "GPUs"))
        sizes = [f"{count:,} {what}" for count, what in known if count]
    lines = [": ".join(x for x in (f"Cluster {name}".strip(), ", ".join(sizes)) if x)] if name or sizes else []
    if data.epoch is not None:
        lines.append(f"{moment(data, over.begin)} to {moment(data, over.end)} UTC, {duration(over.length_s)}")
    else:
        lines.append(f"{duration(over.length_s)} of simulated time")
    return lines


def _tile(key: str, value: Any) -> str:
    if key.endswith("_s") and key != "jobs_per_s" and isinstance(value, (int, float)):
        return duration(value)
    if key == "utilization":
        return percent(value)
    return summary_value(key, value)


def _classes(data: RunData, column: str) -> str:
    rows = breakdown.by_class(data, data.labels(column))
    header = (column, "jobs", "CPU hours", "mean wait", "median", "95 %")
    return page.table(
        header,
        [
            (r.name, number(r.jobs), number(r.cpu_hours, 0), duration(r.mean_wait_s), duration(r.median_wait_s),
             duration(r.p95_wait_s))
            for r in rows
        ],
    )  # fmt: skip


def _lengths_and_widths(data: RunData) -> str:
    """Return how jobs by length and width fared, those submitted in the central window."""
    found = data.by_class
    if not found:
        return ""
    rows = [
        (name.replace("_", " "), number(found[f"{name}_jobs"]), duration(found[f"{name}_wait_s"]),
         number(found[f"{name}_slowdown"]))
        for name in CLASSES
    ]  # fmt: skip
    return page.table(("class", "jobs", "mean wait", "mean bounded slowdown"), rows)


def _longest(data: RunData) -> str:
    header = ("job", "user", "partition", "nodes", "CPUs", "submitted", "wait", "run time", "state")
    return page.table(
        header,
        [
            (j.shown_id, j.user, j.partition, number(j.nodes), number(j.cpus), moment(data, j.submit),
             duration(j.wait_s), duration(j.run_time_s), j.state)
            for j in breakdown.longest_waits(data)
        ],
        left=(0, 1, 2),
    )  # fmt: skip


def _widths(data: RunData) -> str:
    rows = breakdown.longest_wait_by_width(data)
    return page.table(("nodes", "started", "longest wait"), [(w, number(n), duration(s)) for w, n, s in rows])


def _quality(workload: Mapping[str, Any]) -> str:
    examples = workload.get("examples")
    rows = []
    for key, what in (("dropped", "dropped"), ("repaired", "repaired")):
        counts = workload.get(key)
        if isinstance(counts, Mapping):
            for why, count in counts.items():
                places = examples.get(why, []) if isinstance(examples, Mapping) else []
                rows.append((what, str(why), "; ".join(map(str, places)), number(count)))
    if not rows and "records" in workload:
        rows.append(("clean", "every record was used as it is", "", number(workload["records"])))
    return page.table(("what", "why", "for example", "records"), rows, left=(0, 1, 2))


def _findings(found: Any) -> str:
    rows = []
    for item in found if isinstance(found, list) else []:
        if isinstance(item, Mapping):
            where = ":".join(str(item[k]) for k in ("file", "line") if item.get(k) is not None)
            setting = "=".join(str(item[k]) for k in ("key", "value") if item.get(k) not in (None, ""))
            rows.append((str(item.get("severity", "")), where, setting, str(item.get("message", ""))))
    return page.table(("severity", "where", "setting", "finding"), rows, left=(0, 1, 2, 3))


# Sections shown in tables of their own.
_ELSEWHERE = frozenset({"findings", "rows"})


def _recipe(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in manifest.items():
        if key in _ELSEWHERE or value in (None, "", [], {}):
            continue
        if isinstance(value, Mapping):
            rows += [
                (f"{key}: {k}", v if isinstance(v, str) else json.dumps(v, ensure_ascii=False))
                for k, v in value.items()
                if v not in (None, "", [], {}) and not isinstance(v, Mapping)
            ]
        else:
            rows.append((key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))
    return rows
