"""Environment variables that stand for options of sbatch, srun and salloc, in the order they are read.

A later variable of the same option wins. A line is ``variable option [first release] [first release without it]``.
"""

from __future__ import annotations

from slurmsim.releases import has

_SBATCH = """
SBATCH_ACCOUNT account
SBATCH_ARRAY_INX array
SBATCH_ACCTG_FREQ acctg-freq
SBATCH_BATCH batch
SBATCH_BURST_BUFFER bb
SBATCH_CLUSTER_CONSTRAINT cluster-constraint
SBATCH_CLUSTERS clusters
SLURM_CLUSTERS clusters
SBATCH_CONSOLIDATE_SEGMENTS consolidate-segments 26.05 -
SBATCH_CONTAINER container
SBATCH_CONTAINER_ID container-id 24.11 -
SBATCH_CONTAINER_TYPE container-type 26.05 -
SBATCH_CONSTRAINT constraint
SBATCH_CORE_SPEC core-spec
SBATCH_CPU_FREQ_REQ cpu-freq
SBATCH_CPUS_PER_GPU cpus-per-gpu
SBATCH_DELAY_BOOT delay-boot
SBATCH_DISTRIBUTION distribution
SBATCH_EXCLUSIVE exclusive
SBATCH_EXPORT export
SBATCH_GET_USER_ENV get-user-env
SBATCH_GRES gres
SBATCH_GRES_FLAGS gres-flags
SBATCH_GPUS gpus
SBATCH_GPU_BIND gpu-bind
SBATCH_GPU_FREQ gpu-freq
SBATCH_GPUS_PER_NODE gpus-per-node
SBATCH_GPUS_PER_SOCKET gpus-per-socket
SBATCH_GPUS_PER_TASK gpus-per-task
SLURM_HINT hint
SBATCH_HINT hint
SBATCH_JOB_NAME job-name
SBATCH_MEM_BIND mem-bind
SBATCH_MEM_PER_CPU mem-per-cpu
SBATCH_MEM_PER_GPU mem-per-gpu
SBATCH_MEM_PER_NODE mem
SBATCH_NETWORK network
SBATCH_NO_KILL no-kill
SBATCH_NO_REQUEUE no-requeue
SBATCH_OPEN_MODE open-mode
SBATCH_OVERCOMMIT overcommit
SBATCH_PARTITION partition
SBATCH_POWER power - 24.11
SBATCH_PROFILE profile
SBATCH_QOS qos
SBATCH_REQ_SWITCH switch-req
SBATCH_REQUEUE requeue
SBATCH_RESERVATION reservation
SBATCH_SEGMENT_SIZE segment 26.05 -
SBATCH_SIGNAL signal
SBATCH_SPREAD_JOB spread-job
SBATCH_SPREAD_SEGMENTS spread-segments 26.05 -
SBATCH_THREAD_SPEC thread-spec
SBATCH_THREADS_PER_CORE threads-per-core
SBATCH_TIMELIMIT time
SBATCH_TRES_BIND tres-bind 24.11 -
SBATCH_TRES_PER_TASK tres-per-task 24.11 -
SBATCH_USE_MIN_NODES use-min-nodes
SBATCH_WAIT wait
SBATCH_WAIT_ALL_NODES wait-all-nodes
SBATCH_WAIT4SWITCH switch-wait
SBATCH_WCKEY wckey
SBATCH_ERROR error
SBATCH_INPUT input
SBATCH_OUTPUT output
SBATCH_IGNORE_PBS ignore-pbs
SBATCH_DEBUG verbose
"""

