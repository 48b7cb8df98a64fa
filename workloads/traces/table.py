"""The public traces: which column of theirs is which of ours, and what its cells mean. A new one is a row here.

Ours: ``id submit start end run limit nodes cpus gpus part gpu_type mem user account partition qos name state watts``.
``part`` is the part of one GPU that a job has, ``tres`` are several of them at once. ``cpus``, ``gpus`` and ``mem`` are
those of all the job, unless `each` says that they are those of each node or worker. ``run`` is taken over ``end`` -
``start``. ``failed`` are runs that failed before its last one. ``watts`` is what all nodes of the job drew together,
one number or samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from slurmsim.data_classes import dataclass, field
from slurmsim_workloads.traces import cells

Columns = Mapping[str, tuple[str, Callable[[Any], Any]]]
CSV, PARQUET, PHILLY, SLURM_JSON = "CSV", "Parquet", "Philly's JSON", "JSON of squeue or scontrol"


@dataclass(frozen=True, slots=True)
class Trace:
    """A public format."""

    name: str
    what: str  # who published what
    kind: str
    columns: Columns
    loaders: tuple[str, ...]  # public repositories that read it, from which the columns are known
    sample_s: int = 1  # seconds between two samples of ``watts``
    each: tuple[str, ...] = ()  # of cpus, gpus and mem: those of a node or worker
    heads: tuple[str, ...] = ()  # names of columns where the file has no line of them
    sniffed: tuple[str, ...] = ()  # columns that tell the format
    seen: str = ""  # the real file it was tried with
    deleted: bool = False  # a record that was running when it was deleted has ended then
    defaults: Mapping[str, Any] = field(default_factory=dict)


_S, _D, _N, _T = cells.seconds, cells.date, cells.count, cells.text
_PAI_HEADS = ("job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem",
              "plan_gpu", "gpu_type")  # fmt: skip

TRACES: dict[str, Trace] = {trace.name: trace for trace in (
    Trace(
        "philly", "Microsoft's Philly, GPU jobs of 2017: cluster_job_log", PHILLY,
        {"submit": ("submitted_time", _D), "start": ("start", _D), "end": ("end", _D), "run": ("run", _S),
         "nodes": ("nodes", _N), "gpus": ("gpus", _N), "user": ("user", _T), "account": ("vc", _T),
         "name": ("jobid", _T), "state": ("status", cells.state), "failed": ("failed", cells.runs)},
        ("michaelzhiluo/starburst", "ExaDigiT/RAPS"),
    ),
    Trace(
        "helios", "SenseTime's Helios, four GPU clusters of 2020: cluster_log.csv", CSV,
        {"id": ("job_id", _N), "submit": ("submit_time", _D), "start": ("start_time", _D), "end": ("end_time", _D),
         "run": ("duration", _S), "nodes": ("node_num", _N), "cpus": ("cpu_num", _N), "gpus": ("gpu_num", _N),
         "user": ("user", _T), "account": ("vc", _T), "state": ("state", cells.state)},
        ("michaelzhiluo/starburst", "S-Lab-System-Group/HeliosArtifact"), sniffed=("vc", "gpu_num", "node_num"),
    ),
    Trace(
        "pm100", "CINECA's Marconi100, jobs of 2020 with their power: job_table.parquet", PARQUET,
        {"id": ("job_id", _N), "submit": ("submit_time", _D), "start": ("start_time", _D), "end": ("end_time", _D),
         "run": ("run_time", _S), "limit": ("time_limit", cells.minutes), "nodes": ("num_nodes_alloc", _N),
         "cpus": ("num_cores_alloc", _N), "gpus": ("num_gpus_alloc", _N), "mem": ("mem_alloc", cells.gib),
         "user": ("user_id", _T), "account": ("group_id", _T), "partition": ("partition", _T), "qos": ("qos", _T),
         "state": ("job_state", cells.state), "watts": ("node_power_consumption", cells.watts)},
        ("ExaDigiT/RAPS", "francescoantici/PM100-data"), sample_s=20,
    ),
    Trace(
        "fdata", "RIKEN's Fugaku, jobs of 2021 to 2024: F-DATA, YY_MM.parquet", PARQUET,
        {"submit": ("adt", _D), "start": ("sdt", _D), "end": ("edt", _D), "run": ("duration", _S),
         "limit": ("elpl", _S), "nodes": ("nnumr", _N), "user": ("usr", _T), "name": ("jnam", _T),
         "state": ("exit state", cells.state), "watts": ("avgpcon", cells.watts)},
        ("ExaDigiT/RAPS", "c-haruto/fugaku-job-success-predictor"),
    ),
    Trace(
        "pai2020", "Alibaba's PAI, GPU tasks of 2020: pai_task_table.csv", CSV,
        {"start": ("start_time", _S), "end": ("end_time", _S), "nodes": ("inst_num", _N),
         "cpus": ("plan_cpu", cells.percent), "gpus": ("plan_gpu", cells.share), "mem": ("plan_mem", cells.gib),
         "name": ("task_name", _T), "gpu_type": ("gpu_type", _T), "state": ("status", cells.state)},
        ("alibaba/clusterdata", "anacodicAI-labs/carbon-aware-load-scheduling"),
        each=("cpus", "gpus", "mem"), heads=_PAI_HEADS, sniffed=("inst_num", "plan_gpu"),
    ),
    Trace(
        "openb2023", "Alibaba's GPU cluster, pods of 2023: openb_pod_list_….csv", CSV,
        {"submit": ("creation_time", _S), "start": ("scheduled_time", _S), "end": ("deletion_time", _S),
         "cpus": ("cpu_milli", cells.milli), "mem": ("memory_mib", _N), "gpus": ("num_gpu", _N),
         "part": ("gpu_milli", cells.thousandths),
         "gpu_type": ("gpu_spec", _T), "account": ("qos", _T), "name": ("name", _T),
         "state": ("pod_phase", cells.state)},
        ("alibaba/clusterdata", "hkust-adsl/kubernetes-scheduler-simulator"),
        sniffed=("cpu_milli", "pod_phase"), seen="openb_pod_list_default.csv", deleted=True, defaults={"nodes": 1},
    ),
    Trace(
        "dlrm2025", "Alibaba's serving of recommendation models, instances of 2025: disaggregated_DLRM_trace.csv", CSV,
        {"submit": ("creation_time", _S), "start": ("scheduled_time", _S), "end": ("deletion_time", _S),
         "cpus": ("cpu_request", _N), "gpus": ("gpu_request", _N), "mem": ("memory_request", cells.gib),
         "account": ("app_name", _T), "name": ("instance_sn", _T), "partition": ("role", _T)},
        ("alibaba/clusterdata", "sultanul-ovi/Alibaba-GPU-Cluster-Dataset-2025-Analysis"),
        sniffed=("instance_sn", "rdma_request"), seen="disaggregated_DLRM_trace.csv", defaults={"nodes": 1},
    ),
    Trace(
        "spot2026", "Alibaba's spot jobs on GPUs, published 2026: job_info_df.csv", CSV,
        {"id": ("job_name", _N), "submit": ("submit_time", _S), "run": ("duration", _S), "nodes": ("worker_num", _N),
         "cpus": ("cpu_request", _N), "gpus": ("gpu_request", _N), "gpu_type": ("gpu_model", _T),
         "account": ("organization", _T), "qos": ("job_type", _T)},
        ("alibaba/clusterdata", "sultanul-ovi/GPU-Cluster-Spot-Resource-Dataset-Analysis"),
        each=("cpus", "gpus"), sniffed=("worker_num", "job_type", "gpu_model"),
    ),
    Trace(
        "supercloud", "MIT's SuperCloud, jobs of 2021: slurm-log.csv", CSV,
        {"id": ("id_job", _N), "submit": ("time_submit", _D), "start": ("time_start", _D), "end": ("time_end", _D),
         "limit": ("timelimit", cells.minutes), "nodes": ("nodes_alloc", _N), "tres": ("tres_req", cells.tres),
         "user": ("id_user", _T), "partition": ("partition", _T), "state": ("state", cells.state)},
        ("ExaDigiT/RAPS", "boringlee24/HPCA22_SuperCloud"), sniffed=("id_job", "tres_req", "time_submit"),
    ),
    Trace(
        "frontier", "job tables as RAPS reads OLCF's Frontier: slurm/jobcomplete", PARQUET,
        {"id": ("job_id", _N), "submit": ("time_submission", _D), "start": ("time_start", _D), "end": ("time_end", _D),
         "limit": ("time_limit", cells.minutes), "nodes": ("node_count", _N), "user": ("user", _T),
         "account": ("account", _T), "name": ("name", _T), "partition": ("partition", _T),
         "state": ("state_current", cells.state)},
        ("ExaDigiT/RAPS", "ExaDigiT/SimulationServer"),
    ),
    Trace(
        "squeue", "what squeue --json and scontrol show job --json print", SLURM_JSON,
        {"id": ("job_id", _N), "submit": ("submit_time", _D), "start": ("start_time", _D), "end": ("end_time", _D),
         "limit": ("time_limit", cells.minutes), "nodes": ("node_count", _N), "cpus": ("cpus", _N),
         "gpus": ("gpus", _N), "user": ("user_name", _T), "account": ("account", _T), "partition": ("partition", _T),
         "qos": ("qos", _T), "name": ("name", _T), "state": ("job_state", cells.state)},
        ("rivosinc/prometheus-slurm-exporter", "LIMLabSWC/slurm_dashboard"),
        seen="squeue_out.json",
    ),
)}  # fmt: skip
