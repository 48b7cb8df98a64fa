"""Nodes, partitions and reservations as ``scontrol show`` lays them out (22.05, 24.11, 26.05)."""

from __future__ import annotations

from slurmsim.commands.scontrol.session import Session, null
from slurmsim.commands.text.clock_text import Dates, long_clock
from slurmsim.commands.text.node_state_text import complete
from slurmsim.release_changes import since
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Row = dict[str, Any]
    Line = Callable[[Row, Session, Dates], "str | None"]


def _yes(value: Any) -> str:
    return "YES" if value else "NO"


def _unlimited(value: Any) -> str:
    return "UNLIMITED" if value is None else str(value)


def _laid_out(lines: Sequence[tuple[str, str, Line]], row: Row, session: Session, dates: Dates) -> str:
    gap = " " if session.one_line else "\n   "
    release = session.release
    shown = [
        text for first, gone, line in lines
        if has(release, first, gone) and (text := line(row, session, dates)) is not None
    ]  # fmt: skip
    return gap.join(shown) + ("\n" if session.one_line else "\n\n")


# -- nodes -----------------------------------------------------------------------------------------------------------


def node_text(row: Row, session: Session, dates: Dates) -> str:
    """One node, with the empty line behind it."""
    return _laid_out(_NODE, row, session, dates)


def _node_head(row: Row, session: Session, dates: Dates) -> str:
    arch = f"Arch={row['arch']} " if row["arch"] else ""
    bind = f"CpuBind={row['cpu_bind']} " if row["cpu_bind"] else ""
    return f"NodeName={row['name']} {arch}{bind}CoresPerSocket={row['cores']} "


def _node_cpus(row: Row, session: Session, dates: Dates) -> str:
    load = "N/A" if row["cpu_load"] is None else f"{row['cpu_load'] / 100:.2f}"
    return f"CPUAlloc={row['alloc_cpus']} CPUEfctv={row['cpus_efctv']} CPUTot={row['cpus']} CPULoad={load}"


def _node_gres(row: Row, session: Session, dates: Dates) -> str:
    gap = " " if session.one_line else "\n   "
    parts = [f"Gres={null(row['gres'])}"]
    if session.details:
        parts.append("GresDrain=N/A")
        if row["gres_used"]:
            parts.append(f"GresUsed={row['gres_used']}")
    return gap.join(parts)


def _node_address(row: Row, session: Session, dates: Dates) -> str:
    port = f"Port={row['port']} " if row["port"] != row["default_port"] else ""
    version = f"Version={row['version']}" if row["version"] else ""
    return f"NodeAddr={row['node_addr']} NodeHostName={row['node_hostname']} {port}{version}"


def _node_memory(row: Row, session: Session, dates: Dates) -> str:
    free = "N/A" if row["free_mem"] is None else row["free_mem"]
    return (
        f"RealMemory={row['real_memory']} AllocMem={row['alloc_memory']} FreeMem={free} "
        f"Sockets={row['sockets']} Boards={row['boards']}"
    )


def _node_spec(row: Row, session: Session, dates: Dates) -> str | None:
    if not row["core_spec_cnt"] and not row["mem_spec_limit"]:
        return None
    cores = f"CoreSpecCount={row['core_spec_cnt']} " if row["core_spec_cnt"] else ""
    cpus = f"CPUSpecList={row['cpu_spec_list']} " if row["cpu_spec_list"] else ""
    memory = f"MemSpecLimit={row['mem_spec_limit']}" if row["mem_spec_limit"] else ""
    return f"{cores}{cpus}{memory}"


def _node_state(row: Row, session: Session, dates: Dates) -> str:
    state = complete(row["state"], row["state_flags"])
    return (
        f"State={state} ThreadsPerCore={row['threads']} TmpDisk={row['tmp_disk']} Weight={row['weight']} "
        f"Owner={row['owner'] or 'N/A'} MCS_label={row['mcs_label'] or 'N/A'}"
    )


