"""What programs that start MPI ranks (mpirun, mpiexec) are told, so that the srun they call knows who calls it.

Mirrors set_env_from_opts (src/common/env.c, 24.11): what is set already stays, and a launcher that was told to go
another way than over Slurm (``HYDRA_BOOTSTRAP=ssh``) is told nothing.
"""

from __future__ import annotations

from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


_ARGUMENT = "--external-launcher"
_OPEN_MPI = ("OMPI_MCA_plm_slurm_args", "PRTE_MCA_plm_slurm_args")
_HYDRA = (
    ("HYDRA_BOOTSTRAP", "HYDRA_LAUNCHER_EXTRA_ARGS"),
    ("I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"),
)


def launcher_variables(environ: Mapping[str, str], release: str) -> dict[str, str]:
    """Return what `release` adds to `environ` for launchers of MPI programs.

    >>> launcher_variables({"HYDRA_BOOTSTRAP": "ssh", "OMPI_MCA_plm_slurm_args": "-v"}, "22.05")
    {}
    >>> sorted(launcher_variables({"HYDRA_BOOTSTRAP": "ssh", "OMPI_MCA_plm_slurm_args": "-v"}, "24.11"))
    ['I_MPI_HYDRA_BOOTSTRAP', 'I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS', 'PRTE_MCA_plm_slurm_args']
    """
    if not since(release, "mpi_launchers_told"):
        return {}
    wanted = dict.fromkeys(_OPEN_MPI, _ARGUMENT)
    for bootstrap, arguments in _HYDRA:
        if environ.get(bootstrap, "slurm") == "slurm":
            wanted |= {bootstrap: "slurm", arguments: _ARGUMENT}
    return {name: value for name, value in wanted.items() if name not in environ}
