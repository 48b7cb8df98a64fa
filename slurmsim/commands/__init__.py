"""The fake commands: thin programs that ask the daemon and print what Slurm prints.

A room a command (`squeue`, `sinfo`, `sacct`, `sacctmgr`, `scontrol`, `scancel`, `scrontab`, `sreport`), one for those
that submit (`submit`) and one for the `small` ones; what they share is in `text` and `json`, what they see of the world
in `io`.
"""

_ROOMS = {
    "submit": ("salloc", "sbatch", "srun"),
    "squeue": ("squeue",),
    "sinfo": ("sinfo",),
    "sacct": ("sacct",),
    "sacctmgr": ("sacctmgr",),
    "scontrol": ("scontrol",),
    "scancel": ("scancel",),
    "scrontab": ("scrontab",),
    "sreport": ("sreport",),
    "small": ("sattach", "sbcast", "sdiag", "seff", "scrun", "sprio", "sshare", "sstat", "strigger", "swait"),
}
MODULES = {name: f"slurmsim.commands.{room}.{name}" for room, names in _ROOMS.items() for name in names}
"""The commands there are, and the module each is; its `run` takes the words and a world (`io`)."""


def main(name: str) -> int:
    """Be the command `name`; its exit code. Programs in clusters' folders call this, wherever its module is by then."""
    from slurmsim.commands.io import run_command

    return run_command(name, __import__(MODULES[name], fromlist=["run"]).run)
