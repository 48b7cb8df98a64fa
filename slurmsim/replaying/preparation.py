"""The inputs of a run read and checked: options in, a cluster, a workload, a policy and all that happens out.

Nothing is written here, and nothing simulated: see `slurmsim.replaying.replay`.
"""

import hashlib
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from slurmsim.config.accounting.missing import warn_missing
from slurmsim.config.findings import Finding, Report
from slurmsim.config.groups import warn_missing_groups
from slurmsim.config.load import examine, make_cluster
from slurmsim.config.option import check_release
from slurmsim.data_classes import dataclass, field, replace
from slurmsim.errors import ConfigError
from slurmsim.input_file import open_input
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy, choose_policy, configured_policy, parse_policy
from slurmsim.policy.policy_file import in_file
from slurmsim.policy.registry import OUR_NAME, refused_claims
from slurmsim.replaying.instances import check_folder
from slurmsim.replaying.jobs import FRAME, GENERATE, check_variation, generator_of, jobs_of
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.power import power_spec
from slurmsim.replaying.until import parse_until
from slurmsim.sim.account_changes import account_changes
from slurmsim.sim.accounting_data import AccountingData, read_accounting
from slurmsim.sim.boot_times import BootTime
from slurmsim.sim.checkpoints import Checkpoints
from slurmsim.sim.claims import drop_unknown_claims
from slurmsim.sim.group_data import with_groups
from slurmsim.sim.impossible_jobs import settle_impossible, settle_overdrawn, settle_refused
from slurmsim.sim.node_events import drawn_failures, read_account_commands, read_node_events
from slurmsim.sim.reservation_file import read_reservations
from slurmsim.sim.simulation import Timed
from slurmsim.toml_file import beside
from slurmsim.workload import Workload

_time = attrgetter("time")


def new_policy(options: RunOptions, cluster: ClusterSpec) -> Policy:
    """Return the policy of a run, knowing nothing yet. Raises ConfigError."""
    if options.policy is not None:
        return choose_policy(options.policy).make()
    # files that the options of a slurm.conf's policy name are beside it
    return configured_policy(cluster.option("SchedulerType"), None if options.conf is None else beside(options.conf))


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


