"""The main job: read a cluster and a workload, simulate, leave a trace. The composition root of ``slurmsim run``."""

from __future__ import annotations

import gc
import hashlib
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slurmsim import __version__, compiled
from slurmsim.config.accounting.missing import warn_missing
from slurmsim.config.findings import Finding, Report
from slurmsim.config.groups import warn_missing_groups
from slurmsim.config.load import examine, make_cluster
from slurmsim.core.cluster_state import allocation_unit
from slurmsim.core.gang import takes_turns
from slurmsim.core.messages import CreateReservation
from slurmsim.core.node_names import NodeNamer
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy, load_policy, parse_policy
from slurmsim.sim.account_changes import account_changes
from slurmsim.sim.accounting_data import enforcement, read_accounting, takes_facts
from slurmsim.sim.claims import drop_unknown_claims
from slurmsim.sim.group_data import with_groups
from slurmsim.sim.impossible_jobs import settle_impossible
from slurmsim.sim.network import BOOT_S
from slurmsim.sim.node_events import drawn_failures, read_account_commands, read_node_events
from slurmsim.sim.recorder import Recorder
from slurmsim.sim.reservation_file import read_reservations
from slurmsim.sim.shares import SharesRecorder
from slurmsim.sim.simulation import Simulation, Timed
from slurmsim.until import parse_until
from slurmsim.workload import Workload

if TYPE_CHECKING:
    from slurmsim.trace.reader import Trace

LIMIT_SCAN_S = 30
_time = attrgetter("time")
GC_THRESHOLD = 200_000  # allocations between collections of young objects: a run makes few cycles
Progress = Callable[[Simulation], None]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything a run depends on, as the command line names it."""

    workload: str
    out: str
    conf: str | None = None
    nodes: int | None = None
    cpus_per_node: int | None = None
    format: str | None = None
    policy: str | None = None
    set: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    until: str | None = None
    jobs: int | None = None
    option: tuple[tuple[str, str], ...] = ()
    node_events: str | None = None
    mtbf_s: int | None = None
    mttr_s: int | None = None
    accounting: tuple[str, ...] = ()
    unknown_accounts: str = "stop"
    shares_s: int | None = None
    boot_s: int | None = None
    reservations: str | None = None
    impossible_jobs: str = "stop"
    as_live: bool | None = None
    groups: tuple[str, ...] = ()
    epilog_s: int = 0
    term_s: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The options that are not at their default, for the manifest."""
        found: dict[str, Any] = {}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name in ("set", "option"):
                value = [f"{k}={v}" for k, v in value]
            if value not in (None, [], (), "stop") and (value or name not in ("epilog_s", "term_s")) and name != "out":
                found[name] = value
        return found


@dataclass(slots=True)
class Prepared:
    """A run that can start: its inputs read and checked."""

    options: RunOptions
    cluster: ClusterSpec
    findings: list[Finding]
    workload: Workload
    policy: Policy
    policy_name: str
    until: int | None
    timed: Sequence[Any] = ()
    endless: Iterable[Any] = ()
    hashes: dict[str, Any] = field(default_factory=dict)
    accounting: Accounting | None = None
    notes: list[str] = field(default_factory=list)  # warnings that only running could find