def _node_next(row: Row, session: Session, dates: Dates) -> str | None:
    flags = row["state_flags"]
    waits = "REBOOT_REQUESTED" in flags or "REBOOT_ISSUED" in flags
    return f"NextState={row['next_state']}" if row["next_state"] and waits else None


def _node_times(row: Row, session: Session, dates: Dates) -> str:
    boot = dates(row["boot_time"]) if row["boot_time"] else "None"
    start = dates(row["slurmd_start_time"]) if row["slurmd_start_time"] else "None"
    return f"BootTime={boot} SlurmdStartTime={start}"


def _node_busy(row: Row, session: Session, dates: Dates) -> str:
    text = f"LastBusyTime={dates(row['last_busy'])}"
    if since(session.release, "resume_after"):
        text += f" ResumeAfterTime={dates(row['resume_after']) if row['resume_after'] else 'None'}"
    if since(session.release, "suspend_time_of_nodes"):
        text += f" SuspendTime={'INFINITE' if row['suspend_time'] is None else row['suspend_time']}"
    return text


def _node_reason(row: Row, session: Session, dates: Dates) -> str | None:
    if not row["reason"]:
        return None
    first, *others = [line for line in row["reason"].split("\n") if line]
    gap = " " if session.one_line else "\n   "
    when = f" [{row['reason_user']}@{dates(row['reason_time'])}]" if row["reason_time"] else ""
    return gap.join([f"Reason={first}{when}", *[f"       {line}" for line in others]])


def _node_texts(row: Row, session: Session, dates: Dates) -> str | None:
    from slurmsim.records.node import NODE  # other records need none of it

    shown = [(field.line.label, row[field.name]) for field in NODE if field.line and has(session.release, field.since)]
    gap = " " if session.one_line else "\n   "
    return gap.join(f"{label}={value}" for label, value in sorted(shown) if value) or None


def _node_instance(row: Row, session: Session, dates: Dates) -> str | None:
    number = f"InstanceId={row['instance_id']} " if row["instance_id"] else ""
    kind = f"InstanceType={row['instance_type']}" if row["instance_type"] else ""
    return number + kind or None


_NODE: tuple[tuple[str, str, Line], ...] = (
    ("", "", _node_head), ("", "", _node_cpus),
    ("", "", lambda row, s, d: f"AvailableFeatures={null(row['features'])}"),
    ("", "", lambda row, s, d: f"ActiveFeatures={null(row['features_act'])}"), ("", "", _node_gres),
    ("", "", _node_address), ("", "", lambda row, s, d: f"OS={row['os']} " if row["os"] else None),
    ("", "", _node_memory), ("", "", _node_spec), ("", "", _node_state), ("", "", _node_next),
    ("", "", lambda row, s, d: f"Partitions={row['partitions']} " if row["partitions"] else None),
    ("", "", _node_times), ("", "", _node_busy), ("", "", lambda row, s, d: f"CfgTRES={row['tres_fmt_str']}"),
    ("", "", lambda row, s, d: f"AllocTRES={row['alloc_tres_fmt_str'] or ''}"),
    ("", "24.05", lambda row, s, d: f"CapWatts={row['cap_watts'] or 'n/a'}"),
    ("", "", lambda row, s, d: f"CurrentWatts={row['current_watts'] or 0} AveWatts=0"),
    ("", "24.05", lambda row, s, d: "ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s"),
    ("24.11", "26.05", lambda row, s, d: ""), ("", "", _node_reason), ("", "", _node_texts),
    ("23.11", "", _node_instance),
)  # fmt: skip

# -- partitions ------------------------------------------------------------------------------------------------------


def partition_text(row: Row, session: Session) -> str:
    """One partition, with the empty line behind it."""
    return _laid_out(_PARTITION, row, session, Dates({}, 0))


