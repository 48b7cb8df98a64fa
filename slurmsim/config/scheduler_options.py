"""The table of SchedulerParameters sub-options, and how a list of them is read, merged and checked.

Names, defaults and ranges are Slurm's (22.05 to 26.05; sched_params of the slurm.conf manual). As in slurmctld a value
out of range is reported and the default used; a name it does not know slurmctld ignores silently, slurmsim says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from slurmsim.config.findings import Place, Report, Seen
from slurmsim.config.option import Option, Status, split_words
from slurmsim.errors import nearest

_KEY = "SchedulerParameters"
_NO_CLOCK = "a pass takes no time in a simulation, so nothing interrupts it"
_HETJOB = "components of heterogeneous jobs"
_STEPS = "job steps are not simulated"
_NEVER = ("bf_interval", "sched_interval")  # -1 switches these off


def _number(name: str, default: int | None, low: int, high: int | None = None, why: str = "") -> Option:
    return Option(name, "count", Status.HONOURED, why, default, low=low, high=high)


def _flag(name: str, why: str = "") -> Option:
    return Option(name, "set", Status.HONOURED, why, False)


def _idle(name: str, kind: str, why: str, since: str = "", gone: str = "") -> Option:
    return Option(name, kind, Status.HARMLESS, why, since=since, gone=gone)


def _absent(name: str, kind: str, why: str, since: str = "", gone: str = "", master: str = "") -> Option:
    return Option(name, kind, Status.NOT_MODELLED, why, since=since, gone=gone, master=master)


_ROWS: tuple[Option, ...] = (
    # main scheduler
    _number("batch_sched_delay", 3, 0, why="seconds"),
    _number("default_queue_depth", 100, 0, why="jobs"),
    _flag("defer"),
    _number("partition_job_depth", 0, 0, why="jobs; 0 no limit"),
    Option("requeue_delay", "count", Status.HONOURED, "seconds that requeued jobs wait; 120 unless set", None, low=0,
           since="25.11"),
    _number("sched_interval", 60, 1, why="seconds; -1 never"),
    _number("sched_max_job_start", 0, 0, why="jobs; 0 no limit"),
    _number("sched_min_interval", 2, 0, why="microseconds; whole seconds of it count"),
    _flag("pack_serial_at_end"),
    _flag("spec_cores_first"),
    _flag("enable_user_top", "live clusters: users may use scontrol top"),
    _number("max_switch_wait", 300, 0, why="seconds --switches may wait"),
    _number("solver_latency", 0, 0, 86_400, "seconds a policy's solver takes in simulations; no option of Slurm's"),
    _number("checkpoint_interval", 0, 0, 31_536_000, "seconds of work between checkpoints of simulated jobs; 0 none; "
            "no option of Slurm's"),
    _number("checkpoint_write", 0, 0, 86_400, "seconds a checkpoint takes; no option of Slurm's"),
    _number("checkpoint_restart", 0, 0, 86_400, "seconds a job takes to go on from one; no option of Slurm's"),
    # backfill
    _flag("bf_busy_nodes"),
    _number("bf_interval", 30, 1, 10_800, "seconds; -1 never"),
    _number("bf_job_part_count_reserve", 0, 0, 100_000, "jobs; 0 no limit"),
    _flag("bf_licenses", "implies bf_running_job_reserve"),
    _number("bf_max_job_array_resv", 20, 0, 1_000, "tasks"),
    _number("bf_max_job_part", 0, 0, 1_000_000, "jobs; 0 no limit"),
    _number("bf_max_job_start", 0, 0, 10_000, "jobs; 0 no limit"),
    _number("bf_max_job_test", 500, 1, 1_000_000, "jobs"),
    _number("bf_max_job_user", 0, 0, 1_000_000, "jobs; 0 no limit"),
    _number("bf_max_job_user_part", 0, 0, 1_000_000, "jobs; 0 no limit"),
    _number("bf_max_job_assoc", 0, 0, 1_000_000, "jobs; 0 no limit; overrides bf_max_job_user"),
    _number("bf_min_age_reserve", 0, 0, 2_592_000, "seconds"),
    _number("bf_min_prio_reserve", 0, 0, 2**32 - 1, "priority"),
    _number("bf_node_space_size", None, 2, 2_000_000, "entries; as bf_max_job_test when unset"),
    _flag("bf_one_resv_per_job"),
    _number("bf_resolution", 60, 1, 3_600, "seconds"),
    _flag("bf_running_job_reserve", "no effect under `select/linear`"),
    _number("bf_window", 1_440, 1, 43_200, "minutes"),
    _number("bf_window_linear", 0, 0, None, "seconds; 0 the window doubles; no effect under `select/linear`"),
    _idle("bf_continue", "set", _NO_CLOCK),
    _idle("bf_ignore_newly_avail_nodes", "set", _NO_CLOCK),
    _idle("bf_max_time", "count", _NO_CLOCK),
    _idle("bf_yield_interval", "count", _NO_CLOCK),
    _idle("bf_yield_sleep", "count", _NO_CLOCK),
    _idle("bf_yield_rpc_cnt", "count", _NO_CLOCK, since="25.05"),
    _flag("bf_hetjob_immediate"),
    _absent("bf_hetjob_prio", "text", f"{_HETJOB} keep priorities of their own", master="heterogeneous jobs"),
    _absent("bf_allow_magnetic_slot", "set", "a magnetic reservation is used only once it has begun", since="24.11"),
    _absent("bf_topopt_enable", "set", "backfill plans a job on the first nodes it finds", since="24.11"),
    _absent("bf_topopt_iterations", "count", "as without bf_topopt_enable", since="24.11", master="bf_topopt_enable"),
    # preemption; since 23.02 in PreemptParameters
    Option("preempt_reorder_count", "count", Status.HONOURED, "times", 1, low=0, gone="23.02",
           instead="PreemptParameters=reorder_count"),
    Option("preempt_strict_order", "set", Status.HONOURED, "", False, gone="23.02",
           instead="PreemptParameters=strict_order"),
    Option("preempt_youngest_first", "set", Status.HONOURED, "", False, gone="23.02",
           instead="PreemptParameters=youngest_first"),
    _idle("preempt_send_user_signal", "set", "simulated jobs take no signals", gone="23.02"),
    # would matter, not modelled
    _flag("assoc_limit_stop"),
    _absent("reduce_completing_frag", "set", "CompleteWait stops all partitions"),
    _absent("defer_batch", "set", "batch jobs are never tried at submission anyway, but the pass at a job's end is not "
            "put off", since="23.02"),
    _absent("time_min_as_soft_limit", "set", "--time-min is used as in 22.05", since="23.11"),
    _absent("max_array_tasks", "count", "arrays are limited by MaxArraySize alone"),
    _absent("delay_boot", "text", "a job takes nodes that are off at once where those that are up do not suffice"),
    _absent("no_backup_scheduling", "set", "there is one controller", master="a backup controller"),
    _absent("extra_constraints", "set", "--extra is not modelled", since="23.11", master="--extra"),
    # no effect on a schedule
    _idle("allow_zero_lic", "set", "a request for no license is met"),
    _idle("bb_array_stage_cnt", "count", "burst buffers are not modelled"),
    _idle("build_queue_timeout", "count", _NO_CLOCK),
    _idle("correspond_after_task_cnt", "count", "array tasks are kept apart"),
    _idle("disable_hetjob_steps", "set", _STEPS),
    _idle("disable_job_shrink", "set", "logs do not say who asked for fewer nodes"),
    _idle("enable_hetjob_steps", "set", _STEPS),
    _idle("ignore_constraint_validation", "set", "about the submission of constraints", since="24.11"),
    _idle("Ignore_NUMA", "set", "nodes have what slurm.conf says"),
    _absent("ignore_prefer_validation", "set", "what a job prefers is always validated", master="--prefer"),
    _idle("max_depend_depth", "count", "dependencies are searched to any depth"),
    _idle("max_rpc_cnt", "count", _NO_CLOCK),
    _idle("max_sched_time", "count", _NO_CLOCK),
    _idle("max_script_size", "text", "scripts are not run"),
    _idle("max_submit_line_size", "text", "scripts are not run", since="23.11"),
    _idle("no_env_cache", "set", "scripts are not run"),
    _idle("nohold_on_prolog_fail", "set", "prologs do not fail"),
    _idle("permit_job_expansion", "set", "logs do not say who asked for more nodes"),
    _absent("requeue_on_resume_failure", "set", "a --no-requeue job ends NODE_FAIL if its nodes do not come up",
            since="25.05"),
    _idle("requeue_setup_env_fail", "set", "scripts are not run"),
    _idle("salloc_wait_nodes", "set", "launching a job takes no time"),
    _idle("sbatch_wait_nodes", "set", "launching a job takes no time"),
    _idle("step_retry_count", "count", _STEPS),
    _idle("step_retry_time", "count", _STEPS),
    _idle("whole_hetjob", "set", f"{_HETJOB} are held, released and cancelled one by one where one is named"),
)  # fmt: skip

SUB_OPTIONS: Mapping[str, Option] = {row.name.lower(): row for row in _ROWS}
"""Every SchedulerParameters sub-option by lower-cased name."""


def split_parameters(text: str) -> dict[str, str]:
    """Sub-options in the order given: name as written to value, "" for flags; the last of a name wins."""
    found: dict[str, tuple[str, str]] = {}
    for word in split_words(text):
        name, _, value = (part.strip() for part in word.partition("="))
        found[name.lower()] = (name, value)
    return dict(found.values())


def merge_parameters(given: str, override: str) -> str:
    """Return `given` with the sub-options of `override` replacing those of the same name; ``-name`` takes one away.

    Examples
    --------
    >>> merge_parameters("bf_continue,bf_interval=30", "bf_interval=60,-bf_continue,defer")
    'bf_interval=60,defer'
    """
    merged = {name.lower(): (name, value) for name, value in split_parameters(given).items()}
    for name, value in split_parameters(override).items():
        if name.startswith("-"):
            merged.pop(name[1:].lower(), None)
        else:
            merged[name.lower()] = (name, value)
    return ",".join(f"{name}={value}" if value else name for name, value in merged.values())


_ELSEWHERE = dict.fromkeys(
    ("kill_invalid_depend", "disable_remote_singleton", "max_depend_depth"), "DependencyParameters"
)
"""Words of old files that are an option of another key now."""


def _moved(name: str) -> str:
    """Return the key under which a word stands now that stood here in old releases, "" for others."""
    key = _ELSEWHERE.get(name.lower())
    return f"; it belongs to {key} now" if key else ""


def read_parameters(text: str, place: Place, report: Report) -> dict[str, str]:
    """Return checked sub-options by lower-cased name, as `ClusterSpec.scheduler_parameters` holds them.

    Values are decimal numbers in range or words; flags map to "". What is bad is left out, so its default holds.
    """
    parameters: dict[str, str] = {}
    for name, value in split_parameters(text).items():
        shown = f"{name}={value}" if value else name
        option = SUB_OPTIONS.get(name.lower())
        if option is None:
            hint = _moved(name) or nearest(name, (row.name for row in SUB_OPTIONS.values()))
            report.warning(place, _KEY, shown, f"slurmctld ignores this unknown sub-option silently{hint}")
            continue
        report.seen.append(Seen(place, _KEY, option.name, value, option))
        checked = _checked(option, value, shown, place, report)
        if checked is None:
            continue
        parameters[option.name.lower()] = checked
        if option.status is Status.NOT_MODELLED and not option.master:
            report.warning(place, _KEY, shown, f"not modelled: {option.why}")
    return parameters


def _checked(option: Option, value: str, shown: str, place: Place, report: Report) -> str | None:
    """Return the value as the spec keeps it; None when the default is used instead."""
    if option.kind == "set":
        if value and value.lower() not in ("yes", "true", "1"):
            report.warning(place, _KEY, shown, "a flag takes no value; Slurm counts it as set")
        return ""
    if option.kind == "text":
        return value
    match = re.match(r"[-+]?\d{1,18}", value)
    instead = f"its default {option.default} is used" if option.default is not None else "its default is used"
    if match is None:
        report.warning(place, _KEY, shown, f"{value!r} is not a number; {instead}")
        return None
    number = int(match[0])
    if match[0] != value:
        report.warning(place, _KEY, shown, f"read as {number}, as Slurm does")
    low, high = option.low, option.high
    never = option.name in _NEVER
    if never and number == -1:
        return str(number)
    if (low is not None and number < low) or (high is not None and number > high):
        limits = f"{low} to {high}" if high is not None else f"at least {low}"
        report.warning(place, _KEY, shown, f"out of range ({'-1 or ' if never else ''}{limits}); {instead}")
        return None
    return str(number)
