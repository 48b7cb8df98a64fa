"""sbcast: copies a file to the nodes of a running job. All nodes are this machine, so it is copied once.

The command line is read as src/sbcast of Slurm reads it. A copy that fails fails on every node of the job.
"""

from __future__ import annotations

import os
import time

from slurmsim import hostlist, sluid
from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text import short_helps
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, Parser, options
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.commands.text.shown_id import shown_id
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from slurmsim.commands.io import Io

_OPTIONS = options(
    ("compress", OPTIONAL, "C"), ("exclude", REQUIRED, "exclude"), ("fanout", REQUIRED, "F"), ("force", NO, "f"),
    ("jobid", REQUIRED, "j"), ("send-libs", OPTIONAL, "send-libs"), ("preserve", NO, "p"), ("size", REQUIRED, "s"),
    ("timeout", REQUIRED, "t"), ("verbose", NO, "v"), ("version", NO, "V"), ("help", NO, "help"),
    ("usage", NO, "usage"),
)  # fmt: skip


_USAGE = "Usage: sbcast [--exclude] [-CfFjpvV] [--send-libs] SOURCE DEST\n"
_ENDED = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",
          "OUT_OF_MEMORY")  # fmt: skip
_FIELDS = ("job_id", "job_state", "user_name", "nodes")
_EXCLUDED = "/lib,/usr/lib,/lib64,/usr/lib64"
_BLOCK = 8 << 20
_VALID_S = 600  # how long a credential holds


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sbcast call in the world `io`; the exit code."""
    parser = Parser(_OPTIONS, permute=True)
    given: dict[str, str] = {"verbose": ""}
    for key, value in parser.parse_for("sbcast", argv, io):
        if key == "V":
            io.out(version_of(io))
            return 0
        if key in ("help", "usage"):
            io.out(_USAGE if key == "usage" else short_helps.text("sbcast", _OPTIONS))
            return 0
        given[key] = value or ""
        given["verbose"] += "v" if key == "v" else ""
    if len(parser.rest) != 2:
        io.error(f'Need two file names, have {len(parser.rest)} names\nTry "sbcast --help" for more information')
        return 1
    job = given.get("j") or io.environ.get("SLURM_JOB_ID")
    if not job:
        io.error(
            "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option."
        )
        return 1
    source, target = parser.rest
    if target.endswith("/"):
        io.error("sbcast: error: Target filename cannot be a directory.")
        return 1
    if "send-libs" in given:
        io.error("sbcast: error: --send-libs is not modelled")
        return 1
    return _copy_to_nodes(io, job, source, target, given)


def _copy_to_nodes(io: Io, job: str, source: str, target: str, given: dict[str, str]) -> int:
    release = release_of(io)
    if given["verbose"]:
        _tell_options(io, release, source, target, given)
    row = _job(io, job, release)
    found, content = _read(io, source)
    if given["verbose"]:
        _tell_file(io, found, row, release)
    if not content:
        io.error(f"sbcast: {_warning(release)}file `{source}` is empty.")
    path = os.path.join(io.cwd, target)
    try:
        if "f" in given and os.path.exists(path):
            os.unlink(path)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700), "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), found.st_mode & 0o777)
        if "p" in given:
            os.utime(path, (found.st_atime, found.st_mtime))
    except OSError as error:
        return _failed(io, row, error.strerror or "", error.errno or 1)
    if not content and since(release, "sbcast_empty_file_fails"):
        return _failed(io, row, "Unspecified error", 255)
    return 0


def _warning(release: str) -> str:
    return "warning: " if since(release, "sbcast_warns") else "error: Warning: "


def _failed(io: Io, row: dict[str, Any], why: str, code: int) -> int:
    for node in hostlist.expand(row["nodes"]):
        io.error(f"sbcast: error: REQUEST_FILE_BCAST({node}): {why}")
    return code


def _job(io: Io, job: str, release: str) -> dict[str, Any]:
    """Return the running job. Raises Stop."""
    number = shown_id(io, job) if sluid.number_of(job) is not None else job
    try:
        columns = io.client.call("jobs", fields=list(_FIELDS), job_id=int(number) if is_number(number) else 0)[
            "columns"
        ]
    except FAILED_CALLS as error:
        if since(release, "sbcast_loads_job"):
            io.error(f"sbcast: error: Failed to load JobId={job}: '{text_of(error)}'")
            raise Stop(1) from None
        raise _not_found(io, job, text_of(error)) from None
    row = {name: columns[name][0] for name in _FIELDS}
    if row["job_state"] == "PENDING":
        raise _not_found(io, job, "Job is pending execution")
    if row["job_state"] in _ENDED:
        raise _not_found(io, job, "Job/step already completing or completed")
    own = io.client.call("hello").get("user")
    if own not in (row["user_name"], "root"):
        raise _not_found(io, job, "Invalid user id")
    return row


def _not_found(io: Io, job: str, why: str) -> Stop:
    io.error(f"sbcast: error: Slurm job {job} lookup error: {why}")
    return Stop(255)


def _read(io: Io, source: str) -> tuple[os.stat_result, bytes]:
    """Return what is known of a file, and what is in it. Raises Stop."""
    path = os.path.join(io.cwd, source)
    if os.path.isdir(path):
        io.error(f"sbcast: error: Can't mmap file `{source}`, No such device.")
        raise Stop(255)
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            return found, file.read(found.st_size)  # a device without an end has no size
    except OSError as error:
        io.error(f"sbcast: error: Can't open `{source}`: {error.strerror}")
        raise Stop(255) from None


def _tell_options(io: Io, release: str, source: str, target: str, given: dict[str, str]) -> None:
    def told(option: str) -> str:
        return str(option in given).lower()

    width = "treewidth    " if since(release, "sbcast_tells_tree_width") else "fanout    "
    rule = "-----------------------------"
    lines = (rule, f"block_size = {_BLOCK}", f"compress   = {int('C' in given)}",
             f"exclude    = {given.get('exclude') or _EXCLUDED}", f"force      = {told('f')}",
             f"{width} = {given.get('F', 0)}", f"preserve   = {told('p')}", "send_libs  = false",
             f"timeout    = {given.get('t', 0)}", f"verbose    = {len(given['verbose'])}", f"source     = {source}",
             f"dest       = {target}", rule)  # fmt: skip
    _tell(io, lines)


def _tell_file(io: Io, found: os.stat_result, row: dict[str, Any], release: str) -> None:
    het = ("Sbcast_cred: HetJobId 0",) if since(release, "sbcast_tells_het_job") else ()
    made = int(io.client.call("hello")["now"])
    lines = (f"modes    = {found.st_mode:o}", f"uid      = {found.st_uid}", f"gid      = {found.st_gid}",
             f"atime    = {time.ctime(found.st_atime)}", f"mtime    = {time.ctime(found.st_mtime)}",
             f"ctime    = {time.ctime(found.st_ctime)}", f"size     = {found.st_size}", f"jobid      = {row['job_id']}",
             f"node_list  = {row['nodes']}", f"Sbcast_cred: JobId   {row['job_id']}", *het, "Sbcast_cred: StepId  0",
             f"Sbcast_cred: Nodes   {row['nodes']}", f"Sbcast_cred: ctime   {_date(made)}",
             f"Sbcast_cred: Expire  {_date(made + _VALID_S)}")  # fmt: skip
    _tell(io, lines)


def _date(when: int) -> str:
    return time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(when))


def _tell(io: Io, lines: Sequence[str]) -> None:
    for line in lines:
        io.error(f"sbcast: {line}")