def _lists(row: Row, session: Session, dates: Dates) -> str:
    def chosen(what: str, allow: str, deny: str) -> str:
        if row[allow] or not row[deny]:
            return f"Allow{what}={row[allow] or 'ALL'}"
        return f"Deny{what}={row[deny]}"

    accounts = chosen("Accounts", "allow_accounts", "deny_accounts")
    return f"AllowGroups={row['allow_groups'] or 'ALL'} {accounts} {chosen('Qos', 'allow_qos', 'deny_qos')}"


def _access(row: Row, session: Session, dates: Dates) -> str:
    other = f" Alternate={row['alternate']}" if row["alternate"] else ""
    word = (row["cpu_bind"] or "").removesuffix("s")
    bind = f" CpuBind={word if word == 'none' else f'{word}s'} " if word and word != "off" else ""
    nodes = row["allow_alloc_nodes"] or "ALL"
    return f"AllocNodes={nodes}{other} Default={_yes(row['default'])}{bind} QoS={row['qos'] or 'N/A'}"


def _partition_times(row: Row, session: Session, dates: Dates) -> str:
    default = row["default_time"]
    shown = "UNLIMITED" if default is None else "NONE" if default == -1 else long_clock(default * 60)
    if since(session.release, "exclusive_of_partitions"):
        whole = row["over_subscribe"] == "EXCLUSIVE"
        own = "TOPO" if row["exclusive_topo"] else "NODE" if whole else "USER" if row["exclusive_user"] else "NO"
        own = f"Exclusive={own}"
    else:
        own = f"ExclusiveUser={_yes(row['exclusive_user'])}"
        if since(session.release, "exclusive_topology"):
            own += f" ExclusiveTopo={_yes(row['exclusive_topo'])}"
    return (
        f"DefaultTime={shown} DisableRootJobs={_yes(row['disable_root_jobs'])} {own} "
        f"GraceTime={row['grace_time']} Hidden={_yes(row['hidden'])}"
    )


def _partition_limits(row: Row, session: Session, dates: Dates) -> str:
    most = "UNLIMITED" if row["max_time"] is None else long_clock(row["max_time"] * 60)
    text = (
        f"MaxNodes={_unlimited(row['max_nodes'])} MaxTime={most} MinNodes={row['min_nodes']} LLN={_yes(row['lln'])} "
        f"MaxCPUsPerNode={_unlimited(row['max_cpus_per_node'])}"
    )
    if not since(session.release, "cpus_per_socket_limit"):
        return text
    return f"{text} MaxCPUsPerSocket={_unlimited(row['max_cpus_per_socket'])}"


def _partition_priority(row: Row, session: Session, dates: Dates) -> str:
    word = row["over_subscribe"]
    if word in ("YES", "FORCE"):
        word = f"{word}:{row['max_share']}" if word == "FORCE" or row["max_share"] > 1 else "NO"
    if word == "EXCLUSIVE" and since(session.release, "exclusive_of_partitions"):
        word = "NO"
    return (
        f"PriorityJobFactor={row['priority_job_factor']} PriorityTier={row['priority_tier']} "
        f"RootOnly={_yes(row['root_only'])} ReqResv={_yes(row['req_resv'])} OverSubscribe={word}"
    )


def _partition_state(row: Row, session: Session, dates: Dates) -> str:
    kind = (row["select_parameters"] or "NONE").upper()
    return (
        f"State={row['state_up']} TotalCPUs={row['total_cpus']} TotalNodes={row['total_nodes']} "
        f"SelectTypeParameters={kind}"
    )


def _over_time(row: Row, session: Session, dates: Dates) -> str:
    over = row["over_time_limit"]
    return f"OverTimeLimit={'NONE' if over is None else over} PreemptMode={row['preempt_mode']}"


def _partition_memory(row: Row, session: Session, dates: Dates) -> str:
    def one(word: str) -> str:
        per_cpu, per_node = row[f"{word}_mem_per_cpu"], row[f"{word}_mem_per_node"]
        name = word.capitalize()
        if per_cpu is not None:
            return f"{name}MemPerCPU={per_cpu or 'UNLIMITED'}"
        return f"{name}MemPerNode={per_node or 'UNLIMITED'}"

    return f"{one('def')} {one('max')}"