def prepare(options: RunOptions) -> Prepared:
    """Read and check all inputs; nothing is written. Raises ConfigError or WorkloadError."""
    from slurmsim_workloads import read_workload

    policy_name, policy_options = parse_policy(options.policy) if options.policy is not None else ("", {})
    if options.policy is not None and not policy_name:
        raise ConfigError("no policy is named", field="--policy", expected="NAME[:key=value,…]")
    if options.seed < 0:
        raise ConfigError(f"{options.seed} is negative", field="--seed", expected="a whole number >= 0")
    if options.boot_s is not None and options.boot_s < 0:
        raise ConfigError(f"{options.boot_s} is negative", field="--boot-time", expected="seconds")
    if options.jobs is not None and options.jobs < 1:
        raise ConfigError(f"{options.jobs} jobs", field="--jobs", expected="at least 1")
    overrides = list(options.set)
    if policy_name:
        load_policy(policy_name)
        overrides.append(("SchedulerType", f"sched/{policy_name}"))
    findings: list[Finding] = []
    scheduler_line: tuple[str | None, int | None] = (None, None)
    cluster: ClusterSpec | None = None
    if options.conf is not None:
        if options.nodes is not None or options.cpus_per_node is not None:
            raise ConfigError("--nodes and --cpus-per-node do not go with --conf", field="--nodes",
                              expected="one or the other")  # fmt: skip
        examination = examine(Path(options.conf), overrides)
        examination.report.raise_first_error()
        if not options.accounting:
            warn_missing(examination.report, overrides)
        if not options.groups:
            warn_missing_groups(examination.report)
        cluster, findings = examination.cluster, examination.report.findings
        named = [seen.place for seen in examination.report.seen if seen.key == "SchedulerType"]
        scheduler_line = (named[-1].file, named[-1].line) if named else (options.conf, None)
    elif not options.accounting:
        warn_missing(Report(), overrides)
    _refuse_unmodelled(overrides, findings)
    reader_options = dict(options.option)
    if cluster is None and options.nodes is not None:
        cluster = make_cluster(options.nodes, 1 if options.cpus_per_node is None else options.cpus_per_node,
                               overrides=overrides)  # fmt: skip
        reader_options.setdefault("max_procs", str(sum(n.cpus for n in cluster.nodes)))
    reader = reader_options if options.nodes is None or _is_swf(options) else dict(options.option)
    workload = read_workload(options.workload, options.format, reader)
    if options.jobs is not None and options.jobs < len(workload):
        workload = workload.take(np.arange(options.jobs))
    if cluster is None:
        cluster = _cluster_of_header(workload, options, overrides)
    if options.conf is None:
        cluster = _with_partitions(cluster, workload, overrides)
    workload = settle_impossible(workload, cluster, options.impossible_jobs, options.workload)
    own_name = cluster.name if options.conf is not None else ""
    data = read_accounting(options.accounting, cluster, own_name, workload, options.unknown_accounts, findings)
    accounting = data.accounting
    cluster = with_groups(options.groups, cluster, workload, findings)
    _check_shares(options, cluster, accounting)
    name = str(cluster.option("SchedulerType")).removeprefix("sched/")
    try:
        policy = load_policy(name)(policy_options)
    except ConfigError as error:
        if error.field != "SchedulerType":
            raise
        raise ConfigError(error.message, file=scheduler_line[0], line=scheduler_line[1], field="SchedulerType",
                          expected=error.expected) from None  # fmt: skip
    if policy.event_driven and cluster.option("PreemptType") != "preempt/none":
        findings.append(Finding("warning", options.conf, None, "PreemptType", cluster.option("PreemptType"),
                                f"policy {name} never preempts: sched/backfill and sched/builtin do"))  # fmt: skip
    _check_times(options, policy)
    until = parse_until(options.until, workload) if options.until is not None else None
    timed: list[Timed] = []
    if options.node_events:
        events = Path(options.node_events)
        commands = read_account_commands(events, workload)
        changes = account_changes(commands, data.draft, cluster, data.fitted)
        timed = sorted([*changes, *read_node_events(events, cluster, workload)], key=_time)
    if options.reservations:
        timed = sorted([*read_reservations(Path(options.reservations), cluster, workload, until), *timed], key=_time)
    drop_unknown_claims(workload, timed, [name for name, _ in cluster.option("Licenses")])
    endless: Iterable[Any] = ()
    if options.mtbf_s is not None or options.mttr_s is not None:
        endless = drawn_failures(cluster, workload, options.mtbf_s, options.mttr_s, options.seed)
    hashes: dict[str, Any] = {"workload_sha256": _sha256(options.workload)}
    if options.conf is not None:
        hashes["conf_sha256"] = _sha256(options.conf)
    if options.accounting:
        hashes["accounting_sha256"] = [_sha256(path) for path in options.accounting]
    if options.groups:
        hashes["groups_sha256"] = [_sha256(path) for path in options.groups]
    return Prepared(options, cluster, findings, workload, policy, name, until, timed, endless, hashes, accounting)


