"""The commands of one cluster: small programs in a folder of its own, put on PATH only by who wants them there.

A command finds its cluster by the environment, else by the folder it lies in. Commands the imitated release does not
have are there too, and say so, because a real Slurm's must not be reached by accident.
"""

import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from slurmsim.commands import MODULES

NAMES = (
    "sacct", "sacctmgr", "salloc", "sattach", "sbatch", "sbcast", "scancel", "scontrol", "scrontab", "scrun", "sdiag",
    "seff", "sinfo", "slurmd", "slurmrestd", "sprio", "squeue", "sreport", "srun", "sshare", "sstat", "strigger",
    "swait",
)  # fmt: skip
"""The commands of a Slurm installation."""

_PROGRAM = """#!{python} -IS
import sys
sys.path[:0] = {path!r}
from slurmsim import protocol
protocol.HOME = {folder!r}
from slurmsim.commands import command
command({name!r})
"""
_SERVER = """#!{python} -P
import sys
sys.path[:0] = {path!r}
from slurmsim import protocol
protocol.HOME = {folder!r}
try:
    from slurmsim.rest.server import main
except ModuleNotFoundError as error:
    from slurmsim.extras import how_to_install
    sys.exit(f"slurmrestd: error: {{error.name}} is not installed: {{how_to_install('rest')}}")
sys.exit(main())
"""
"""What needs installed packages, unlike the commands."""


def write_programs(folder: Path) -> Path:
    """Write the commands of the cluster in `folder`; where they are. Raises OSError."""
    place = folder / "bin"
    place.mkdir(mode=0o755, exist_ok=True)
    for name in NAMES:
        kind = _PROGRAM if name in MODULES else _SERVER
        text = kind.format(python=sys.executable, path=_import_path(), folder=str(folder), name=name)
        with suppress(OSError):
            if (place / name).read_text("utf-8") == text:  # also on a full disk
                continue
        part = place / f"{name}.part"
        part.write_text(text, "utf-8")
        part.chmod(0o755)
        part.rename(place / name)  # a caller meanwhile finds the old or the new file, never half of one
    return place


def _import_path() -> list[str]:
    """Where a Python without site packages finds slurmsim."""
    spec = find_spec("slurmsim")
    assert spec is not None and spec.submodule_search_locations
    return [str(Path(next(iter(spec.submodule_search_locations))).parent)]
