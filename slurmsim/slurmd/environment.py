"""The SLURM_* environment of a batch script, as slurmd gives it on the first node (22.05)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def batch_environment(facts: Mapping[str, Any], submitted: Mapping[str, str]) -> dict[str, str]:
    """The environment of the script: what was submitted, and what slurmd adds.

    Parameters
    ----------
    facts
        Of the job and its allocation: ``job_id name partition user uid gid account qos reservation n_nodes nodes
        first_node cpus_per_node tasks_per_node cpus_on_node n_tasks ntasks_per_node cpus_per_task mem_per_cpu
        mem_per_node submit_dir submit_host cluster conf array_job_id array_task_id array_count array_min array_max
        array_step restarts gpus``; None or missing where it does not apply.
    submitted
        What ``--export`` let through.
    """
    get = facts.get
    found = {name: value for name, value in submitted.items() if not name.startswith(("SLURMSIM_CLUSTER",))}
    given = {
        "SLURM_JOB_ID": get("job_id"), "SLURM_JOBID": get("job_id"), "SLURM_JOB_NAME": get("name"),
        "SLURM_JOB_PARTITION": get("partition"), "SLURM_JOB_USER": get("user"), "SLURM_JOB_UID": get("uid"),
        "SLURM_JOB_GID": get("gid"), "SLURM_JOB_ACCOUNT": get("account"), "SLURM_JOB_QOS": get("qos"),
        "SLURM_JOB_RESERVATION": get("reservation"),
        "SLURM_JOB_NUM_NODES": get("n_nodes"), "SLURM_NNODES": get("n_nodes"),
        "SLURM_JOB_NODELIST": get("nodes"), "SLURM_NODELIST": get("nodes"),
        "SLURM_JOB_CPUS_PER_NODE": get("cpus_per_node"), "SLURM_TASKS_PER_NODE": get("tasks_per_node"),
        "SLURM_CPUS_ON_NODE": get("cpus_on_node"),
        "SLURM_NTASKS": get("n_tasks"), "SLURM_NPROCS": get("n_tasks"),
        "SLURM_NTASKS_PER_NODE": get("ntasks_per_node"), "SLURM_CPUS_PER_TASK": get("cpus_per_task"),
        "SLURM_MEM_PER_CPU": get("mem_per_cpu"), "SLURM_MEM_PER_NODE": get("mem_per_node"),
        "SLURM_SUBMIT_DIR": get("submit_dir"), "SLURM_SUBMIT_HOST": get("submit_host"),
        "SLURM_CLUSTER_NAME": get("cluster"), "SLURM_CONF": get("conf"), "SLURMD_NODENAME": get("first_node"),
        "SLURM_WORKING_CLUSTER": f"{get('cluster')}:localhost:6817:9728:109",
        "SLURM_NODE_ALIASES": "(null)", "SLURM_NODEID": 0, "SLURM_PROCID": 0, "SLURM_LOCALID": 0, "SLURM_GTIDS": 0,
        "SLURM_TOPOLOGY_ADDR": get("first_node"), "SLURM_TOPOLOGY_ADDR_PATTERN": "node", "SLURM_PRIO_PROCESS": 0,
        "SLURM_ARRAY_JOB_ID": get("array_job_id"), "SLURM_ARRAY_TASK_ID": get("array_task_id"),
        "SLURM_ARRAY_TASK_COUNT": get("array_count"), "SLURM_ARRAY_TASK_MIN": get("array_min"),
        "SLURM_ARRAY_TASK_MAX": get("array_max"), "SLURM_ARRAY_TASK_STEP": get("array_step"),
        "SLURM_RESTART_COUNT": get("restarts") or None, "SLURM_JOB_GPUS": get("gpus"),
        "SLURM_GPUS_ON_NODE": get("gpus_on_node"), "CUDA_VISIBLE_DEVICES": get("gpus"),
        "ENVIRONMENT": "BATCH", "HOSTNAME": get("submit_host"),
    }  # fmt: skip
    found.update({name: str(value) for name, value in given.items() if value is not None})
    found.setdefault("TMPDIR", "/tmp")
    found.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return found
