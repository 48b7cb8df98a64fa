"""Shapes of the fields of job_desc_msg_t, as `submit` and `update_job` send them.

Fields the controller keeps without looking at them may be any plain value: the commands of a release have some more.
"""

from slurmsim.records.job import CARRIED
from slurmsim.records.request import REQUEST
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
NUMBER = Whole(0, 0xFFFFFFFF)  # uint32_t, its largest values being NO_VAL and INFINITE; also where Slurm has 16 bits
SIGNED = Whole(-(1 << 31), 0xFFFFFFFF)
PRODUCT = Whole(0, 1 << 53)  # what commands multiply: Slurm lets it overflow
MEMORY = Whole(0, (1 << 63) - 1)
TIME = Whole(0, 253_402_300_799)  # seconds since the epoch, to the end of the year 9999
LIST = Text(1 << 20)  # of nodes, tasks or ids: a command makes them from files, too
PLAIN = Either((FLAG, Whole(-(1 << 63), (1 << 64) - 1), TEXT))
MOST_WORDS = 1 << 16

_SWITCH = Either((FLAG, NUMBER))
_KINDS: dict[str, Shape] = {
    **dict.fromkeys(("text", "words"), TEXT), "nodes": LIST, **dict.fromkeys(("count", "amount"), NUMBER),
    "signed": SIGNED, "product": PRODUCT, "memory": MEMORY, "time": TIME, "flag": FLAG, "switch": _SWITCH,
    "plain": PLAIN,
}  # fmt: skip
_OWN: dict[str, Shape] = {
    "argv": ListOf(TEXT, MOST_WORDS), "array_inx": Text(64 << 10), "core_spec": Either((NUMBER, TEXT)),
    "environment": Fields(others=TEXT, most=MOST_WORDS), "rlimits": Fields(others=Whole(-1, (1 << 64) - 1)),
    "script": Text(16 << 20), "shared": Either((TEXT, NUMBER)), "submit_line": Text(4 << 20),
    "het_offset": Absent(),  # which component it is says the list it stands in
}  # fmt: skip
_JOB = {row.name: _KINDS[row.kind] for row in (*REQUEST, *CARRIED) if row.kind != "own"} | _OWN
JOB = Fields(_JOB, others=PLAIN)
UPDATE = Fields({**_JOB, "array_inx": Digits(10), "core_spec": Either((NUMBER, Text(8)))}, others=PLAIN)
STEP = Fields(
    {
        "job_id": NUMBER, "num_tasks": PRODUCT, "cpu_count": PRODUCT, "min_nodes": NUMBER, "max_nodes": NUMBER,
        "cpus_per_task": NUMBER, "relative": NUMBER, "ntasks_per_node": NUMBER, "plane_size": NUMBER,
        "threads_per_core": NUMBER, "mem_per_cpu": MEMORY, "mem_per_node": MEMORY, "time_limit": PRODUCT,
        "srun_pid": NUMBER, "step_id": NUMBER, "het_comp": NUMBER,
        "exact": FLAG, "overlap": FLAG, "overcommit": FLAG, "no_gres": FLAG, "async": FLAG, "resv_ports": NUMBER,
        "submit_line": Text(4 << 20),
        **dict.fromkeys(("node_list", "exc_nodes", "task_nodes"), LIST),
        **dict.fromkeys(("name", "srun_host", "network", "distribution", "task_dist", "tres_per_step", "tres_per_node",
                         "tres_per_task", "tres_per_socket", "gpus", "cpus_per_tres", "mem_per_tres",
                         "tres_bind", "tres_freq", "std_in", "std_err", "std_out", "cwd"), Text(LINE)),
    },
    frozenset({"job_id", "num_tasks", "cpu_count"}),
)  # fmt: skip
