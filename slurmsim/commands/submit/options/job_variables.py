"""Environment variables that stand for options of sbatch, srun and salloc, in the order they are read.

A later variable of the same option wins. A line is ``variable option commands [first release] [first one without it]``.
The commands are their second letters: b is sbatch, r srun and a salloc. Their variables begin with SBATCH_, SLURM_ and
SALLOC_, but for those that are written out behind a ``=``.
"""

from slurmsim.releases import has

_PREFIXES = {"b": "SBATCH_", "r": "SLURM_", "a": "SALLOC_"}
_VARIABLES = """
ACCOUNT account bra
ARRAY_INX array b
ACCTG_FREQ acctg-freq bra
BATCH batch b
BCAST bcast r
BCAST_EXCLUDE bcast-exclude r
BELL bell a
BURST_BUFFER bb bra
CLUSTER_CONSTRAINT cluster-constraint ba
CLUSTERS clusters bra
=SLURM_CLUSTERS clusters ba
CLUSTER_CONSTRAINT cluster-constraint r
COMPRESS compress r
CONSOLIDATE_SEGMENTS consolidate-segments bra 26.05
CONTAINER container ba
CONTAINER_ID container-id ba 24.11
CONTAINER_TYPE container-type ba 26.05
CONSTRAINT constraint bra
CORE_SPEC core-spec bra
CPUS_PER_TASK cpus-per-task r 24.11
CPU_BIND cpu-bind r
CPU_FREQ_REQ cpu-freq bra
CPUS_PER_GPU cpus-per-gpu bra
DEBUG verbose a
DELAY_BOOT delay-boot bra
DEPENDENCY dependency r
DISABLE_STATUS disable-status r
DISTRIBUTION distribution br
EPILOG epilog r
EXACT exact r
EXCLUSIVE exclusive bra
EXPORT export b
GET_USER_ENV get-user-env b
GRES gres b
GRES_FLAGS gres-flags b
EXPORT_ENV export r
=SRUN_EXPORT_ENV export r
EXTERNAL_LAUNCHER external-launcher r 24.11
GPUS gpus bra
GPU_BIND gpu-bind bra
GPU_FREQ gpu-freq bra
GPUS_PER_NODE gpus-per-node bra
GPUS_PER_SOCKET gpus-per-socket bra
GPUS_PER_TASK gpus-per-task bra
=SLURM_HINT hint b
GRES gres ra
GRES_FLAGS gres-flags ra
IMMEDIATE immediate a
HINT hint bra
JOB_ID jobid r
JOB_NAME job-name br
JOB_NODELIST alloc-nodelist r
JOB_NUM_NODES nodes r
KILL_BAD_EXIT kill-on-bad-exit r
LABELIO label r
=SLURM_HINT hint a
KILL_CMD kill-command a
MEM_BIND mem-bind bra
MEM_PER_CPU mem-per-cpu bra
MEM_PER_GPU mem-per-gpu bra
MEM_PER_NODE mem bra
MPI_TYPE mpi r
NCORES_PER_SOCKET cores-per-socket r
NETWORK network bra
NO_BELL no-bell a
NO_KILL no-kill bra
NO_REQUEUE no-requeue b
NPROCS ntasks r
NTASKS ntasks r
NSOCKETS_PER_NODE sockets-per-node r
NTASKS_PER_CORE ntasks-per-core r 24.11
NTASKS_PER_NODE ntasks-per-node r
NTASKS_PER_GPU ntasks-per-gpu r
NTASKS_PER_TRES ntasks-per-tres r
OOM_KILL_STEP oom-kill-step r 24.11
OPEN_MODE open-mode br
OVERCOMMIT overcommit bra
OVERLAP overlap r
PARTITION partition bra
POWER power bra - 24.11
PROFILE profile bra
PROLOG prolog r
QOS qos bra
REMOTE_CWD chdir r
REQ_SWITCH switch-req bra
REQUEUE requeue b
RESERVATION reservation bra
SEGMENT_SIZE segment ba 26.05
RESV_PORTS resv-ports r
SEND_LIBS send-libs r
SIGNAL signal bra
SPREAD_JOB spread-job bra
SPREAD_SEGMENTS spread-segments bra 26.05
SRUN_MULTI multi-prog r
STDERRMODE error r
STDINMODE input r
STDOUTMODE output r
TASK_EPILOG task-epilog r
TASK_PROLOG task-prolog r
THREAD_SPEC thread-spec bra
THREADS threads r
THREADS_PER_CORE threads-per-core bra
TIMELIMIT time bra
TRES_BIND tres-bind bra 24.11
TRES_PER_TASK tres-per-task bra 24.11
UNBUFFEREDIO unbuffered r
USE_MIN_NODES use-min-nodes bra
WAIT wait br
WAIT_ALL_NODES wait-all-nodes ba
WAIT4SWITCH switch-wait bra
WCKEY wckey bra
ERROR error b
INPUT input b
OUTPUT output b
IGNORE_PBS ignore-pbs b
WORKING_DIR chdir r
=SLURMD_DEBUG slurmd-debug r
=SRUN_CONTAINER container r
=SRUN_CONTAINER_ID container-id r 24.11
=SRUN_CONTAINER_TYPE container-type r 26.05
DEBUG verbose br
=SRUN_ERROR error r 24.11
=SRUN_INPUT input r 24.11
=SRUN_OUTPUT output r 24.11
=SRUN_SEGMENT_SIZE segment r 26.05
=SRUN_CPUS_PER_TASK cpus-per-task r - 24.11
"""


def variables_of(command: str, release: str) -> list[tuple[str, str]]:
    """Variables `command` reads in `release`, each with the name of its option."""
    found = []
    for line in filter(None, _VARIABLES.split("\n")):
        name, option, commands, since, until = (*line.split(), "-", "-")[:5]
        if command[1] in commands and has(release, since, until):
            found.append((name[1:] if name.startswith("=") else _PREFIXES[command[1]] + name, option))
    return found