def _power_times(row: Row, session: Session, dates: Dates) -> str | None:
    values = [row["resume_timeout"], row["suspend_timeout"], row["suspend_time"]]
    later = since(session.release, "power_saving_of_partitions")
    if not (row["power_save"] if later else any(value is not None for value in values)):
        return None
    words = ["GLOBAL" if value is None else "INFINITE" if value < 0 else str(value) for value in values]
    text = f"ResumeTimeout={words[0]} SuspendTimeout={words[1]} SuspendTime={words[2]}"
    return f"{text} PowerDownOnIdle={_yes(row['power_down_on_idle'])}" if later else text


_PARTITION: tuple[tuple[str, str, Line], ...] = (
    ("", "", lambda row, s, d: f"PartitionName={row['name']}"), ("", "", _lists), ("", "", _access),
    ("", "", _partition_times), ("", "", _partition_limits),
    ("", "", lambda row, s, d: f"NodeSets={row['node_sets']}" if row["node_sets"] else None),
    ("", "", lambda row, s, d: f"Nodes={null(row['nodes'])}"),
    ("", "", _partition_priority), ("", "", _over_time),
    ("", "", lambda row, s, d: f"Topology={row['topology']}" if row["topology"] else None), ("", "", _partition_state),
    ("", "", lambda row, s, d: f"JobDefaults={null(row['job_defaults'])}"), ("", "", _partition_memory),
    ("", "", lambda row, s, d: f"TRES={row['tres_fmt_str']}"),
    ("", "", lambda row, s, d: f"TRESBillingWeights={row['billing_weights']}" if row["billing_weights"] else None),
    ("", "", _power_times),
)  # fmt: skip

# -- reservations ----------------------------------------------------------------------------------------------------


def reservation_text(row: Row, session: Session, dates: Dates) -> str:
    """One reservation, with the empty line behind it."""
    return _laid_out(_RESERVATION, row, session, dates)


def _reservation_head(row: Row, session: Session, dates: Dates) -> str:
    start, end = row["start_time"], row["end_time"]
    duration = long_clock(end - start) if end >= start else "N/A"
    return f"ReservationName={row['name']} StartTime={dates(start)} EndTime={dates(end)} Duration={duration}"


def _reservation_nodes(row: Row, session: Session, dates: Dates) -> str:
    gap = " " if session.one_line else "\n   "
    first = (
        f"Nodes={null(row['node_list'])} NodeCnt={row['node_cnt']} CoreCnt={row['core_cnt']} "
        f"Features={null(row['features'])} PartitionName={null(row['partition'])} Flags={row['flag_text']}"
    )
    return gap.join([first, *[f"  NodeName={node} CoreIDs={cores}" for node, cores in row["core_spec"]]])


def _reservation_users(row: Row, session: Session, dates: Dates) -> str:
    active = row["start_time"] <= session.now <= row["end_time"]
    text = (
        f"Users={null(row['users'])} Groups={null(row['groups'])} Accounts={null(row['accounts'])} "
        f"Licenses={null(row['licenses'])} State={'ACTIVE' if active else 'INACTIVE'} BurstBuffer=(null)"
    )
    return text if since(session.release, "no_watts_of_reservations") else f"{text} Watts=n/a"


_RESERVATION: tuple[tuple[str, str, Line], ...] = (
    ("", "", _reservation_head), ("", "", _reservation_nodes),
    ("", "", lambda row, s, d: f"TRES={null(row['tres_str'])}"),
    ("25.11", "", lambda row, s, d: f"AllowedPartitions={null(row['allowed_parts'])} QOS={null(row['qos'])}"),
    ("", "", _reservation_users),
    ("", "", lambda row, s, d: (
        f"MaxStartDelay={long_clock(row['max_start_delay']) if row['max_start_delay'] else '(null)'}"
    )),
    ("23.02", "", lambda row, s, d: f"Comment={row['comment']}" if row["comment"] else None),
)  # fmt: skip
