"""sbcast: refused. All nodes of this cluster are one machine, so there is nowhere to copy a file to.

The command line is read as src/sbcast of Slurm 22.05 reads it, so that its own complaints come first.
"""

from __future__ import annotations

import os

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text.messages import stoppable
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, Parser, options
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


_OPTIONS = options(
    ("compress", OPTIONAL, "C"), ("exclude", REQUIRED, "exclude"), ("fanout", REQUIRED, "F"), ("force", NO, "f"),
    ("jobid", REQUIRED, "j"), ("send-libs", OPTIONAL, "send-libs"), ("preserve", NO, "p"), ("size", REQUIRED, "s"),
    ("timeout", REQUIRED, "t"), ("verbose", NO, "v"), ("version", NO, "V"), ("help", NO, "help"),
    ("usage", NO, "usage"),
)  # fmt: skip


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sbcast call in the world `io`; the exit code."""
    parser = Parser(_OPTIONS, permute=True)
    job = io.environ.get("SLURM_JOB_ID")
    for key, value in parser.parse_for("sbcast", argv, io):
        if key == "V":
            io.out(version_of(io))
            return 0
        if key in ("help", "usage"):
            io.out("Usage: sbcast [OPTIONS] SOURCE DEST\n")
            return 0
        if key == "j":
            job = value
    if len(parser.rest) != 2:
        io.error(f'Need two file names, have {len(parser.rest)} names\nTry "sbcast --help" for more information')
        return 1
    if not job:
        io.error(
            "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option."
        )
        return 1
    try:
        io.client.call("jobs", fields=["job_id"], job_id=int(job) if job.isdigit() else 0)
    except FAILED_CALLS as error:
        if since(release_of(io), "sbcast_loads_job"):
            io.error(f"sbcast: error: Failed to load JobId={job}: '{text_of(error)}'")
            return 1
        io.error(f"sbcast: error: Slurm job {job} lookup error: {text_of(error)}")
        return 255
    if not os.path.exists(parser.rest[0]):
        io.error(f"sbcast: error: Can't open `{parser.rest[0]}`: No such file or directory")
        return 255
    io.error("sbcast: error: copying files to nodes is not modelled: all nodes are this machine")
    return 1