def execute(
    prepared: Prepared, *, report: bool = True, progress: Progress | None = None
) -> tuple[Path, dict[str, Any], bool]:
    """Simulate and write the trace; returns the folder, the summary, and whether it was cut short by Ctrl-C.

    Raises OutputError when something cannot be written; what was in the folder before is then untouched.
    """
    from slurmsim.metrics.summary import summarize_trace
    from slurmsim.report.build import build_report
    from slurmsim.trace.reader import read_trace
    from slurmsim.trace.writer import TraceWriter

    began = time.perf_counter()
    interrupted = False
    every = prepared.options.shares_s
    optional = () if every is None else ("shares",)
    with _few_collections(), TraceWriter(Path(prepared.options.out), optional=optional) as writer:
        recorder = Recorder(
            writer.jobs.append, writer.events.append, writer.usage.append, writer.requeued.append, writer.flush_if_full
        )
        simulation = simulate(prepared, recorder, progress)
        if every is not None and writer.shares is not None:
            SharesRecorder(simulation.controller, every, writer.shares.append)
        try:
            simulation.run()
        except KeyboardInterrupt:
            interrupted = True
        recorder.unfinished()
        for sub, text in simulation.refused:
            prepared.workload.quality.drop(f"refused at submission: {text}", 1, f"job {sub.job_id}")
        for name, text in simulation.refused_reservations:
            prepared.notes.append(f"warning: reservation {name}: refused as Slurm would: {text}")
        prepared.notes += _never_begun(prepared.timed, int(simulation.env.now))
        writer.write_json("run.json", manifest(prepared))
        folder = writer.seal(partial=interrupted)
        wall = time.perf_counter() - began
        cpus = sum(n.cpus for n in prepared.cluster.nodes)
        summary: dict[str, Any] = dict(summarize_trace(read_trace(folder), cpus=cpus))
        controller = simulation.controller
        summary |= {
            "wall_s": round(wall, 3),
            "jobs_per_s": round(recorder.n_finished / wall, 1) if wall > 0 else None,
            "passes": controller.main.passes + controller.host.passes,
            "backfilled": controller.backfilled,
            "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "policy": prepared.policy_name,
            "seed": prepared.options.seed,
        }
        writer.write_json("summary.json", summary)
        if report:
            build_report(folder)
        folder = writer.close(partial=interrupted)
    return folder, summary, interrupted


def _never_begun(timed: Sequence[Timed], end: int) -> list[str]:
    """What to say of reservations that lie after the `end` of the run, which no job could meet."""
    specs = [item.fact.spec for item in timed if isinstance(item.fact, CreateReservation)]
    return [
        f"warning: reservation {spec.name or 'without a name'}: starts at {spec.start}, after the run ended ({end})"
        for spec in specs if spec.start > end
    ]  # fmt: skip


@contextmanager
def _few_collections() -> Iterator[None]:
    """Look for cycles of dead objects seldom: a run and its report make few, and what is there before stays anyway."""
    old = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 50, 50)
    try:
        yield
    finally:
        gc.freeze()  # what is new counts as looked at, or the next allocation would look through all of it
        gc.unfreeze()
        gc.set_threshold(*old)


def simulate(prepared: Prepared, recorder: Recorder, progress: Progress | None = None) -> Simulation:
    """The simulation of a prepared run, with `recorder` attached, not yet run."""
    simulation: Simulation | None = None
    if progress is None:
        after = recorder.turn
    else:
        turns = 0

        def after(now: int) -> None:
            nonlocal turns
            recorder.turn(now)
            turns += 1
            if turns & 255 == 0:
                assert simulation is not None and progress is not None
                progress(simulation)

    simulation = Simulation(
        prepared.cluster, prepared.workload, prepared.policy, accounting=prepared.accounting, timed=prepared.timed,
        endless=prepared.endless, until=prepared.until, on_finished=recorder.finished, on_requeued=recorder.requeued,
        on_refused=recorder.refused, after_turn=after,
        boot_s=BOOT_S if prepared.options.boot_s is None else prepared.options.boot_s,
        epilog_s=prepared.options.epilog_s, term_s=prepared.options.term_s,
    )  # fmt: skip
    simulation.controller.main.ticks = bool(prepared.options.as_live)
    recorder.attach(simulation.controller)
    return simulation