def prepare(options: RunOptions, frame: Any = None) -> Prepared:
    """Read and check all inputs; nothing is written. Raises ConfigError or WorkloadError.

    With `frame`, a pandas DataFrame, that is the workload.
    """
    from slurmsim_workloads.parquet import digest

    check_options(options)
    overrides = list(options.set)
    if options.policy is not None:  # an unknown name ends the run before anything is read
        overrides.append(("SchedulerType", f"sched/{choose_policy(options.policy).name}"))
    cluster, findings, scheduler_line = _configured(options, overrides)
    _refuse_unmodelled(overrides, findings)
    reader_options = dict(options.option)
    if cluster is None and options.nodes is not None:
        cluster = make_cluster(options.nodes, 1 if options.cpus_per_node is None else options.cpus_per_node,
                               overrides=overrides, findings=findings)  # fmt: skip
        reader_options.setdefault("max_procs", str(sum(n.cpus for n in cluster.nodes)))
    reader = reader_options if options.nodes is None or _is_swf(options) else dict(options.option)
    workload = jobs_of(options, reader, frame)
    on_file = frame is None and generator_of(options.workload) is None
    own = {} if on_file else {"workload_sha256": digest(workload)}
    if cluster is None:
        cluster = _cluster_of_header(workload, options, overrides, findings)
    if options.conf is None:
        cluster = _with_partitions(cluster, workload, overrides, findings)
        cluster = replace(cluster, release=options.release)
    if options.malleable is not None:
        workload = _made_malleable(workload, options, cluster)
    workload = settle_impossible(workload, cluster, options.impossible_jobs, options.workload)
    own_name = cluster.name if options.conf is not None else ""
    data = read_accounting(options.accounting, cluster, own_name, workload, options.unknown_accounts, findings)
    accounting = data.accounting
    cluster = with_groups(options.groups, cluster, workload, findings)
    _check_shares(options, cluster, accounting)
    policy = _policy_at(options, cluster, scheduler_line)
    name = parse_policy(cluster.option("SchedulerType"))[0]
    if policy.event_driven and cluster.option("PreemptType") != "preempt/none":
        findings.append(Finding("warning", options.conf, None, "PreemptType", cluster.option("PreemptType"),
                                f"policy {name} never preempts: sched/backfill and sched/builtin do"))  # fmt: skip
    findings += [
        Finding("warning", None, None, "policy", name, f"{claim} is {OUR_NAME}") for claim in refused_claims(name)
    ]
    _check_predictor(options, policy, workload)
    if policy.discipline is not None:
        policy.discipline.check(len(cluster.nodes))
        workload = settle_refused(workload, cluster, policy.discipline, options.impossible_jobs, options.workload)
    _check_times(options, policy)
    if (power := power_spec(options, policy, workload, cluster)) is not None:
        cluster = replace(cluster, power=power)
        workload = settle_overdrawn(workload, cluster, options.impossible_jobs, options.workload)
    cluster = replace(cluster, pass_limit_s=options.pass_limit)
    if options.prices is not None:
        from slurmsim.replaying.node_prices import read_prices

        read_prices(Path(options.prices), cluster)  # what is wrong with it is told before the run
    if options.checkpoint is not None:  # as if the cluster said it: policies are told
        told = Checkpoints.read(options.checkpoint).parameters()
        cluster = replace(cluster, scheduler_parameters={**cluster.scheduler_parameters, **told})
    until = parse_until(options.until, workload) if options.until is not None else None
    timed = _timed(options, data, cluster, workload, until)
    drop_unknown_claims(workload, timed, cluster)
    endless: Iterable[Any] = ()
    if options.mtbf is not None or options.mttr is not None:
        endless = drawn_failures(cluster, workload, options.mtbf, options.mttr, options.seed)
    hashes = {**own, **_hashes(options)}  # of files that could be read
    return Prepared(options, cluster, findings, workload, policy, name, until, timed, endless, hashes, accounting)


_Line = tuple[str | None, int | None]


def _configured(
    options: RunOptions, overrides: Sequence[tuple[str, str]]
) -> tuple[ClusterSpec | None, list[Finding], _Line]:
    """Return the cluster of the slurm.conf (None without one), the findings, and the line of SchedulerType."""
    if options.conf is None:
        if not options.accounting:
            warn_missing(Report(), overrides)
        return None, [], (None, None)
    examination = examine(Path(options.conf), overrides, release=options.release)
    examination.report.raise_first_error()
    if not options.accounting:
        warn_missing(examination.report, overrides)
    if not options.groups:
        warn_missing_groups(examination.report)
    named = [seen.place for seen in examination.report.seen if seen.key == "SchedulerType"]
    line: _Line = (named[-1].file, named[-1].line) if named else (options.conf, None)
    return examination.cluster, examination.report.findings, line


def _policy_at(options: RunOptions, cluster: ClusterSpec, line: _Line) -> Policy:
    """Return the policy of a run; an error in SchedulerType names its line. Raises ConfigError."""
    try:
        return new_policy(options, cluster)
    except ConfigError as error:
        if error.field != "SchedulerType":
            raise
        raise ConfigError(error.message, file=line[0], line=line[1], field="SchedulerType",
                          expected=error.expected) from None  # fmt: skip


