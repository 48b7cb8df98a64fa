"""The environment of an allocation's command and of a step's tasks: tables with a column of releases.

Mirrors env_array_for_job, setup_env and env_array_for_step (src/common/env.c) and what slurmstepd adds for each task.
"""

from __future__ import annotations

import os
from itertools import groupby

from slurmsim.commands.submit.launchers import launcher_variables
from slurmsim.commands.submit.options.task_tres import slurmd_binding, step_binding, task_tres
from slurmsim.commands.submit.options.told_options import salloc_variables, srun_variables
from slurmsim.release_changes import since
from slurmsim.releases import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from slurmsim.commands.submit.component import Part
    from slurmsim.commands.submit.options.chosen_options import Chosen


_ALLOCATION = """
SLURM_JOB_ID job_id
SLURM_JOBID job_id
SLURM_JOB_NAME name
SLURM_JOB_NUM_NODES n_nodes
SLURM_NNODES n_nodes
SLURM_JOB_NODELIST node_list
SLURM_NODELIST node_list
SLURM_NODE_ALIASES =(null) - 24.11
SLURM_JOB_PARTITION partition
SLURM_JOB_CPUS_PER_NODE cpus_per_node
SLURM_JOB_ACCOUNT account
SLURM_JOB_QOS qos
SLURM_JOB_RESERVATION resv_name
SLURM_MEM_PER_CPU mem_per_cpu
SLURM_MEM_PER_NODE mem_per_node
SLURM_DISTRIBUTION distribution
SLURM_THREADS_PER_CORE threads_per_core
SLURM_TASKS_PER_NODE tasks_per_node
SLURM_NTASKS n_tasks
SLURM_NPROCS n_tasks
SLURM_CPUS_PER_TASK cpus_per_task
SLURM_TRES_PER_TASK tres_per_task 24.11
SLURM_TRES_BIND tres_bind 24.11
SLURM_NTASKS_PER_NODE ntasks_per_node
SLURM_OVERCOMMIT overcommit
SLURM_CLUSTER_NAME cluster
SLURM_SUBMIT_DIR submit_dir
SLURM_SUBMIT_HOST submit_host
"""
COMMON_TO_COMPONENTS = frozenset({"SLURM_CLUSTER_NAME", "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST"})
"""What of it does not differ between the components of a heterogeneous job."""
_STEP = """
SLURM_STEP_ID step_id
SLURM_STEPID step_id
SLURM_STEP_NODELIST step_nodes
SLURM_STEP_NUM_NODES step_n_nodes
SLURM_STEP_NUM_TASKS step_n_tasks
SLURM_STEP_TASKS_PER_NODE step_tasks
SLURM_STEP_RESV_PORTS resv_ports
SLURM_STEP_LAUNCHER_PORT port
SLURM_SRUN_COMM_PORT port
SLURM_SRUN_COMM_HOST =127.0.0.1
SLURM_LAUNCH_NODE_IPADDR =127.0.0.1
SLURM_TASKS_PER_NODE step_tasks
SLURM_NNODES step_n_nodes
SLURM_NTASKS step_n_tasks
SLURM_NPROCS step_n_tasks
SLURM_DISTRIBUTION distribution
SLURM_DIST_PLANESIZE plane_size
SLURM_CPUS_PER_TASK cpus_per_task
SLURM_TRES_PER_TASK tres_per_task 24.11
SLURM_TRES_BIND tres_bind 24.11
SLURM_NTASKS_PER_NODE ntasks_per_node
SLURM_THREADS_PER_CORE threads_per_core
SLURM_OVERCOMMIT overcommit
SLURM_LABELIO label
SLURMD_DEBUG =2 24.11
SRUN_DEBUG loudness
SLURM_JOB_ID job_id
SLURM_JOBID job_id
SLURM_JOB_NAME step_job_name
SLURM_NODELIST node_list
SLURM_JOB_PARTITION partition
SLURM_JOB_UID uid
SLURM_JOB_USER user
SLURM_JOB_GID gid
SLURM_JOB_GROUP group 26.05
SLURM_JOB_SLUID sluid 26.05
SLURM_STEPMGR stepmgr 24.11
SLURM_CLUSTER_NAME cluster
SLURM_CONF conf
SLURM_WORKING_CLUSTER working_cluster - 24.11
SLURM_PRIO_PROCESS =0
SLURM_UMASK umask
SLURM_OOM_KILL_STEP =0 24.11
SLURM_JOB_START_TIME start_time 24.11
SLURM_JOB_END_TIME end_time 24.11
SLURM_RESTART_COUNT restart_count
"""
_OWN = """
SLURM_JOB_NUM_NODES n_nodes
SLURM_JOB_NODELIST node_list
SLURM_JOB_CPUS_PER_NODE cpus_per_node
SLURM_JOB_ACCOUNT account
SLURM_JOB_QOS qos
SLURM_JOB_RESERVATION resv_name
SLURM_JOB_GROUP group 24.11
SLURM_SUBMIT_DIR submit_dir
SLURM_SUBMIT_HOST submit_host
"""
_INSIDE = """
SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0 SLURM_JOB_CPUS_PER_NODE - 24.11
"""


