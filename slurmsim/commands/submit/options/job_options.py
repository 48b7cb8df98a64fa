"""Every option of sbatch, srun and salloc: one table, one row an option.

A row says what the option is called, how it takes its argument, which commands know it in which releases, how its
value is read and which field of the request it sets. `VARIABLES` (in `job_variables`) names the environment variables
that stand for options. Order is that of Slurm's table: ambiguous abbreviations are listed in it.

Mirrors the option table the three commands share in Slurm 22.05, 24.11 and 26.05.
"""

from __future__ import annotations

from slurmsim.commands.submit.options import layout_values as layout
from slurmsim.commands.text import values
from slurmsim.commands.text import values as v
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, LongOption
from slurmsim.commands.text.values import BadValue, Context, leading_number
from slurmsim.gres_counts import kind_of
from slurmsim.numerals import is_number
from slurmsim.records import merged
from slurmsim.records.job import CARRIED
from slurmsim.release_changes import since
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.records import Field
    from slurmsim.records import Option as Carried


SUPPORTED = "supported"  # the option does here what it does in Slurm, as far as the request goes
ACCEPTED = "accepted"
"""Checked and kept, without effect: as on a cluster without the plugins or hardware that would use it."""
REFUSED = "refused"  # Slurm knows it, we do not model it: refused by name, like an option that does not exist

ALL = ("sbatch", "srun", "salloc")
BATCH, RUN, ALLOC = ("sbatch",), ("srun",), ("salloc",)
BATCH_RUN, BATCH_ALLOC, RUN_ALLOC = ("sbatch", "srun"), ("sbatch", "salloc"), ("srun", "salloc")

if TYPE_CHECKING:
    Reader = Callable[[Any, str, Context], Any]


class Option:
    """One row.

    `read` turns the text into the value of `field`; a dict sets several fields at once. `hidden` options exist as
    environment variables or in translated scripts only, `part` ones are forgotten between the parts of a
    heterogeneous job, `early` ones count on sbatch's command line only. `since` and `until` bound the releases (empty:
    all we know; `until` is the first without it).
    """

    __slots__ = (
        "argument", "commands", "early", "field", "hidden", "name", "part", "read", "short", "since", "status", "until",
    )  # fmt: skip

    def __init__(
        self, name: str, short: str | None, argument: str, commands: tuple[str, ...], read: Reader, field: str,
        status: str, *, hidden: bool = False, part: bool = False, early: bool = False, since: str = "", until: str = "",
    ) -> None:  # fmt: skip
        self.name, self.short, self.argument, self.commands = name, short, argument, commands
        self.read, self.field, self.status = read, field, status
        self.hidden, self.part, self.early, self.since, self.until = hidden, part, early, since, until

    @property
    def key(self) -> str:
        """What stands for the option: its letter, or what it sets."""
        return self.short or f"--{_SAME.get(self.name, self.name)}"


_SAME = {"tasks-per-node": "ntasks-per-node", "cpu_bind": "cpu-bind", "pack-group": "het-group"}
"""Second names: an abbreviation of both names is not ambiguous."""


def _gres_flags(text: str, option: str, context: Context) -> str:
    words = [word.lower() for word in text.split(",") if word]
    for word in words:
        if word not in _GRES_WORDS:
            raise BadValue(f"Invalid --gres-flags specification: {word}")
        if word == "allow-task-sharing" and context.command != "srun":
            raise BadValue("--gres-flags=allow-task-sharing is only used with srun.")
    for one, other in (_GRES_WORDS[1:3], (_GRES_WORDS[4], _GRES_WORDS[3])):
        if one in words and other in words:
            raise BadValue(f"Invalid --gres-flags combo: {one} and {other} are mutually exclusive.")
    return ",".join(words)


_GRES_WORDS = (
    "allow-task-sharing",
    "disable-binding",
    "enforce-binding",
    "multiple-tasks-per-sharing",
    "one-task-per-sharing",
)


def _requeue(text: str | None, option: str, context: Context) -> Any:
    if text is None or not since(context.release, "expedited_requeue"):
        return 1
    if text.lower() != "expedite":
        raise values.invalid(option)
    return {"requeue": 1, "expedited_requeue": True}