def check_options(options: RunOptions) -> None:
    """Raise ConfigError for options that are wrong before any file is read."""
    if options.conf is not None and (options.nodes is not None or options.cpus_per_node is not None):
        raise ConfigError("--nodes and --cpus-per-node do not go with --conf", field="--nodes",
                          expected="one or the other")  # fmt: skip
    check_variation(options)
    if options.seed < 0:
        raise ConfigError(f"{options.seed} is negative", field="--seed", expected="a whole number >= 0")
    if options.solver_latency is not None and options.solver_latency < 0:
        raise ConfigError(f"{options.solver_latency} is negative", field="--solver-latency", expected="seconds")
    if options.checkpoint is not None:
        Checkpoints.read(options.checkpoint)
    if options.malleable is not None:
        _check_malleable(options)
    if options.save_instances is not None:
        check_folder(Path(options.save_instances), options.max_instances)
    check_release(options.release)
    if options.boot_time is not None:
        BootTime.parse(str(options.boot_time))
    if options.jitter < 0:
        raise ConfigError(f"{options.jitter} is negative", field="--jitter", expected="seconds")
    if options.fair_start < 0:
        raise ConfigError(f"{options.fair_start} jobs", field="--fair-start", expected="a number of jobs, 0 for none")
    for name in ("streams", "feedback", "mtbf", "mttr") if options.fair_start else ():
        if getattr(options, name):
            raise ConfigError("who comes later changes what comes before", field=f"--fair-start with --{name}",
                              expected="one of the two")  # fmt: skip
    if options.pass_limit is not None and not options.pass_limit > 0:
        raise ConfigError(f"{options.pass_limit:g}", field="--pass-limit", expected="seconds above 0")
    if options.jobs is not None and options.jobs < 1:
        raise ConfigError(f"{options.jobs} jobs", field="--jobs", expected="at least 1")


def _check_malleable(options: RunOptions) -> None:
    from slurmsim_workloads.transforms.malleable import Malleability

    assert options.malleable is not None
    Malleability.read(options.malleable)
    if options.checkpoint is not None:
        raise ConfigError("checkpoints are not modelled beside sizes that change",
                          field="--malleable with --checkpoint", expected="one of the two")  # fmt: skip


def _made_malleable(workload: Workload, options: RunOptions, cluster: ClusterSpec) -> Workload:
    """Return the workload with a share of its jobs malleable, on nodes of this cluster."""
    from slurmsim_workloads.transforms.malleable import Malleability, made_malleable

    assert options.malleable is not None
    how = Malleability.read(options.malleable)
    return made_malleable(workload, how, [node.cpus for node in cluster.nodes], options.seed)


def _timed(
    options: RunOptions, data: AccountingData, cluster: ClusterSpec, workload: Workload, until: int | None
) -> list[Timed]:
    """Return what happens at given times: node events, changes of accounts, reservations."""
    timed: list[Timed] = []
    if options.node_events:
        events = Path(options.node_events)
        commands = read_account_commands(events, workload)
        changes = account_changes(commands, data.draft, cluster, data.fitted)
        timed = sorted([*changes, *read_node_events(events, cluster, workload)], key=_time)
    if options.reservations:
        timed = sorted([*read_reservations(Path(options.reservations), cluster, workload, until), *timed], key=_time)
    return timed


def _hashes(options: RunOptions) -> dict[str, Any]:
    """SHA-256 of each input file, under the names the manifest has for them."""
    hashes: dict[str, Any] = {}
    if options.workload != FRAME and not options.workload.startswith(GENERATE):
        hashes["workload_sha256"] = _sha256(options.workload)
    if isinstance(options.policy, str) and (found := in_file(options.policy)) is not None:
        hashes["policy_sha256"] = _sha256(found.file)
    if options.streams is not None:
        hashes["streams_sha256"] = _sha256(options.streams)
    if options.conf is not None:
        hashes["conf_sha256"] = _sha256(options.conf)
    if options.accounting:
        hashes["accounting_sha256"] = [_sha256(path) for path in options.accounting]
    if options.power_budget is not None and Path(options.power_budget).is_file():
        hashes["power_budget_sha256"] = _sha256(options.power_budget)
    if options.carbon is not None:
        hashes["carbon_sha256"] = _sha256(options.carbon)
    if options.prices is not None:
        hashes["prices_sha256"] = _sha256(options.prices)
    if options.groups:
        hashes["groups_sha256"] = [_sha256(path) for path in options.groups]
    return hashes


def _is_swf(options: RunOptions) -> bool:
    name = options.workload.lower()
    return options.format == "swf" or (options.format is None and (name.endswith((".swf", ".swf.gz"))))