def run_length(counts: Sequence[int]) -> str:
    """``2(x3),1``.

    >>> run_length([2, 2, 2, 1]), run_length([3])
    ('2(x3),1', '3')
    """
    runs = ((count, len(list(same))) for count, same in groupby(counts))
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in runs)


def _from_options(part: Part) -> dict[str, Any]:
    chosen = part.chosen
    return {
        "cpus_per_task": chosen.get("cpus_per_task"), **task_tres(chosen),
        "ntasks_per_node": chosen.get("ntasks_per_node"), "threads_per_core": chosen.get("threads_per_core"),
        "overcommit": 1 if chosen.get("overcommit") else None, "plane_size": chosen.get("plane_size"),
        "distribution": chosen.get("distribution"), "submit_dir": chosen.context.cwd,
        "submit_host": os.uname().nodename,
    }  # fmt: skip


def allocation_environment(facts: Mapping[str, Any], part: Part, release: str) -> dict[str, str]:
    """Return what salloc adds to the environment of its command."""
    sizes, cpus = part.builder.sizes, facts["cpus"]
    options = _from_options(part)
    count = len(facts["nodes"])
    tasks: int | None = None
    if sizes.tasks_set:
        per_node = options["ntasks_per_node"]
        asked = since(release, "tasks_beside_tasks_per_node") or not per_node
        tasks = max(sizes.tasks, count) if asked else count * int(per_node)
    room = [max(int(n) // int(options["cpus_per_task"] or 1), 1) for n in cpus]
    known = {
        **facts, **options, "n_nodes": count, "cpus_per_node": run_length(cpus), "n_tasks": tasks,
        "tasks_per_node": run_length(_spread(tasks if tasks is not None else sum(room), room)),
    }  # fmt: skip
    known["mem_per_node"] = facts.get("mem_per_node") or None  # all memory of the nodes is not told
    return shown(_ALLOCATION, known, release) | salloc_variables(part.chosen)


def _spread(tasks: int, room: Sequence[int]) -> list[int]:
    found, left = [0] * len(room), tasks
    crowded = False
    while left:
        for k, most in enumerate(room):
            if left and (crowded or found[k] < most):
                found[k] += 1
                left -= 1
        crowded = crowded or all(n >= most for n, most in zip(found, room, strict=True))
    return found


_PRESERVED = ("SLURM_NNODES", "SLURM_NPROCS", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE")
"""What ``--preserve-env`` leaves as it is (env_array_for_step)."""


def step_environment(
    base: Mapping[str, str], facts: Mapping[str, Any], step: Mapping[str, Any], part: Part, release: str, *, own: bool,
    distribution: str | None, umask: int,
) -> dict[str, str]:  # fmt: skip
    """Return what all tasks of a step have in their environment.

    Parameters
    ----------
    distribution
        As it is shown, None for not at all.
    """
    chosen = part.chosen
    found = {**base, **launcher_variables(base, release)}
    command = os.path.basename(part.command[0]) if own and part.command else None
    name = chosen.get("name") if chosen.is_set("job-name") else command
    known = {
        **facts, **_from_options(part), "step_id": step["step_id"], "step_nodes": step["node_list"],
        "step_n_nodes": len(step["nodes"]), "step_n_tasks": sum(step["tasks"]), "step_tasks": run_length(step["tasks"]),
        "resv_ports": step.get("resv_ports"),
        "n_nodes": len(facts["nodes"]), "cpus_per_node": run_length(facts["cpus"]), "distribution": distribution,
        "port": 32768 + os.getpid() % 28000, "label": 1 if chosen.get("label") else None, "step_job_name": name,
        "loudness": 3 + int(chosen.get("verbose", 0)) - int(chosen.get("quiet", 0)),
        "tres_bind": step_binding(chosen),
        "umask": f"{umask:04o}", "restart_count": facts.get("restarts") or None,
    }  # fmt: skip
    if chosen.get("preserve_env"):
        known = {**known, "step_tasks": found.get("SLURM_TASKS_PER_NODE", known["step_tasks"])}
    added = {**shown(_STEP, known, release), **chosen.get("binding").variables(), **srun_variables(chosen)}
    kept = {"SLURM_UMASK", *(_PRESERVED if chosen.get("preserve_env") else ())} & found.keys()
    added = {name: value for name, value in added.items() if name not in kept}
    found.update(added)
    if own:
        found.update(shown(_OWN, known, release))
        found.pop("SLURM_NODE_ALIASES", None)
    elif "SLURM_HET_SIZE" not in found:
        found.update(shown(_INSIDE, found, release))
    return found


def exported(environ: Mapping[str, str], asked: str | None, outside: Mapping[str, str]) -> dict[str, str]:
    """Return what ``--export`` lets through to the tasks: all of `environ`, or its SLURM_* and the named variables.

    `outside` is srun's own environment, where values of named variables come from. What goes through hides a value
    given beside the name (_build_user_env, launch.c).
    """
    if asked is None:
        return dict(environ)
    found: dict[str, str] = {}
    everything = False
    for word in _words(asked):
        if word.upper() == "ALL":
            everything = True
        if word.upper() == "NONE":
            break
        name, equals, value = word.partition("=")
        if equals:
            found[name] = value
        elif name in outside:
            found[name] = outside[name]
    kept = environ if everything else {n: v for n, v in environ.items() if n.startswith(("SLURM", "SPANK_"))}
    return {**found, **kept}


def _words(text: str) -> list[str]:
    """Words between commas, quotes respected."""
    found, word, quote = [], "", ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
            word += letter if quote else ""
        elif letter in "'\"":
            quote = letter
        elif letter == ",":
            found.append(word)
            word = ""
        else:
            word += letter
    return [one for one in (*found, word) if one]


def binding_told(chosen: Chosen, n_tasks: int, release: str) -> dict[str, str]:
    """Return what `n_tasks` tasks of a node read of how they are bound to their GRES; one alone was not bound."""
    found = slurmd_binding(chosen) if n_tasks > 1 or since(release, "lone_tasks_bound") else None
    return {} if found is None else {"SLURMD_TRES_BIND": found}


def task_environment(
    step: Mapping[str, Any], node: int, place: int, task: int, first_node: int = 0, first_task: int = 0
) -> dict[str, str]:
    """Return what one task has beside the others: the `place`-th on the `node`-th node of the step.

    `first_node` and `first_task` are how many of both the components before it have.
    """
    name = str(step["nodes"][node])
    address, pattern = step["network"][node]
    return {
        "SLURM_PROCID": str(first_task + task), "SLURM_LOCALID": str(place), "SLURM_NODEID": str(first_node + node),
        "SLURM_GTIDS": ",".join(str(first_task + number) for number in step["task_ids"][node]),
        "SLURM_CPUS_ON_NODE": str(step["cpus"][node]), "SLURMD_NODENAME": name,
        "SLURM_TOPOLOGY_ADDR": address, "SLURM_TOPOLOGY_ADDR_PATTERN": pattern,
    }  # fmt: skip