def _segment(text: str, option: str, context: Context) -> int:
    if not is_number(text) or int(text) > 0xFFFF:
        raise values.invalid(option)
    return int(text)


def _mem_update(text: str, option: str, context: Context) -> dict[str, int]:
    """Return ``MARGIN@DELAY``: percent above what a job uses, and minutes after which its memory is cut to that."""
    margin_text, at, delay_text = text.partition("@")
    if not at:
        raise BadValue(f"{option} requires MARGIN@DELAY format")
    margin, rest = leading_number(margin_text)
    delay = values.minutes_of(delay_text)
    if rest or delay is None or not (0 < margin <= 0xFFFF and 0 < delay <= 0xFFFF):
        raise values.invalid(option)
    return {"mem_update_margin": margin, "mem_update_delay": delay}


def _oom_kill(text: str | None, option: str, context: Context) -> int:
    if text not in (None, "0", "1"):
        raise values.invalid(option)
    return 1 if text is None else int(text)


def _tres_per_task(text: str, option: str, context: Context) -> dict[str, Any]:
    """Return ``cpu=2,gres/gpu:a100=1`` as it is kept, and the options it stands for."""
    items = [_slashed(item) for item in text.split(",") if item]
    found: dict[str, Any] = {"tres_per_task": ",".join(items)}
    gpus = []
    for item in items:
        kind = kind_of(item)
        if kind == "cpu":
            found["cpus_per_task"] = leading_number(item[len("cpu:") :])[0]
        elif kind == "gres" and item.startswith("gres/gpu") and item[len("gres/gpu") :][:1] in ("", ":", "="):
            *name, count = item[len("gres/gpu") :].replace("=", ":").strip(":").rpartition(":")
            gpus.append(":".join(filter(None, (*name[:1], count or "1"))))
            if not is_number(count or "1"):
                gpus[-1] = f"{count}:1"
    if gpus:
        found["gpus_per_task"] = ",".join(gpus)
    return found


def _slashed(item: str) -> str:
    """``gres:gpu`` and ``license:mat`` have a slash as names of TRES."""
    kind = kind_of(item)
    return f"{kind}/{item[len(kind) + 1 :]}" if item.lower().startswith(("gres:", "license:")) else item


def _kill_command(text: str | None, option: str, context: Context) -> int:
    number = values.SIGNALS["TERM"] if text is None else values.signal_number(text)
    if not number:
        raise values.invalid(option)
    return number


def _wait_all(text: str, option: str, context: Context) -> int:
    value = values.natural(text, option, context)
    if value & 0xFFFF > 1:
        raise values.invalid(option)
    return value & 0xFFFF


_SHARED = values.choice(default="exclusive", exclusive="exclusive", oversubscribe="ok", user="user", mcs="mcs")
_SHARED_24 = values.choice(
    default="exclusive", exclusive="exclusive", oversubscribe="ok", user="user", mcs="mcs", topo="topo"
)
_SHARED_26 = values.choice(
    default="exclusive",
    exclusive="exclusive",
    allocation="exclusive",
    oversubscribe="ok",
    user="user",
    mcs="mcs",
    topo="topo",
)
_GRES_FLAGS = values.choice(**{"disable-binding": "disable-binding", "enforce-binding": "enforce-binding"})
_KILL_INVALID = values.choice(yes=True, no=False)
_NO_KILL = values.choice(default=True, set=True, off=False, no=False)

_CARRIED = {"text": (REQUIRED, v.string), "count": (REQUIRED, v.natural), "flag": (NO, v.switch)}
"""Kind -> how an option takes its argument, and what reads it."""


def _carried(row: Field, option: Carried) -> Option:
    """Return the option of a field that a job only carries."""
    argument, read = _CARRIED[row.kind]
    return Option(option.name, None, argument, ALL, read, row.name, option.status, part=option.part,
                  since=option.since or row.since, until=row.until)  # fmt: skip