_SRUN = """
SLURM_ACCOUNT account
SLURM_ACCTG_FREQ acctg-freq
SLURM_BCAST bcast
SLURM_BCAST_EXCLUDE bcast-exclude
SLURM_BURST_BUFFER bb
SLURM_CLUSTERS clusters
SLURM_CLUSTER_CONSTRAINT cluster-constraint
SLURM_COMPRESS compress
SLURM_CONSOLIDATE_SEGMENTS consolidate-segments 26.05 -
SLURM_CONSTRAINT constraint
SLURM_CORE_SPEC core-spec
SLURM_CPUS_PER_TASK cpus-per-task 24.11 -
SLURM_CPU_BIND cpu-bind
SLURM_CPU_FREQ_REQ cpu-freq
SLURM_CPUS_PER_GPU cpus-per-gpu
SLURM_DELAY_BOOT delay-boot
SLURM_DEPENDENCY dependency
SLURM_DISABLE_STATUS disable-status
SLURM_DISTRIBUTION distribution
SLURM_EPILOG epilog
SLURM_EXACT exact
SLURM_EXCLUSIVE exclusive
SLURM_EXPORT_ENV export
SRUN_EXPORT_ENV export
SLURM_EXTERNAL_LAUNCHER external-launcher 24.11 -
SLURM_GPUS gpus
SLURM_GPU_BIND gpu-bind
SLURM_GPU_FREQ gpu-freq
SLURM_GPUS_PER_NODE gpus-per-node
SLURM_GPUS_PER_SOCKET gpus-per-socket
SLURM_GPUS_PER_TASK gpus-per-task
SLURM_GRES gres
SLURM_GRES_FLAGS gres-flags
SLURM_HINT hint
SLURM_JOB_ID jobid
SLURM_JOB_NAME job-name
SLURM_JOB_NODELIST alloc-nodelist
SLURM_JOB_NUM_NODES nodes
SLURM_KILL_BAD_EXIT kill-on-bad-exit
SLURM_LABELIO label
SLURM_MEM_BIND mem-bind
SLURM_MEM_PER_CPU mem-per-cpu
SLURM_MEM_PER_GPU mem-per-gpu
SLURM_MEM_PER_NODE mem
SLURM_MPI_TYPE mpi
SLURM_NCORES_PER_SOCKET cores-per-socket
SLURM_NETWORK network
SLURM_NO_KILL no-kill
SLURM_NPROCS ntasks
SLURM_NTASKS ntasks
SLURM_NSOCKETS_PER_NODE sockets-per-node
SLURM_NTASKS_PER_CORE ntasks-per-core 24.11 -
SLURM_NTASKS_PER_NODE ntasks-per-node
SLURM_NTASKS_PER_GPU ntasks-per-gpu
SLURM_NTASKS_PER_TRES ntasks-per-tres
SLURM_OOM_KILL_STEP oom-kill-step 24.11 -
SLURM_OPEN_MODE open-mode
SLURM_OVERCOMMIT overcommit
SLURM_OVERLAP overlap
SLURM_PARTITION partition
SLURM_POWER power - 24.11
SLURM_PROFILE profile
SLURM_PROLOG prolog
SLURM_QOS qos
SLURM_REMOTE_CWD chdir
SLURM_REQ_SWITCH switch-req
SLURM_RESERVATION reservation
SLURM_RESV_PORTS resv-ports
SLURM_SEND_LIBS send-libs
SLURM_SIGNAL signal
SLURM_SPREAD_JOB spread-job
SLURM_SPREAD_SEGMENTS spread-segments 26.05 -
SLURM_SRUN_MULTI multi-prog
SLURM_STDERRMODE error
SLURM_STDINMODE input
SLURM_STDOUTMODE output
SLURM_TASK_EPILOG task-epilog
SLURM_TASK_PROLOG task-prolog
SLURM_THREAD_SPEC thread-spec
SLURM_THREADS threads
SLURM_THREADS_PER_CORE threads-per-core
SLURM_TIMELIMIT time
SLURM_TRES_BIND tres-bind 24.11 -
SLURM_TRES_PER_TASK tres-per-task 24.11 -
SLURM_UNBUFFEREDIO unbuffered
SLURM_USE_MIN_NODES use-min-nodes
SLURM_WAIT wait
SLURM_WAIT4SWITCH switch-wait
SLURM_WCKEY wckey
SLURM_WORKING_DIR chdir
SLURMD_DEBUG slurmd-debug
SRUN_CONTAINER container
SRUN_CONTAINER_ID container-id 24.11 -
SRUN_CONTAINER_TYPE container-type 26.05 -
SLURM_DEBUG verbose
SRUN_ERROR error 24.11 -
SRUN_INPUT input 24.11 -
SRUN_OUTPUT output 24.11 -
SRUN_SEGMENT_SIZE segment 26.05 -
SRUN_CPUS_PER_TASK cpus-per-task - 24.11
"""