def _cluster_of_header(
    workload: Workload, options: RunOptions, overrides: list[tuple[str, str]], findings: list[Finding]
) -> ClusterSpec:
    """MaxNodes and MaxProcs of the log's header: equal nodes where they divide, else one CPU a node."""
    procs, nodes = workload.header.max_procs, workload.header.max_nodes
    if procs <= 0 and nodes <= 0:
        raise ConfigError("does not say how large its machine was: give --conf or --nodes", file=options.workload,
                          expected="a header with MaxProcs or MaxNodes")  # fmt: skip
    if options.cpus_per_node is not None:
        each = options.cpus_per_node
        if each < 1:
            raise ConfigError(f"{each} is too few", field="--cpus-per-node", expected="at least 1")
        return make_cluster(-(-max(procs, nodes) // each), each, overrides=overrides, findings=findings)
    if procs <= 0 or nodes <= 0 or procs % nodes:
        return make_cluster(max(procs, nodes), 1, overrides=overrides, findings=findings)
    return make_cluster(nodes, procs // nodes, overrides=overrides, findings=findings)


def _with_partitions(
    cluster: ClusterSpec, workload: Workload, overrides: list[tuple[str, str]], findings: list[Finding]
) -> ClusterSpec:
    """Return a made-up cluster with the partitions that the log names, each over all nodes."""
    column = workload.texts["partition"]
    used = sorted({p for code in column.used() for p in column.values[code].split(",") if p})
    if not used or set(used) <= {p.name for p in cluster.partitions}:
        return cluster
    own = [node for node in cluster.nodes if node.line == 0]  # the others are added by --set, and will be again
    return make_cluster(len(own), own[0].cpus, partitions=used, overrides=overrides, findings=findings)


def _refuse_unmodelled(overrides: Sequence[tuple[str, str]], findings: Sequence[Finding]) -> None:
    """Raise ConfigError for a --set that would change nothing: that is a mistake, not a warning."""
    asked = {key.lower() for key, _ in overrides}
    for finding in findings:
        if finding.severity == "warning" and finding.key.lower() in asked and (finding.file or "").startswith("--set"):
            raise ConfigError(finding.message, field=f"--set {finding.key}")


def _check_predictor(options: RunOptions, policy: Policy, workload: Workload) -> None:
    """Raise ConfigError if the log lacks what the predictor goes by: it would fall back to requested times silently."""
    predictor = policy.predictor
    for column in predictor.needs if predictor is not None and len(workload) else ():
        texts = workload.texts[column]
        if not any(texts.values[code] for code in texts.used()):
            name = policy.options["predictor"]
            raise ConfigError(f"predictor {name} goes by the {column} of a job, and no job has one",
                              file=options.workload, field="--policy", expected="another predictor or log")  # fmt: skip


def _check_times(options: RunOptions, policy: Policy) -> None:
    """Nodes may be COMPLETING where the policy knows what that is."""
    for option, value in (("--epilog-time", options.epilog_time), ("--term-time", options.term_time)):
        if value < 0:
            raise ConfigError(f"{value} is negative", field=option, expected="seconds")
        if value and policy.event_driven:
            raise ConfigError(f"policy {policy.name} knows no COMPLETING nodes", field=option,
                              expected="sched/backfill or sched/builtin")  # fmt: skip


def _check_shares(options: RunOptions, cluster: ClusterSpec, accounting: Accounting | None) -> None:
    """Fair shares can be written only where slurmctld would work them out."""
    if options.shares is None:
        return
    if options.shares < 0:
        raise ConfigError(f"{options.shares} is negative", field="--shares", expected="seconds, 0 for every run")
    multifactor = cluster.option("PriorityType") == "priority/multifactor"
    if accounting is None or not multifactor or cluster.option("AccountingStorageType") == "accounting_storage/none":
        raise ConfigError("there are no fair shares to write", field="--shares", expected="--accounting, "
                          "priority/multifactor and accounting_storage/slurmdbd")  # fmt: skip


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open_input(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