# fmt: off
_OPTIONS: tuple[Option, ...] = (
    Option("accel-bind", None, REQUIRED, RUN, v.string, "accel_bind", ACCEPTED, part=True),
    Option("account", "A", REQUIRED, ALL, v.string, "account", SUPPORTED),
    Option("acctg-freq", None, REQUIRED, ALL, layout.sampling, "acctg_freq", ACCEPTED),
    Option("alloc-nodelist", None, REQUIRED, ALL, v.string, "alloc_nodelist", SUPPORTED, hidden=True, part=True),
    Option("array", "a", REQUIRED, BATCH, v.string, "array_inx", SUPPORTED),
    Option("async", None, NO, RUN, v.switch, "async", SUPPORTED, since="26.05"),
    Option("autocomplete", None, REQUIRED, ALL, v.string, "autocomplete", REFUSED, since="23.02"),
    Option("batch", None, REQUIRED, BATCH, v.string, "batch_features", REFUSED),
    Option("bcast", None, OPTIONAL, RUN, v.string, "bcast", REFUSED, part=True),
    Option("bcast-exclude", None, REQUIRED, RUN, v.string, "bcast_exclude", REFUSED, part=True),
    Option("begin", "b", REQUIRED, ALL, v.moment, "begin_time", SUPPORTED),
    Option("bell", None, NO, ALLOC, v.switch, "bell", ACCEPTED),
    Option("bbf", None, REQUIRED, ALL, v.string, "burst_buffer_file", REFUSED),
    Option("chdir", "D", REQUIRED, ALL, v.directory, "work_dir", SUPPORTED),
    Option("cluster", None, REQUIRED, ALL, v.string, "clusters", SUPPORTED),
    Option("clusters", "M", REQUIRED, ALL, v.string, "clusters", SUPPORTED),
    Option("compress", None, OPTIONAL, RUN, v.string, "compress", REFUSED, part=True),
    Option("consolidate-segments", None, NO, ALL, v.switch, "consolidate_segments", SUPPORTED, part=True,
           since="25.11"),
    Option("container-id", None, REQUIRED, ALL, v.string, "container_id", REFUSED, since="23.02"),
    Option("container-type", None, REQUIRED, ALL, v.string, "container_type", REFUSED, since="26.05"),
    Option("context", None, REQUIRED, ALL, v.string, "req_context", REFUSED),
    Option("contiguous", None, NO, ALL, v.switch, "contiguous", SUPPORTED, part=True),
    Option("constraint", "C", REQUIRED, ALL, v.string, "features", SUPPORTED, part=True),
    Option("core-spec", "S", REQUIRED, ALL, v.natural, "core_spec", SUPPORTED, part=True),
    Option("cores-per-socket", None, REQUIRED, ALL, v.positive, "cores_per_socket", SUPPORTED, part=True),
    Option("cpu-bind", None, REQUIRED, RUN, v.string, "cpu_bind", ACCEPTED, part=True),
    Option("cpu_bind", None, REQUIRED, RUN, v.string, "cpu_bind", ACCEPTED, part=True),
    Option("cpu-freq", None, REQUIRED, ALL, layout.frequency, "cpu_freq", ACCEPTED, part=True),
    Option("cpus-per-gpu", None, REQUIRED, ALL, v.positive, "cpus_per_gpu", SUPPORTED, part=True),
    Option("cpus-per-task", "c", REQUIRED, ALL, v.positive, "cpus_per_task", SUPPORTED, part=True),
    Option("deadline", None, REQUIRED, ALL, v.moment, "deadline", SUPPORTED),
    Option("debugger-test", None, NO, RUN, v.switch, "debugger_test", SUPPORTED),
    Option("delay-boot", None, REQUIRED, ALL, v.delay, "delay_boot", SUPPORTED),
    Option("dependency", "d", REQUIRED, ALL, v.string, "dependency", SUPPORTED),
    Option("disable-status", "X", NO, RUN, v.switch, "disable_status", ACCEPTED),
    Option("distribution", "m", REQUIRED, ALL, layout.distribution, "distribution", ACCEPTED, part=True),
    Option("epilog", None, REQUIRED, RUN, v.string, "epilog", REFUSED),
    Option("error", "e", REQUIRED, BATCH_RUN, v.output_file, "std_err", SUPPORTED),
    Option("exact", None, NO, RUN, v.switch, "exact", SUPPORTED),
    Option("exclude", "x", REQUIRED, ALL, v.string, "exc_nodes", SUPPORTED),
    Option("exclusive", None, OPTIONAL, ALL, _SHARED, "shared", SUPPORTED, part=True, until="24.05"),
    Option("exclusive", None, OPTIONAL, ALL, _SHARED_24, "shared", SUPPORTED, part=True, since="24.05", until="26.05"),
    Option("exclusive", None, OPTIONAL, ALL, _SHARED_26, "shared", SUPPORTED, part=True, since="26.05"),
    Option("export", None, REQUIRED, BATCH_RUN, v.string, "export_env", SUPPORTED),
    Option("export-file", None, REQUIRED, BATCH, v.string, "export_file", SUPPORTED, until="23.11"),
    Option("export-file", None, REQUIRED, BATCH, v.string, "export_file", SUPPORTED, since="24.05"),  # it came back
    Option("external", None, NO, BATCH, v.switch, "external", REFUSED, part=True, since="25.05"),
    Option("external-launcher", None, OPTIONAL, RUN, v.string, "external_launcher", REFUSED, since="23.11"),
    Option("extra-node-info", "B", REQUIRED, ALL, layout.geometry, "extra_node_info", SUPPORTED, part=True),
    Option("get-user-env", None, OPTIONAL, BATCH_ALLOC, v.user_env, "get_user_env", ACCEPTED, until="24.11"),
    Option("get-user-env", None, OPTIONAL, BATCH, v.user_env, "get_user_env", ACCEPTED, since="24.11", until="25.05"),
    Option("get-user-env", None, NO, BATCH, v.user_env, "get_user_env", ACCEPTED, since="25.05"),
    Option("gid", None, REQUIRED, ALL, v.privileged, "group_id", SUPPORTED, until="23.02"),
    Option("gid", None, REQUIRED, BATCH, v.privileged, "group_id", SUPPORTED, since="23.02"),
    Option("gpu-bind", None, REQUIRED, ALL, layout.gpu_binding, "gpu_bind", ACCEPTED, part=True),
    Option("gpu-freq", None, REQUIRED, ALL, layout.gpu_frequency, "gpu_freq", ACCEPTED, part=True),
    Option("gpus", "G", REQUIRED, ALL, v.string, "gpus", SUPPORTED, part=True),
    Option("gpus-per-node", None, REQUIRED, ALL, v.string, "gpus_per_node", SUPPORTED, part=True),
    Option("gpus-per-socket", None, REQUIRED, ALL, v.string, "gpus_per_socket", SUPPORTED, part=True),
    Option("gpus-per-task", None, REQUIRED, ALL, v.string, "gpus_per_task", SUPPORTED, part=True),
    Option("gres", None, REQUIRED, ALL, v.gres, "gres", SUPPORTED, part=True),
    Option("gres-flags", None, REQUIRED, ALL, _GRES_FLAGS, "gres_flags", SUPPORTED, part=True, until="23.11"),
    Option("gres-flags", None, REQUIRED, ALL, _gres_flags, "gres_flags", SUPPORTED, part=True, since="23.11"),
    Option("help", "h", NO, ALL, v.switch, "help", SUPPORTED, early=True),
    Option("het-group", None, REQUIRED, RUN, v.string, "het_group", SUPPORTED),
    Option("hint", None, REQUIRED, ALL, v.string, "hint", ACCEPTED, part=True),
    Option("hold", "H", NO, ALL, v.switch, "hold", SUPPORTED),
    Option("ignore-pbs", None, NO, BATCH, v.switch, "ignore_pbs", SUPPORTED),
    Option("ignore-signals", None, REQUIRED, RUN, v.string, "ignore_signals", REFUSED, part=True, since="26.05"),
    Option("immediate", "I", OPTIONAL, RUN_ALLOC, lambda text, option, context: (
        1 if text is None else values.integer(text, "immediate", context, 0)
    ), "immediate", SUPPORTED),
    Option("input", "i", REQUIRED, BATCH_RUN, v.output_file, "std_in", SUPPORTED),
    Option("interactive", None, NO, RUN, v.switch, "interactive", SUPPORTED),
    Option("jobid", None, REQUIRED, RUN, v.job, "job_id", SUPPORTED),
    Option("job-name", "J", REQUIRED, ALL, v.string, "name", SUPPORTED),
    Option("kill-command", "K", OPTIONAL, ALLOC, _kill_command, "kill_command", ACCEPTED),
    Option("kill-on-bad-exit", "K", OPTIONAL, RUN, lambda text, option, context: (
        1 if text is None else values.natural(text, option, context)
    ), "kill_on_bad_exit", SUPPORTED),
    Option("kill-on-invalid-dep", None, REQUIRED, BATCH, _KILL_INVALID, "kill_on_invalid_dep", SUPPORTED),
    Option("label", "l", NO, RUN, v.switch, "label", SUPPORTED),
    Option("licenses", "L", REQUIRED, ALL, v.string, "licenses", SUPPORTED, part=True),
    Option("mail-type", None, REQUIRED, ALL, v.mail_type, "mail_type", ACCEPTED, part=True),
    Option("mail-user", None, REQUIRED, ALL, v.string, "mail_user", ACCEPTED, part=True),
    Option("threads", "T", REQUIRED, RUN, v.positive, "threads", ACCEPTED),
    Option("mem", None, REQUIRED, ALL, v.memory, "mem", SUPPORTED),
    Option("mem-bind", None, REQUIRED, ALL, layout.memory_binding, "mem_bind", ACCEPTED, part=True),
    Option("mem-per-cpu", None, REQUIRED, ALL, v.memory, "mem_per_cpu", SUPPORTED, part=True),
    Option("mem-per-gpu", None, REQUIRED, ALL, v.memory, "mem_per_gpu", SUPPORTED, part=True),
    Option("mem-update", None, REQUIRED, ALL, _mem_update, "mem_update", ACCEPTED, since="26.05"),
    Option("mincpus", None, REQUIRED, ALL, v.positive, "pn_min_cpus", SUPPORTED, part=True),
    Option("mpi", None, REQUIRED, RUN, v.string, "mpi", ACCEPTED),
    Option("msg-timeout", None, REQUIRED, RUN, v.positive, "msg_timeout", ACCEPTED),
    Option("multi-prog", None, NO, RUN, v.switch, "multi_prog", SUPPORTED),
    Option("nice", None, OPTIONAL, ALL, v.nice, "nice", SUPPORTED),
    Option("no-allocate", "Z", NO, RUN, v.switch, "no_allocate", REFUSED),
    Option("no-bell", None, NO, ALLOC, v.switch, "no_bell", ACCEPTED),
    Option("no-kill", "k", OPTIONAL, ALL, _NO_KILL, "no_kill", SUPPORTED),
    Option("no-shell", None, NO, ALLOC, v.switch, "no_shell", SUPPORTED),
    Option("no-requeue", None, NO, BATCH, lambda text, option, context: 0, "requeue", SUPPORTED),
    Option("nodefile", "F", REQUIRED, ALL, v.string, "nodefile", SUPPORTED, part=True),
    Option("nodelist", "w", REQUIRED, ALL, v.string, "req_nodes", SUPPORTED, part=True),
    Option("nodes", "N", REQUIRED, ALL, layout.node_count, "nodes", SUPPORTED, part=True),
    Option("ntasks", "n", REQUIRED, ALL, v.positive, "num_tasks", SUPPORTED, part=True),
    Option("ntasks-per-core", None, REQUIRED, ALL, v.positive, "ntasks_per_core", ACCEPTED, part=True),
    Option("ntasks-per-gpu", None, REQUIRED, ALL, v.positive, "ntasks_per_gpu", SUPPORTED, part=True),
    Option("ntasks-per-node", None, REQUIRED, ALL, v.positive, "ntasks_per_node", SUPPORTED, part=True),
    Option("ntasks-per-socket", None, REQUIRED, ALL, v.positive, "ntasks_per_socket", SUPPORTED, part=True),
    Option("ntasks-per-tres", None, REQUIRED, ALL, v.positive, "ntasks_per_tres", SUPPORTED, part=True),
    Option("oom-kill-step", None, OPTIONAL, ALL, _oom_kill, "oom_kill_step", ACCEPTED, since="24.11"),
    Option("open-mode", None, REQUIRED, BATCH_RUN, v.open_mode, "open_mode", SUPPORTED),
    Option("output", "o", REQUIRED, BATCH_RUN, v.output_file, "std_out", SUPPORTED),
    Option("overcommit", "O", NO, ALL, v.switch, "overcommit", SUPPORTED, part=True),
    Option("overlap", None, OPTIONAL, RUN, v.string, "overlap", SUPPORTED),
    Option("oversubscribe", "s", NO, ALL, lambda text, option, context: "ok", "shared", SUPPORTED, part=True),
    Option("pack-group", None, REQUIRED, RUN, v.string, "het_group", SUPPORTED),
    Option("parsable", None, NO, BATCH, v.switch, "parsable", SUPPORTED, until="26.05"),
    Option("parsable", None, NO, BATCH_RUN, v.switch, "parsable", SUPPORTED, since="26.05"),
    Option("partition", "p", REQUIRED, ALL, v.string, "partition", SUPPORTED, part=True),
    Option("preserve-env", "E", NO, RUN, v.switch, "preserve_env", ACCEPTED),
    Option("priority", None, REQUIRED, ALL, v.priority, "priority", SUPPORTED),
    Option("profile", None, REQUIRED, ALL, layout.profile, "profile", ACCEPTED),
    Option("prolog", None, REQUIRED, RUN, v.string, "prolog", REFUSED),
    Option("propagate", None, OPTIONAL, BATCH_RUN, lambda text, option, context: "ALL" if text is None else text,
           "propagate", ACCEPTED),
    Option("pty", None, NO, RUN, v.switch, "pty", SUPPORTED, until="23.02"),
    Option("pty", None, OPTIONAL, RUN, lambda text, option, context: text or True, "pty", SUPPORTED, since="23.02"),
    Option("qos", "q", REQUIRED, ALL, v.string, "qos", SUPPORTED),
    Option("quiet", "Q", NO, ALL, v.switch, "quiet", SUPPORTED, early=True),
    Option("quit-on-interrupt", None, NO, RUN, v.switch, "quit_on_interrupt", ACCEPTED),
    Option("reboot", None, NO, ALL, v.switch, "reboot", ACCEPTED),
    Option("relative", "r", REQUIRED, RUN, v.natural, "relative", SUPPORTED, part=True),
    Option("requeue", None, NO, BATCH, _requeue, "requeue", SUPPORTED, until="25.11"),
    Option("requeue", None, OPTIONAL, BATCH, _requeue, "requeue", SUPPORTED, since="25.11"),
    Option("resources", None, REQUIRED, ALL, v.string, "resources", SUPPORTED, part=True, since="25.11"),
    Option("reservation", None, REQUIRED, ALL, v.string, "reservation", SUPPORTED),
    Option("resv-ports", None, OPTIONAL, RUN, v.string, "resv_ports", ACCEPTED, part=True, until="24.05"),
    Option("resv-ports", None, OPTIONAL, ALL, v.string, "resv_ports", ACCEPTED, part=True, since="24.05"),
    Option("segment", None, REQUIRED, ALL, _segment, "segment_size", SUPPORTED, part=True, since="24.05"),
    Option("send-libs", None, OPTIONAL, RUN, v.string, "send_libs", REFUSED, part=True),
    Option("signal", None, REQUIRED, ALL, v.warning_signal, "signal", SUPPORTED),
    Option("slurmd-debug", None, REQUIRED, RUN, v.string, "slurmd_debug", ACCEPTED),
    Option("sockets-per-node", None, REQUIRED, ALL, v.positive, "sockets_per_node", SUPPORTED, part=True),
    Option("spread-job", None, NO, ALL, v.switch, "spread_job", SUPPORTED, part=True),
    Option("spread-segments", None, NO, ALL, v.switch, "spread_segments", SUPPORTED, part=True, since="25.11"),
    Option("stepmgr", None, NO, ALL, v.switch, "stepmgr", SUPPORTED, since="24.05"),
    Option("switch-req", None, REQUIRED, ALL,
           lambda text, option, context: values.positive(text, "--switches", context), "req_switch", SUPPORTED,
           hidden=True, part=True),
    Option("switch-wait", None, REQUIRED, ALL, v.wait_for_switches, "wait4switch", SUPPORTED, hidden=True, part=True),
    Option("switches", None, REQUIRED, ALL, v.switches, "switches", SUPPORTED, part=True),
    Option("task-epilog", None, REQUIRED, RUN, v.string, "task_epilog", SUPPORTED),
    Option("task-prolog", None, REQUIRED, RUN, v.string, "task_prolog", SUPPORTED),
    Option("tasks-per-node", None, REQUIRED, ALL, v.positive, "ntasks_per_node", SUPPORTED, part=True),
    Option("test-only", None, NO, BATCH_RUN, v.switch, "test_only", SUPPORTED),
    Option("thread-spec", None, REQUIRED, ALL, v.thread_spec, "core_spec", SUPPORTED, part=True),
    Option("threads-per-core", None, REQUIRED, ALL, v.positive, "threads_per_core", ACCEPTED, part=True),
    Option("time", "t", REQUIRED, ALL, v.time_limit, "time_limit", SUPPORTED),
    Option("time-min", None, REQUIRED, ALL, v.time_limit, "time_min", SUPPORTED),
    Option("tmp", None, REQUIRED, ALL, v.memory, "pn_min_tmp_disk", SUPPORTED, part=True),
    Option("treewidth", None, REQUIRED, RUN, v.string, "treewidth", REFUSED, since="23.11"),
    Option("tres-per-task", None, REQUIRED, ALL, _tres_per_task, "tres_per_task", SUPPORTED, part=True, since="23.02"),
    Option("uid", None, REQUIRED, ALL, v.privileged, "user_id", SUPPORTED, until="23.02"),
    Option("uid", None, REQUIRED, BATCH, v.privileged, "user_id", SUPPORTED, since="23.02"),
    Option("unbuffered", "u", NO, RUN, v.switch, "unbuffered", SUPPORTED),
    Option("use-min-nodes", None, NO, ALL, v.switch, "use_min_nodes", SUPPORTED, part=True),
    Option("verbose", "v", NO, ALL, v.switch, "verbose", SUPPORTED, early=True),
    Option("version", "V", NO, ALL, v.switch, "version", SUPPORTED, early=True),
    Option("umask", None, NO, BATCH, layout.umask, "umask", SUPPORTED, hidden=True, part=True),
    Option("usage", None, NO, ALL, v.switch, "usage", SUPPORTED, early=True),
    Option("wait", "W", NO, BATCH, v.switch, "wait", SUPPORTED),
    Option("wait-all-nodes", None, REQUIRED, BATCH_ALLOC, _wait_all, "wait_all_nodes", ACCEPTED),
    Option("wait", "W", REQUIRED, RUN, v.natural, "max_wait", SUPPORTED),
    Option("wait-for-children", None, NO, RUN, v.switch, "wait_for_children", REFUSED, since="25.05"),
    Option("wckey", None, REQUIRED, ALL, v.string, "wckey", SUPPORTED),
    Option("whole", None, NO, RUN, v.switch, "whole", SUPPORTED),
    Option("wrap", None, REQUIRED, BATCH, v.string, "wrap", SUPPORTED, early=True),
    Option("x11", None, OPTIONAL, RUN_ALLOC, v.string, "x11", REFUSED),
    Option("power", None, REQUIRED, ALL, v.string, "power", ACCEPTED, part=True, until="24.05"),
)
# fmt: on
OPTIONS: tuple[Option, ...] = merged(
    _OPTIONS,
    [(row.option.before, _carried(row, row.option)) for row in CARRIED if row.option],
    lambda option: option.name,
)


def options_of(command: str, release: str) -> list[Option]:
    """Rows `command` has in `release`, refused ones included."""
    return [option for option in OPTIONS if command in option.commands and has(release, option.since, option.until)]


def long_options(options: list[Option]) -> list[LongOption]:
    """Return what the command line may hold: refused ones too, because abbreviations can mean them."""
    return [LongOption(option.name, option.argument, option.key) for option in options if not option.hidden]