def run(
    workload: str | Path,
    *,
    out: str | Path,
    conf: str | Path | None = None,
    nodes: int | None = None,
    cpus_per_node: int | None = None,
    format: str | None = None,
    policy: str | None = None,
    set: Mapping[str, object] | None = None,
    seed: int = 0,
    until: str | int | None = None,
    jobs: int | None = None,
    accounting: str | Path | Sequence[str | Path] = (),
    unknown_accounts: str = "stop",
    shares: int | None = None,
    reservations: str | Path | None = None,
    impossible_jobs: str = "stop",
    as_live: bool = False,
    groups: str | Path | Sequence[str | Path] = (),
    report: bool = True,
) -> Trace:
    """Replay a workload, as ``slurmsim run`` does, and return its trace.

    Parameters are those of the command under the same names (`set` a mapping of slurm.conf keys to values). Warnings
    of the command are Python warnings; errors raise `slurmsim.errors.SlurmSimError` with the same one line.
    """
    from slurmsim.trace.reader import read_trace

    files, about_groups = ([f] if isinstance(f, str | Path) else f for f in (accounting, groups))
    options = RunOptions(
        str(workload), str(out), None if conf is None else str(conf), nodes, cpus_per_node, format, policy,
        tuple((k, str(v)) for k, v in (set or {}).items()), seed, None if until is None else str(until), jobs,
        accounting=tuple([str(path) for path in files]), unknown_accounts=unknown_accounts, shares_s=shares,
        reservations=None if reservations is None else str(reservations), impossible_jobs=impossible_jobs,
        as_live=as_live or None, groups=tuple([str(path) for path in about_groups]),
    )  # fmt: skip
    prepared = prepare(options)
    for finding in prepared.findings:
        if finding.severity == "warning":
            warnings.warn(str(finding), stacklevel=2)
    folder, summary, interrupted = execute(prepared, report=report)
    if summary["refused"]:
        warnings.warn(refused_warning(summary["refused"]), stacklevel=2)
    for note in prepared.notes:
        warnings.warn(note, stacklevel=2)
    if interrupted:
        raise KeyboardInterrupt
    return read_trace(folder)


def refused_warning(n: int) -> str:
    """What to say about `n` refused submissions."""
    return f"warning: Slurm would refuse {n} submissions: they are the rows in state REFUSED of jobs.parquet"


def manifest(prepared: Prepared) -> dict[str, Any]:
    """run.json: enough to repeat the run bit for bit, and the facts the validator judges on."""
    cluster, workload, options = prepared.cluster, prepared.workload, prepared.options
    quality = workload.quality
    over = cluster.option("OverTimeLimit")
    slack = (
        None if over is None else LIMIT_SCAN_S + max([over, *(p.over_time_limit_s or 0 for p in cluster.partitions)])
    )
    return {
        "slurmsim": __version__,
        "python": sys.version.split()[0],
        "compiled": compiled(),
        "policy": prepared.policy_name,
        "policy_options": {k: str(v) for k, v in prepared.policy.options.items()},
        "seed": options.seed,
        "options": options.as_dict(),
        **prepared.hashes,
        "workload": {
            "file": options.workload, "format": workload.header.format, "epoch": workload.header.epoch,
            "records": quality.records, "jobs": len(workload), "repaired": quality.repaired,
            "dropped": quality.dropped, "examples": quality.examples,
        },
        "limit_allowance_s": 0 if prepared.policy.event_driven else slack,
        "cluster": cluster_facts(cluster, prepared.accounting),
        "findings": [
            {"severity": f.severity, "file": f.file, "line": f.line, "key": f.key, "value": f.value,
             "message": f.message}
            for f in prepared.findings
        ],
    }  # fmt: skip


def cluster_facts(cluster: ClusterSpec, accounting: Accounting | None = None) -> dict[str, Any]:
    """Nodes and partitions as the manifest keeps them (docs/validation.md)."""
    enforce = enforcement(cluster)
    namer = NodeNamer([n.name for n in cluster.nodes])
    index = {n.name: i for i, n in enumerate(cluster.nodes)}
    unit, memory = allocation_unit(cluster)
    runs: list[list[Any]] = []
    first = 0
    for i in range(1, len(cluster.nodes) + 1):
        if i < len(cluster.nodes) and _same_size(cluster.nodes[i], cluster.nodes[first]):
            continue
        node = cluster.nodes[first]
        gres: dict[str, int] = {}
        for g in node.gres:
            gres[g.name] = gres.get(g.name, 0) + g.count
            if g.type:
                gres[f"{g.name}:{g.type}"] = gres.get(f"{g.name}:{g.type}", 0) + g.count
        usable = max(0, node.real_memory_mib - node.mem_spec_limit_mib)
        runs.append([namer.runs([(first, i - first)]), node.cpus, usable, gres])
        first = i
    partitions = {}
    for p in cluster.partitions:
        members = sorted(index[n] for n in p.nodes)
        from slurmsim.core.node_names import index_runs

        partitions[p.name] = {
            "nodes": namer.runs(index_runs(members)), "max_time_s": p.max_time_s,
            "exclusive": p.oversubscribe == "EXCLUSIVE",
            "jobs_per_cpu": p.oversubscribe_max if p.oversubscribe in ("YES", "FORCE") else 1,
            **takes_facts(p, accounting, enforce),
        }  # fmt: skip
        if takes_turns(cluster):  # those of an equal tier run on the same CPUs
            equals = [q for q in cluster.partitions if q.priority_tier == p.priority_tier]
            partitions[p.name]["jobs_per_cpu"] = sum(not set(q.nodes).isdisjoint(p.nodes) for q in equals)
    used_up = {"used_up_ends": True} if accounting is not None and enforce.limits and not enforce.safe else {}
    return {"name": cluster.name, "nodes": runs, "partitions": partitions, "whole_nodes": unit == "node",
            "memory_tracked": memory, "licenses": dict(cluster.option("Licenses")), **used_up}  # fmt: skip


