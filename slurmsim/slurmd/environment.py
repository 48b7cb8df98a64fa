"""The SLURM_* environment of a batch script, as slurmd gives it on the first node: a table with releases."""

from collections.abc import Mapping
from typing import Any

from slurmsim.releases import shown

_ROWS = """
SLURM_JOB_ID job_id
SLURM_JOBID job_id
SLURM_JOB_NAME name 26.05
SLURM_JOB_PARTITION partition
SLURM_JOB_USER user
SLURM_JOB_UID uid
SLURM_JOB_GID gid
SLURM_JOB_ACCOUNT account
SLURM_JOB_QOS qos
SLURM_JOB_RESERVATION reservation
SLURM_JOB_SLUID sluid 26.05
SLURM_STEPMGR stepmgr 24.11
SLURM_JOB_NUM_NODES n_nodes
SLURM_NNODES n_nodes
SLURM_JOB_NODELIST nodes
SLURM_NODELIST nodes
SLURM_JOB_CPUS_PER_NODE cpus_per_node
SLURM_TASKS_PER_NODE tasks_per_node
SLURM_CPUS_ON_NODE cpus_on_node
SLURM_NTASKS n_tasks
SLURM_NPROCS n_tasks
SLURM_CPUS_PER_TASK cpus_per_task
SLURM_TRES_PER_TASK tres_per_task 24.11
SLURM_JOB_SEGMENT_SIZE segment 26.05
SLURM_MEM_PER_CPU mem_per_cpu
SLURM_MEM_PER_NODE mem_per_node
SLURM_SUBMIT_DIR submit_dir
SLURM_SUBMIT_HOST submit_host
SLURM_CLUSTER_NAME cluster
SLURM_CONF conf
SLURMD_NODENAME first_node
SLURM_WORKING_CLUSTER working_cluster - 24.11
SLURM_NODE_ALIASES =(null) - 24.11
SLURM_NODEID =0
SLURM_PROCID =0
SLURM_LOCALID =0
SLURM_GTIDS =0
SLURM_TOPOLOGY_ADDR network_address
SLURM_TOPOLOGY_ADDR_PATTERN network_pattern
SLURM_PRIO_PROCESS =0
SLURM_OOM_KILL_STEP oom_kill_step 24.11
SLURM_STEP_ID =-5 26.05
SLURM_STEPID =-5 26.05
SLURM_JOB_START_TIME start 24.11
SLURM_JOB_END_TIME end 24.11
SLURM_JOB_LICENSES licenses 24.11
SLURM_JOB_EXCLUSIVE exclusive 26.05
SLURM_JOB_OVERSUBSCRIBE oversubscribe 26.05
SLURM_ARRAY_JOB_ID array_job_id
SLURM_ARRAY_TASK_ID array_task_id
SLURM_ARRAY_TASK_COUNT array_count
SLURM_ARRAY_TASK_MIN array_min
SLURM_ARRAY_TASK_MAX array_max
SLURM_ARRAY_TASK_STEP array_step
SLURM_RESTART_COUNT restart_count
SLURM_JOB_GPUS gpus
SLURM_GPUS_ON_NODE gpus_on_node
ENVIRONMENT =BATCH
HOSTNAME first_node
SLURMSIM_CLUSTER_DIR folder
"""


def batch_environment(facts: Mapping[str, Any], submitted: Mapping[str, str], release: str) -> dict[str, str]:
    """Return the environment of the script: what was submitted, and what slurmd adds.

    Parameters
    ----------
    facts
        Of the job and its allocation, under the names of the table above, and: ``gpu_variables`` (set to
        ``gpu_names``, else to ``gpus``), ``restarts``, ``shared`` (as it was asked for), ``home``, ``folder`` (that of
        the cluster, with its commands), ``simulated`` (whether the script runs under another user's id).
        None or missing where it does not apply.
    submitted
        What ``--export`` let through.
    release
        The release to be like.
    """
    known = {
        "oom_kill_step": 0, **facts, "restart_count": facts.get("restarts") or None,
        "oversubscribe": "YES" if facts.get("shared") == "ok" else "NO",
    }  # fmt: skip
    found = {name: value for name, value in submitted.items() if not name.startswith("SLURMSIM_CLUSTER")}
    found |= shown(_ROWS, known, release)
    if facts.get("gpus"):
        found |= dict.fromkeys(facts["gpu_variables"], facts.get("gpu_names") or facts["gpus"])
    found |= facts.get("share_variables") or {}
    if found.get("SLURM_GET_USER_ENV"):
        found = _of_a_login(facts) | found
    found.setdefault("PATH", f"{facts.get('folder')}/bin:{_PATH_OF_BASH}")
    if facts.get("simulated"):
        found["SLURMSIM_USER"] = str(facts.get("user"))
    return found


_PATH_OF_BASH = "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:."  # Debian's, where PATH is not set


def _of_a_login(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return a Debian login of the user: what slurmd gets from ``su - USER``."""
    user = str(facts.get("user") or "")
    return {
        "HOME": str(facts.get("home") or "/"), "USER": user, "LOGNAME": user, "SHELL": "/bin/bash", "SHLVL": "1",
        "MAIL": f"/var/mail/{user}",
        "PATH": f"{facts.get('folder')}/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games",
    }  # fmt: skip