_SALLOC = """
SALLOC_ACCOUNT account
SALLOC_ACCTG_FREQ acctg-freq
SALLOC_BELL bell
SALLOC_BURST_BUFFER bb
SALLOC_CLUSTER_CONSTRAINT cluster-constraint
SALLOC_CLUSTERS clusters
SLURM_CLUSTERS clusters
SALLOC_CONSOLIDATE_SEGMENTS consolidate-segments 26.05 -
SALLOC_CONTAINER container
SALLOC_CONTAINER_ID container-id 24.11 -
SALLOC_CONTAINER_TYPE container-type 26.05 -
SALLOC_CONSTRAINT constraint
SALLOC_CORE_SPEC core-spec
SALLOC_CPU_FREQ_REQ cpu-freq
SALLOC_CPUS_PER_GPU cpus-per-gpu
SALLOC_DEBUG verbose
SALLOC_DELAY_BOOT delay-boot
SALLOC_EXCLUSIVE exclusive
SALLOC_GPUS gpus
SALLOC_GPU_BIND gpu-bind
SALLOC_GPU_FREQ gpu-freq
SALLOC_GPUS_PER_NODE gpus-per-node
SALLOC_GPUS_PER_SOCKET gpus-per-socket
SALLOC_GPUS_PER_TASK gpus-per-task
SALLOC_GRES gres
SALLOC_GRES_FLAGS gres-flags
SALLOC_IMMEDIATE immediate
SALLOC_HINT hint
SLURM_HINT hint
SALLOC_KILL_CMD kill-command
SALLOC_MEM_BIND mem-bind
SALLOC_MEM_PER_CPU mem-per-cpu
SALLOC_MEM_PER_GPU mem-per-gpu
SALLOC_MEM_PER_NODE mem
SALLOC_NETWORK network
SALLOC_NO_BELL no-bell
SALLOC_NO_KILL no-kill
SALLOC_OVERCOMMIT overcommit
SALLOC_PARTITION partition
SALLOC_POWER power - 24.11
SALLOC_PROFILE profile
SALLOC_QOS qos
SALLOC_REQ_SWITCH switch-req
SALLOC_RESERVATION reservation
SALLOC_SEGMENT_SIZE segment 26.05 -
SALLOC_SIGNAL signal
SALLOC_SPREAD_JOB spread-job
SALLOC_SPREAD_SEGMENTS spread-segments 26.05 -
SALLOC_THREAD_SPEC thread-spec
SALLOC_THREADS_PER_CORE threads-per-core
SALLOC_TIMELIMIT time
SALLOC_TRES_BIND tres-bind 24.11 -
SALLOC_TRES_PER_TASK tres-per-task 24.11 -
SALLOC_USE_MIN_NODES use-min-nodes
SALLOC_WAIT_ALL_NODES wait-all-nodes
SALLOC_WAIT4SWITCH switch-wait
SALLOC_WCKEY wckey
"""

_TABLES = {"sbatch": _SBATCH, "srun": _SRUN, "salloc": _SALLOC}


def variables_of(command: str, release: str) -> list[tuple[str, str]]:
    """Variables `command` reads in `release`, each with the name of its option."""
    found = []
    for line in _TABLES[command].split("\n"):
        words = line.split()
        if not words:
            continue
        name, option, since, until = (*words, "-", "-")[:4]
        if has(release, since, until):
            found.append((name, option))
    return found
