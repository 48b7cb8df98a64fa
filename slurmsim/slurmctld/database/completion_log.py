"""JobCompType=jobcomp/filetxt: a line for every run that ended, in a file of the cluster's folder.

The file is ``var/log/NAME`` there, NAME being the last part of JobCompLoc: a slurm.conf may be that of a real cluster,
and the log of that cluster must not be written to. A restart cuts the file to its length in the restored state, and
writes the rest anew with the journal, so the file always agrees with the journal. Mirrors jobcomp_filetxt.c (22.05).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from slurmsim.states import JobState
from slurmsim.tres import format_tres

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.job_record import JobRecord
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

_NO_CODE = (JobState.CANCELLED, JobState.PREEMPTED, JobState.TIMEOUT, JobState.NODE_FAIL)
"""Ends that are written down before the processes have said theirs."""


class CompletionLog:
    """The file, made when the first line is written."""

    def __init__(self, cluster: LiveCluster, path: Path) -> None:
        self._cluster, self._path = cluster, path
        self._file: BinaryIO | None = None
        self.written = 0  # bytes of it so far; what lies behind them is of a future that will come again

    def __call__(self, record: JobRecord) -> None:
        """Write the line of a run that is over. A full disk costs lines, nothing else."""
        with suppress(OSError):
            if self._file is None:
                self._file = self._opened()
            line = (self._line(record) + "\n").encode("utf-8", "replace")
            self._file.write(line)
            self.written += len(line)

    def _opened(self) -> BinaryIO:
        for folder in (self._path.parent.parent, self._path.parent):
            folder.mkdir(mode=0o755, exist_ok=True)
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        self.written = min(self.written, os.fstat(fd).st_size)  # the file may have been removed meanwhile
        os.ftruncate(fd, self.written)
        os.lseek(fd, self.written, os.SEEK_SET)
        return os.fdopen(fd, "wb", buffering=0)

    def _line(self, r: JobRecord) -> str:
        state = "PENDING" if r.state == "REQUEUED" else r.state
        limit = "UNLIMITED" if r.time_limit is None or r.time_limit < 0 else r.time_limit
        code = 0 if r.state in _NO_CODE else r.exit_code
        task = "" if r.array_task_id is None else f" ArrayJobId={r.array_job_id} ArrayTaskId={r.array_task_id}"
        cluster = self._cluster.spec.name if r.assoc_id else "unknown"
        return (
            f"JobId={r.job_id} UserId={r.user}({r.uid}) GroupId={r.group}({r.gid}) Name={r.name} JobState={state} "
            f"Partition={r.partition} TimeLimit={limit} StartTime={_time(r.start or r.end)} EndTime={_time(r.end)} "
            f"NodeList={r.nodes if r.start else '(null)'} NodeCnt={r.alloc_nodes or 1} "
            f"ProcCnt={r.tres_alloc.get('cpu', r.req_cpus)} WorkDir={r.asked.get('work_dir') or '/'} "
            f"ReservationName={r.resv_name or ''} Tres={format_tres(r.tres_req)} Account={r.account} QOS={r.qos} "
            f"WcKey={r.asked.get('wckey') or ''} Cluster={cluster} SubmitTime={_time(r.submit)} "
            f"EligibleTime={_time(r.eligible or 0)}{task} DerivedExitCode={_exit(r.derived_ec)} ExitCode={_exit(code)} "
        )


def _time(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds)) if seconds else "Unknown"


def _exit(status: int) -> str:
    return f"0:{status & 0x7F}" if status & 0x7F else f"{status >> 8 & 0xFF}:0"


def completion_log(cluster: LiveCluster, folder: Path) -> CompletionLog | None:
    """Return the log slurm.conf asks for, None for none."""
    if cluster.conf.scalar("JobCompType").lower().removeprefix("jobcomp/") != "filetxt":
        return None
    return CompletionLog(
        cluster, folder / "var" / "log" / (Path(cluster.conf.scalar("JobCompLoc")).name or "slurm_jobcomp.log")
    )
