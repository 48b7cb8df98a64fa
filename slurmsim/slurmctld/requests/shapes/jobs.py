"""Shapes of the fields of job_desc_msg_t, as `submit` and `update_job` send them.

Fields the controller keeps without looking at them may be any plain value: the commands of a release have some more.
"""

from __future__ import annotations

from slurmsim.records.job import CARRIED
from slurmsim.slurmctld.requests.shapes.values import (
    LINE,
    Absent,
    Digits,
    Either,
    Fields,
    Flag,
    ListOf,
    Shape,
    Text,
    Whole,
)

TEXT, FLAG = Text(), Flag()
NUMBER = Whole(0, 0xFFFFFFFF)
"""uint32_t, its largest values being NO_VAL and INFINITE; also where Slurm has 16 bits."""
SIGNED = Whole(-(1 << 31), 0xFFFFFFFF)
PRODUCT = Whole(0, 1 << 53)
"""What commands multiply: Slurm lets it overflow."""
MEMORY = Whole(0, (1 << 63) - 1)
TIME = Whole(0, 253_402_300_799)
"""Seconds since the epoch, to the end of the year 9999."""
LIST = Text(1 << 20)  # of nodes, tasks or ids: a command makes them from files, too
PLAIN = Either((FLAG, Whole(-(1 << 63), (1 << 64) - 1), TEXT))
MOST_WORDS = 1 << 16

_TEXTS = (
    "account", "acctg_freq", "alloc_node", "clusters", "command", "cpu_freq_gov", "cpu_freq_max", "cpu_freq_min",
    "cpus_per_tres", "dependency", "distribution", "features", "gpu_bind", "gpu_freq", "job_size_str", "licenses",
    "mail_user", "mem_bind", "mem_per_tres", "name", "open_mode", "partition", "profile", "qos", "reservation",
    "std_err", "std_in", "std_out", "submit_dir", "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task",
    "user_name", "warn_flags", "wckey", "work_dir",
)  # fmt: skip
_NUMBERS = (
    "alloc_sid", "cores_per_socket", "cpus_per_gpu", "cpus_per_task", "immediate", "kill_on_node_fail", "mail_type",
    "max_cpus", "max_nodes", "min_nodes", "ntasks_per_core", "ntasks_per_node", "ntasks_per_socket", "ntasks_per_tres",
    "plane_size", "pn_min_cpus", "pn_min_tmp_disk", "priority", "req_switch", "segment_size", "sockets_per_node",
    "threads_per_core", "time_min", "umask", "wait4switch", "wait_all_nodes", "warn_signal", "warn_time",
)  # fmt: skip
_FLAGS = (
    "allocate", "expedited_requeue", "held", "hold", "kill_on_invalid_dep", "mem_per_cpu", "overcommit",
    "reset_accrue_time", "spread_job", "use_min_nodes",
)  # fmt: skip
_CARRIED: dict[str, Shape] = {"text": TEXT, "count": NUMBER, "flag": FLAG}
_JOB: dict[str, Shape] = {
    **dict.fromkeys(_TEXTS, TEXT), **dict.fromkeys(_NUMBERS, NUMBER), **dict.fromkeys(_FLAGS, FLAG),
    **{row.name: _CARRIED[row.kind] for row in CARRIED},
    "argv": ListOf(TEXT, MOST_WORDS), "array_inx": Text(64 << 10), "begin_time": TIME,
    "contiguous": Either((FLAG, NUMBER)), "core_spec": Either((NUMBER, TEXT)), "deadline": TIME, "delay_boot": SIGNED,
    "end_time": TIME, "environment": Fields(others=TEXT, most=MOST_WORDS), "exc_nodes": LIST, "mem_per_gpu": MEMORY,
    "min_cpus": PRODUCT, "nice": SIGNED, "num_tasks": PRODUCT, "pn_min_memory": MEMORY,
    "reboot": Either((FLAG, NUMBER)), "req_nodes": LIST, "requeue": Either((FLAG, NUMBER)),
    "rlimits": Fields(others=Whole(-1, (1 << 64) - 1)), "script": Text(16 << 20),
    "shared": Either((TEXT, NUMBER)), "site_factor": SIGNED, "submit_line": Text(4 << 20),
    "time_limit": PRODUCT, "het_offset": Absent(),  # which component it is says the list it stands in
}  # fmt: skip
JOB = Fields(_JOB, others=PLAIN)
UPDATE = Fields({**_JOB, "array_inx": Digits(10), "core_spec": Either((NUMBER, Text(8)))}, others=PLAIN)
STEP = Fields(
    {
        "job_id": NUMBER, "num_tasks": PRODUCT, "cpu_count": PRODUCT, "min_nodes": NUMBER, "max_nodes": NUMBER,
        "cpus_per_task": NUMBER, "relative": NUMBER, "ntasks_per_node": NUMBER, "plane_size": NUMBER,
        "mem_per_cpu": MEMORY, "mem_per_node": MEMORY, "time_limit": PRODUCT, "srun_pid": NUMBER, "step_id": NUMBER,
        "het_comp": NUMBER,
        "exact": FLAG, "overlap": FLAG, "overcommit": FLAG, "submit_line": Text(4 << 20),
        **dict.fromkeys(("node_list", "exc_nodes", "task_nodes"), LIST),
        **dict.fromkeys(("name", "srun_host", "network", "distribution", "task_dist", "tres_per_step", "tres_per_node",
                         "tres_per_task", "tres_per_socket"), Text(LINE)),
    },
    frozenset({"job_id", "num_tasks", "cpu_count"}),
)  # fmt: skip