def _same_size(a: Any, b: Any) -> bool:
    return (a.cpus, a.real_memory_mib, a.mem_spec_limit_mib, a.gres) == (
        b.cpus, b.real_memory_mib, b.mem_spec_limit_mib, b.gres,
    )  # fmt: skip


def _is_swf(options: RunOptions) -> bool:
    name = options.workload.lower()
    return options.format == "swf" or (options.format is None and (name.endswith((".swf", ".swf.gz"))))


def _cluster_of_header(workload: Workload, options: RunOptions, overrides: list[tuple[str, str]]) -> ClusterSpec:
    """MaxNodes and MaxProcs of the log's header: equal nodes where they divide, else one CPU a node."""
    procs, nodes = workload.header.max_procs, workload.header.max_nodes
    if procs <= 0 and nodes <= 0:
        raise ConfigError("does not say how large its machine was: give --conf or --nodes", file=options.workload,
                          expected="a header with MaxProcs or MaxNodes")  # fmt: skip
    if options.cpus_per_node is not None:
        each = options.cpus_per_node
        if each < 1:
            raise ConfigError(f"{each} is too few", field="--cpus-per-node", expected="at least 1")
        return make_cluster(-(-max(procs, nodes) // each), each, overrides=overrides)
    if procs <= 0 or nodes <= 0 or procs % nodes:
        return make_cluster(max(procs, nodes), 1, overrides=overrides)
    return make_cluster(nodes, procs // nodes, overrides=overrides)


def _with_partitions(cluster: ClusterSpec, workload: Workload, overrides: list[tuple[str, str]]) -> ClusterSpec:
    """A made-up cluster gets the partitions the log names, each over all nodes."""
    column = workload.texts["partition"]
    used = sorted({p for code in np.unique(column.codes).tolist() for p in column.values[code].split(",") if p})
    if not used or set(used) <= {p.name for p in cluster.partitions}:
        return cluster
    first = cluster.nodes[0]
    return make_cluster(len(cluster.nodes), first.cpus, partitions=used, overrides=overrides)


def _refuse_unmodelled(overrides: Sequence[tuple[str, str]], findings: Sequence[Finding]) -> None:
    """A --set that would change nothing is a mistake, not a warning."""
    asked = {key.lower() for key, _ in overrides}
    for finding in findings:
        if finding.severity == "warning" and finding.key.lower() in asked and (finding.file or "").startswith("--set"):
            raise ConfigError(finding.message, field=f"--set {finding.key}")


def _check_times(options: RunOptions, policy: Policy) -> None:
    """Nodes may be COMPLETING where the policy knows what that is."""
    for option, value in (("--epilog-time", options.epilog_s), ("--term-time", options.term_s)):
        if value < 0:
            raise ConfigError(f"{value} is negative", field=option, expected="seconds")
        if value and policy.event_driven:
            raise ConfigError(f"policy {policy.name} knows no COMPLETING nodes", field=option,
                              expected="sched/backfill or sched/builtin")  # fmt: skip


def _check_shares(options: RunOptions, cluster: ClusterSpec, accounting: Accounting | None) -> None:
    """Fair shares can be written only where slurmctld would work them out."""
    if options.shares_s is None:
        return
    if options.shares_s < 0:
        raise ConfigError(f"{options.shares_s} is negative", field="--shares", expected="seconds, 0 for every run")
    multifactor = cluster.option("PriorityType") == "priority/multifactor"
    if accounting is None or not multifactor or cluster.option("AccountingStorageType") == "accounting_storage/none":
        raise ConfigError("there are no fair shares to write", field="--shares", expected="--accounting, "
                          "priority/multifactor and accounting_storage/slurmdbd")  # fmt: skip


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
