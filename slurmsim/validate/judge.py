"""Put all checks together: a run's folder, or a schedule that was never written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.errors import WorkloadError
from slurmsim.trace import schema
from slurmsim.trace.jsonfile import read_json
from slurmsim.validate.accounts import check_accounts
from slurmsim.validate.checkpoints import Saving, check_checkpoints, saved_figures, saving_facts
from slurmsim.validate.columns import NULL, Table, Texts, read_table, table_of
from slurmsim.validate.decided import check_decided
from slurmsim.validate.facts import ClusterFacts, cluster_facts
from slurmsim.validate.figures import check_summary
from slurmsim.validate.history import History, check_history, raw_runs
from slurmsim.validate.inputs import check_inputs
from slurmsim.validate.layers import check_layers
from slurmsim.validate.layouts import check_layouts
from slurmsim.validate.measured import check_measured
from slurmsim.validate.networks import check_networks
from slurmsim.validate.nodelists import NodeIndex
from slurmsim.validate.outages import DRAIN, outages
from slurmsim.validate.power import PowerFacts, check_power, power_facts
from slurmsim.validate.recount import check_usage, node_classes
from slurmsim.validate.report import MAX_EXAMPLES, ValidationReport
from slurmsim.validate.requeued import join_requeued, owners
from slurmsim.validate.reservations import check_licenses, check_reservations
from slurmsim.validate.rows import check_allocations, check_rows
from slurmsim.validate.runs import JobRuns, lay_out
from slurmsim.validate.stops import cut, first_stopped, stops_of, suspended_seconds
from slurmsim.validate.sweep import Resource, SweepResult, resources, sweep

MANIFEST = "run.json"
_JOBS = (
    "job_id", "partition", "nodes", "cpus", "gpus", "mem_mib", "cpus_per_node", "mem_per_node_mib", "gres_per_node",
    "req_nodes", "req_cpus", "req_gpus", "req_mem_mib", "time_limit_s", "submit", "last_submit", "begin", "eligible",
    "start", "end", "state", "node_list", "restarts", "run_time_s", "wait_s", "held_since", "account", "qos",
    "reservation", "licenses", "layout", "arrived", "cpus_per_task", "threads_per_core", "user",
)  # fmt: skip
_EVENTS = ("time", "event", "job_id", "state", "reason", "partition", "nodes", "value", "scheduler")
_REQUIRED = ("job_id", "submit", "start", "end", "node_list")


_INPUTS = {name: column for name, column in schema.INPUTS.items() if not name.startswith("log_")}  # what is judged


@dataclass(slots=True)
class _Run:
    """One run as read. `allowance_s` None: limits were not enforced."""

    jobs: Table
    requeued: Table | None
    events: Table | None
    usage: Table | None
    summary: Mapping[str, Any] | None
    cluster: ClusterFacts
    allowance_s: int | None
    complete: bool
    power: PowerFacts | None = None
    phases: Table | None = None
    inputs: Table | None = None
    saving: Saving | None = None
    checkpoints: Table | None = None
    networks: Mapping[str, Any] | None = None
    segments: Any = None
    layers: Any = None


def validate_trace(folder: Path | str) -> ValidationReport:
    """Judge the run that left its trace in `folder`, from its files alone.

    Raises
    ------
    WorkloadError
        `folder` holds no trace, or one that cannot be read.
    """
    path = Path(folder)
    if not path.is_dir():
        raise WorkloadError("not a folder" if path.exists() else "no such folder", file=str(folder))
    manifest_file = path / MANIFEST
    if not manifest_file.is_file():
        raise WorkloadError(f"not a slurmsim trace: {MANIFEST} is missing", file=str(folder), expected="a run's folder")
    manifest = read_json(manifest_file)
    version = manifest.get("trace_schema")
    if not schema.readable(version):
        raise WorkloadError(
            f"schema version {version}", file=str(manifest_file), field="trace_schema", expected=schema.versions()
        )
    complete = not manifest.get("partial", False)
    summary_file = path / "summary.json"
    job_columns = {name: schema.JOBS[name] for name in _JOBS}
    power = power_facts(manifest.get("power"), str(manifest_file))
    more = schema.POWER if power is not None else {"jobs": {}, "usage": {}, "inputs": {}}
    measured = {name: column for name, column in more["inputs"].items() if column.since <= version}
    run = _Run(
        read_table(path / "jobs.parquet", {**job_columns, **more["jobs"]}),
        read_table(path / "requeued.parquet", job_columns),
        read_table(path / "events.parquet", {name: schema.EVENTS[name] for name in _EVENTS}),
        read_table(
            path / "usage.parquet",
            {**{name: c for name, c in schema.USAGE.items() if c.since <= version}, **more["usage"]},
        ),
        read_json(summary_file) if complete or summary_file.exists() else None,
        cluster_facts(manifest.get("cluster"), str(manifest_file)),
        _allowance(manifest, str(manifest_file)),
        complete,
        power,
        None if power is None else read_table(path / "phases.parquet", schema.PHASES),
        read_table(path / "inputs.parquet", {**_INPUTS, **measured}) if (path / "inputs.parquet").exists() else None,
        saving := saving_facts(manifest.get("checkpoints"), str(manifest_file)),
        None if saving is None else read_table(path / "checkpoints.parquet", schema.CHECKPOINTS),
        manifest["cluster"].get("networks"),
        manifest.get("segments"),
        manifest["cluster"].get("layers"),
    )
    report = ValidationReport(str(folder))
    _judge(report, run)
    return report


def validate_schedule(
    jobs: Mapping[str, Sequence[Any] | npt.NDArray[Any]],
    cluster: Mapping[str, Any],
    *,
    requeued: Mapping[str, Sequence[Any] | npt.NDArray[Any]] | None = None,
    events: Mapping[str, Sequence[Any] | npt.NDArray[Any]] | None = None,
    usage: Mapping[str, Sequence[Any] | npt.NDArray[Any]] | None = None,
    summary: Mapping[str, Any] | None = None,
    limit_allowance_s: int | None = 0,
) -> ValidationReport:
    """Judge a schedule that was never written, for tests.

    Parameters
    ----------
    jobs
        Columns of ``jobs.parquet`` by name, None for null; at least ``job_id, submit, start, end, node_list``.
        Checks that need a column that is not there are skipped by name. Without ``cpus_per_node`` (or
        ``mem_per_node_mib``) the job's ``cpus`` (``mem_mib``) are spread evenly where they divide.
    cluster
        The manifest's ``cluster`` object.
    requeued, events, usage
        Columns of the other tables (`requeued` with the columns of `jobs`); checks that need them are skipped when they
        are missing.
    summary
        The content of ``summary.json``.
    limit_allowance_s
        See the manifest's key in ``docs/validation.md``.

    Raises
    ------
    WorkloadError
        A column is unknown, missing, or of another length; `cluster` is not understood.
    """
    table = _given(jobs, "jobs")
    again = _given(requeued, "requeued") if requeued is not None else None
    told = table_of(events, schema.EVENTS, "events") if events is not None else None
    used = table_of(usage, schema.USAGE, "usage") if usage is not None else None
    run = _Run(table, again, told, used, summary, cluster_facts(cluster), limit_allowance_s, True)
    run.layers = cluster.get("layers")
    report = ValidationReport()
    _judge(report, run)
    return report


def _judge(report: ValidationReport, run: _Run) -> None:
    """All checks, rows first."""
    jobs, cluster = run.jobs, run.cluster
    index = NodeIndex(cluster.names)
    part = ValidationReport()
    history = check_history(part, run.events, jobs, run.complete) if run.events is not None else None
    raw, last_ran = raw_runs(jobs, history)
    records, raw = join_requeued(part, jobs, run.requeued, raw, history, run.complete)
    last_ran = np.append(last_ran, np.ones(records.n - jobs.n, bool))
    owner = owners(jobs, records)
    if history is not None:
        check_decided(part, history, jobs, cluster.requeue_s)
    stops = stops_of(history)
    away = suspended_seconds(stops, records, owner)
    edited_at = np.append(_last(history, jobs.n, "LIMIT"), NULL)[owner]
    check_rows(report, records, jobs.n, run.allowance_s, last_ran, away, edited_at, cluster.used_up_ends)
    report.checks += part.checks
    spans, bad_events = outages(run.events, index)
    last_told = run.usage.ints["time"][-1:] if run.usage is not None else np.zeros(0, np.int64)
    instants = np.concatenate([spans.instants(), last_told])  # what still runs then is there, be it later than all else
    runs = lay_out(raw, records, index, instants)
    none = np.zeros(jobs.n, bool)
    edited, resized = (np.append(none if history is None else history.count(jobs.n, kind) > 0, False)[owner]
                       for kind in ("LIMIT", "RESIZE"))  # fmt: skip
    check_allocations(report, records, runs, cluster, edited, resized)
    if run.inputs is None:
        report.skip("inputs_unchanged", "no table of the workload's jobs")
    else:
        check_inputs(report, jobs, run.inputs, edited[: jobs.n], resized[: jobs.n], saves=run.saving is not None)
    check_layouts(report, records, cluster.memory_tracked)
    check_networks(report, jobs, run.networks, run.segments, resized)
    check_accounts(report, records, runs, cluster)
    check_reservations(report, run.events, records, runs, index, edited, first_stopped(stops, jobs.n, owner))
    check_licenses(report, records, runs, cluster.licenses, {one[0] for one in run.layers or ()})
    check_layers(report, records, runs, run.layers, cluster.names)
    classes = node_classes(cluster)
    whole, whole_spans = runs, spans.at(runs.times)
    if stops.n:  # outages are judged on whole runs, what is in use on their pieces, busy nodes without the suspended
        outage = sweep(cluster, runs, [], whole_spans, classes[0], MAX_EXAMPLES)
        runs = lay_out(cut(raw, owner, stops), records, index, instants)
    wanted = resources(cluster, runs)
    seen = sweep(cluster, runs, wanted, spans.at(runs.times), classes[0], MAX_EXAMPLES)
    if stops.n:
        seen.outage_runs, seen.outage_count = outage.outage_runs, outage.outage_count
        seen.busy = sweep(cluster, runs, [], spans.at(runs.times), classes[0], 0, skip=runs.stopped).busy
    _report_sweep(report, records, cluster, runs, wanted, seen)
    if run.events is None:
        report.skip("nodes_usable", "no events table")
    else:
        check = report.new("nodes_usable", len(spans.node))
        for row, message in bad_events.items():
            check.add(f"event row {row}: {message}")
        shown = [_outage(records, cluster, whole, whole_spans.kind, *one) for one in seen.outage_runs]
        check.flag(seen.outage_count, shown)
    if run.usage is not None:
        check_usage(report, run.usage, jobs, runs, cluster, classes, seen.busy, history)
    else:
        report.skip("usage", "no usage table")
    if run.power is not None and run.phases is not None:
        check_power(report, run.power, run.phases, jobs, records, runs, run.usage, cluster.n)
        if run.power.measured:
            check_measured(report, run.phases, run.inputs)
    saved: dict[str, int] = {}
    if run.saving is not None and run.checkpoints is not None and run.requeued is not None:
        check_checkpoints(report, run.saving, jobs, run.requeued, run.inputs, run.checkpoints)
        saved = saved_figures(run.checkpoints, jobs)
    if run.summary is not None:
        check_summary(report, run.summary, jobs, run.requeued, run.usage, cluster, saved)
    else:
        report.skip("summary", "no summary")


def _report_sweep(
    report: ValidationReport,
    jobs: Table,
    cluster: ClusterFacts,
    runs: JobRuns,
    wanted: list[Resource],
    seen: SweepResult,
) -> None:
    ids = jobs.ints["job_id"]
    for name in ("cpus_not_overbooked", "memory_not_overbooked", "gres_not_overbooked", "nodes_not_shared"):
        kinds = [k for k, resource in enumerate(wanted) if resource.check == name]
        if not kinds:
            report.skip(name, _NOT_CHECKED[name])
            continue
        check = report.new(name, seen.visits)
        shown = []
        for o in seen.overbooked:
            if o.resource not in kinds:
                continue
            resource = wanted[o.resource]
            holders = sorted(int(ids[runs.row[k]]) for k in o.runs)
            who = ", ".join(map(str, holders[:6])) + (", …" if len(holders) > 6 else "")
            where = f"{cluster.names[o.node]} at {runs.times[o.time]}"
            if name == "nodes_not_shared":
                shown.append(f"{where}: shared by jobs {who}, one of which has it to itself")
                continue
            used, has = (_share(x, resource.unit) for x in (o.used, int(resource.capacity[o.node])))
            shown.append(f"{where}: {used} {resource.label} in use of {has} (jobs {who})")
        check.flag(sum(seen.overbooked_count[k] for k in kinds), shown)


_NOT_CHECKED = {
    "memory_not_overbooked": "memory is not handed out on this cluster",
    "gres_not_overbooked": "no job has GRES",
    "nodes_not_shared": "nodes may be shared",
}


def _outage(
    jobs: Table, cluster: ClusterFacts, runs: JobRuns, kinds: npt.NDArray[np.int64], run: int, node: int, k: int
) -> str:
    job = jobs.ints["job_id"][runs.row[run]]
    when = f"from {runs.times[runs.begin[run]]}"
    if kinds[k] == DRAIN:
        return f"job {job} started on {cluster.names[node]} {when}, while it was draining"
    return f"job {job} used {cluster.names[node]} {when} to {runs.times[runs.end[run]]}, while it was down"


def _share(amount: int, unit: int) -> str:
    return str(amount // unit) if amount % unit == 0 else f"{amount / unit:.2f}"


def _last(history: History | None, n: int, kind: str) -> npt.NDArray[np.int64]:
    """When each job had its last event of this kind, `NULL` for none."""
    at = np.full(n, -1) if history is None else history.last(n, kind)
    return np.where(at >= 0, NULL if history is None or not len(history.row) else history.time(at), NULL)


def _given(columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]], name: str) -> Table:
    """Return a table of jobs or runs that was never written."""
    table = table_of(columns, schema.JOBS, name)
    for column in _REQUIRED:
        if not table.has(column):
            raise WorkloadError("column is missing", file=name, field=column)
    _spread(table, "cpus", "cpus_per_node")
    _spread(table, "mem_mib", "mem_per_node_mib")
    return table


def _spread(jobs: Table, total: str, per_node: str) -> None:
    """Derive the per-node text where the total divides evenly over the nodes."""
    if jobs.has(per_node) or not jobs.has(total, "nodes"):
        return
    amounts, nodes = jobs.ints[total].tolist(), jobs.ints["nodes"].tolist()
    even = [n > 0 and amount != NULL and amount % n == 0 for amount, n in zip(amounts, nodes, strict=True)]
    if all(even):
        jobs.texts[per_node] = Texts.of(f"{amount // n}(x{n})" for amount, n in zip(amounts, nodes, strict=True))


def _allowance(manifest: Mapping[str, Any], file: str) -> int | None:
    value = manifest.get("limit_allowance_s", 0)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise WorkloadError(f"{value!r}", file=file, field="limit_allowance_s", expected="seconds, or null")
    return value
