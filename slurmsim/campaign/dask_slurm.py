"""Dask's workers in jobs of the Slurm that has its commands on PATH, by dask-jobqueue: one worker of one core a job.

What a site wants of such jobs (partition, account, time limit, memory) is said in Dask's own configuration,
``jobqueue.slurm``. A job that ends while there is work is followed by another. All that workers say goes through TLS.
"""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.extras import how_to_install

MEMORY = "2GiB"  # of a job, where Dask's configuration has none
LOOK_S = 5.0  # between two looks at jobs
ROLES = ("client", "scheduler", "worker")
_HERE = "127.0.0.1:0"  # Dask's status pages are plain HTTP: for this machine only


class SlurmWorkers:
    """`workers` jobs, each with a worker of Dask.

    Parameters
    ----------
    workers
        How many; at least one.
    shared
        An empty folder that workers see under the same name; keys for TLS go there, and the caller removes it.
    logs
        Folder for what the jobs print.

    Raises
    ------
    ConfigError
        A package is missing, there is no sbatch, or Slurm would refuse the jobs.
    """

    def __init__(self, workers: int, *, shared: Path, logs: Path) -> None:
        if workers < 1:
            raise ConfigError(
                f"{workers} jobs", field="--workers", expected="with --dask slurm, how many jobs to submit"
            )
        self.workers = workers
        self.logs = logs
        self.cluster = _cluster(shared, logs)
        self._gone_since: float | None = None
        self._looked = time.monotonic()
        try:
            _check(self.cluster.job_script())
        except BaseException:
            self.cluster.close()
            raise
        self.cluster.scale(jobs=workers)

    def look(self) -> None:
        """Now and then: replace jobs that are gone. Raises SlurmSimError when all have ended before a worker came."""
        if time.monotonic() - self._looked < LOOK_S:
            return
        self._looked = time.monotonic()
        jobs = {job.job_id for job in self.cluster.workers.values() if job.job_id}
        up = self.cluster.scheduler_info["workers"]
        if jobs and not up and not jobs & _queued(jobs):
            self._check_came(jobs)
        else:
            self._gone_since = None
        self.cluster.scale(jobs=self.workers)

    def _check_came(self, jobs: set[str]) -> None:
        """Raise SlurmSimError if all jobs have ended before their workers came.

        Dask forgets an ended job after a while if its worker came; other jobs stay in its list.
        """
        import dask
        from dask.utils import parse_timedelta

        self._gone_since = self._gone_since or self._looked
        patience = parse_timedelta(dask.config.get("distributed.deploy.lost-worker-timeout")) + LOOK_S
        if self._looked - self._gone_since > patience:
            said = ", ".join(sorted(jobs))
            raise SlurmSimError(f"Dask: Slurm's jobs {said} ended before their workers came; what they printed is in "
                                f"{self.logs}")  # fmt: skip

    def close(self) -> None:
        """Cancel the jobs."""
        self.cluster.close()


def _cluster(shared: Path, logs: Path) -> Any:
    try:
        import dask
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise ConfigError("dask-jobqueue is not installed", field="--dask", expected=how_to_install("dask")) from None
    said = dask.config.get("jobqueue.slurm", {})
    return SLURMCluster(
        cores=1, processes=1, memory=_memory(said), job_cpu=1, protocol="tls://", security=_security(shared),
        log_directory=said.get("log-directory") or str(logs),
        local_directory=said.get("local-directory") or str(shared),
        scheduler_options={"dashboard_address": _HERE, **(said.get("scheduler-options") or {})},
        worker_extra_args=[*(said.get("worker-extra-args") or []), "--dashboard-address", _HERE],
        job_script_prologue=[*(said.get("job-script-prologue") or []), "export PYTHONSAFEPATH=1"],
        silence_logs=50,
    )  # fmt: skip


def _memory(said: dict[str, Any]) -> str:
    """Return a core's share of what the configuration gives a job."""
    from dask.utils import parse_bytes

    return f"{parse_bytes(said.get('memory') or MEMORY) // int(said.get('cores') or 1)}B"


def _security(shared: Path) -> Any:
    """Certificates of Dask's configuration; where it has none, new ones for this sweep alone, in files workers see."""
    from distributed.security import Security

    given = Security(require_encryption=True)
    if all(given.get_tls_config_for_role(role)["cert"] for role in ROLES):
        return given
    try:
        made = Security.temporary().get_tls_config_for_role("worker")
    except ImportError:
        raise ConfigError(
            "no certificates",
            field="--dask",
            expected="distributed.comm.tls in Dask's configuration, or pip install cryptography",
        ) from None
    files = {}
    for name in ("ca_file", "cert", "key"):
        files[name] = str(shared / f"tls.{name}")
        with open(os.open(files[name], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(made[name])
    roles = {
        f"tls_{role}_{part}": files[part] for role in ("client", "scheduler", "worker") for part in ("cert", "key")
    }
    return Security(require_encryption=True, tls_ca_file=files["ca_file"], **roles)


def _check(script: str) -> None:
    """Raise ConfigError unless Slurm would take the job."""
    try:
        done = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigError(f"sbatch: {error.strerror}", field="--dask", expected="Slurm's commands on PATH") from None
    if done.returncode:
        raise ConfigError(" ".join(done.stderr.split()), field="--dask",
                          expected="jobs Slurm takes (jobqueue.slurm in Dask's configuration)")  # fmt: skip


def _queued(jobs: set[str]) -> set[str]:
    """Those of `jobs` that wait or run; all of them where Slurm does not answer."""
    done = subprocess.run(["squeue", "--me", "--noheader", "--format=%A"], capture_output=True, text=True, check=False)
    return set(done.stdout.split()) if done.returncode == 0 else jobs
