"""The two small scripts scontrol leaves behind a resize: they bring a shell inside the job up to date."""

import os

from slurmsim.commands.io import FAILED_CALLS
from slurmsim.commands.scontrol.session import Session

_TEXTS = (("SLURM_NODELIST", "nodes"), ("SLURM_JOB_NODELIST", "nodes"), ("SLURM_NNODES", "num_nodes"),
          ("SLURM_JOB_NUM_NODES", "num_nodes"), ("SLURM_JOB_CPUS_PER_NODE", "cpus_per_node"))  # fmt: skip
_QUOTED = frozenset({"nodes", "cpus_per_node"})


def write_scripts(session: Session, job_id: str) -> None:
    """Write them into the current folder, if scontrol runs inside a job."""
    io = session.io
    if "SLURM_JOBID" not in io.environ:
        return
    try:
        row = session.load("jobs", ["job_id", "nodes", "num_nodes", "cpus_per_node"], job_id=job_id)[0]
    except FAILED_CALLS:
        return
    bash, csh = [], []
    for name, field in _TEXTS:
        if name in io.environ:
            value = f'"{row[field] or ""}"' if field in _QUOTED else str(row[field])
            bash.append(f"export {name}={value}\n")
            csh.append(f"setenv {name} {value}\n")
    if "SLURM_TASKS_PER_NODE" in io.environ:
        for name in ("SLURM_NPROCS", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE"):
            bash.append(f"unset {name}\n")
            csh.append(f"unsetenv {name}\n")
    base = f"slurm_job_{row['job_id']}_resize"
    for suffix, lines in (("csh", csh), ("sh", bash)):
        path = os.path.join(io.cwd, f"{base}.{suffix}")
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(lines)
            os.chmod(path, 0o700)
        except OSError as error:
            io.error(f"Could not create file {base}.{suffix}: {error.strerror}")
            return
    io.out("To reset Slurm environment variables, execute\n")
    io.out(f"  For bash or sh shells:  . ./{base}.sh\n")
    io.out(f"  For csh shells:         source ./{base}.csh\n")
