"""scontrol's other keywords: the daemon's log, error numbers, files, processes of this machine."""

from __future__ import annotations

import contextlib
import hashlib
import os

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.session import Session
from slurmsim.commands.scontrol.step_processes import step_processes
from slurmsim.commands.text.values import leading_number
from slurmsim.protocol import Unreachable
from slurmsim.release_changes import since
from slurmsim.sluid import number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Words = Sequence[str]
_DENIED = "slurm_fetch_token: error with request: Access/permission denied"
_LEVELS = ("quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5")
_DEBUG_FLAGS = frozenset({
    "accrue", "agent", "audittls", "backfill", "backfillmap", "burstbuffer", "cgroup", "conmgr", "cpu_bind",
    "cpufrequency", "data",
    "dbd_agent", "dependency", "elasticsearch", "energy", "extsensors", "federation", "frontend", "gang",
    "glob_silence",
    "gres", "hetjob", "interconnect", "jobaccountgather", "jobcomp", "jobcontainer", "license", "metrics", "namespace",
    "network", "networkraw", "nodefeatures", "nohold", "power", "priority", "profile", "protocol", "reservation",
    "route", "script", "selecttype", "steps", "stepmgr", "switch", "timecray", "tls", "topology", "tracejobs",
    "triggers", "workqueue",
})  # fmt: skip


def _count(session: Session, words: Words, most: int = 2) -> bool:
    """Return True if there are as many words as there must be."""
    if len(words) > most:
        session.warn(f"too many arguments for keyword:{words[0]}")
    elif len(words) < 2:
        session.warn(f"too few arguments for keyword:{words[0]}")
    return 2 <= len(words) <= most


def _ask(session: Session, what: str, call: str, **arguments: Any) -> None:
    if error := session.request(call, **arguments):
        session.complain(what, error)


# -- the daemon's log ------------------------------------------------------------------------------------------------


def set_debug(session: Session, words: Words) -> None:
    """``setdebug LEVEL [nodes=...]``."""
    if not _count(session, words, 3 if since(session.release, "debug_of_nodes") else 2):
        return
    level = _LEVELS.index(words[1].lower()) if words[1].lower() in _LEVELS else _small(words[1], 9)
    if level is None:
        session.warn(f"invalid debug level: {words[1]}")
    elif len(words) == 3 and not words[2].lower().startswith("nodes="):
        session.warn(f"Invalid option: {words[1]}")
    else:
        _ask(session, "slurm_set_debug_level error", "set_debug", level=level)


def _small(text: str, most: int) -> int | None:
    number, rest = leading_number(text)
    return number if text and not rest and 0 <= number <= most else None


def set_debug_flags(session: Session, words: Words) -> None:
    """``setdebugflags {+|-}NAME...``."""
    of_nodes = since(session.release, "debug_of_nodes")
    if not _count(session, words, 1 << 30 if of_nodes else 2):
        return
    mode, at = 0, 1
    while at < len(words):
        mode = {"+": 1, "-": -1}.get(words[at][:1], 0)
        if not mode or words[at][1:].lower() not in _DEBUG_FLAGS:
            break
        at += 1
    last = words[at].lower() if at == len(words) - 1 else ""
    if of_nodes and last.startswith(("node=", "nodes=")):
        _ask(session, "slurm_set_debug_flags error", "set_debug", flags=list(words[1:at]))
    elif at < len(words):
        session.warn(f"invalid debug flag: {words[at]}")
        if not mode:
            usage = "{+|-}NAME [{+|-}NAME] [nodes=<NODES>]" if of_nodes else "[+|-]NAME"
            session.warn(f"Usage: setdebugflags {usage}")
    else:
        _ask(session, "slurm_set_debug_flags error", "set_debug", flags=list(words[1:]))


def sched_log_level(session: Session, words: Words) -> None:
    """``schedloglevel 0|1|disable|enable``."""
    if not _count(session, words):
        return
    names = ("disable", "enable")
    level = names.index(words[1].lower()) if words[1].lower() in names else _small(words[1], 1)
    if level is None:
        session.warn(f"invalid schedlog level: {words[1]}")
    else:
        _ask(session, "slurm_set_schedlog_level error", "set_debug", sched_log=level)


def dampening_factor(session: Session, words: Words) -> None:
    """``fsdampeningfactor N``."""
    if not _count(session, words):
        return
    factor = _small(words[1], 0xFFFF)
    if not factor:
        if session.quiet != 1:
            session.io.error(f"invalid dampening factor: {words[1]}")
        return
    _ask(session, "slurm_set_fs_dampeningfactor error", "set_debug", dampening=factor)


def error_number(session: Session, words: Words) -> None:
    """``errnumstr N``."""
    from slurmsim.slurm_errors import text_of_number

    if len(words) != 2:
        session.fail(f"one arguments required for keyword:{words[0]}")
        return
    number, rest = leading_number(words[1])
    if rest or not words[1]:
        session.fail(f"numeric arguments required for keyword:{words[0]}")
        return
    session.io.out(text_of_number(number, session.release) + "\n")


# -- files -----------------------------------------------------------------------------------------------------------


def write(session: Session, words: Words) -> None:
    """``write batch_script JOB [FILE|-]`` and ``write config [FILE]``."""
    if len(words) < 2:
        session.fail(f"too few arguments for keyword:{words[0]}")
        return
    what = words[1].lower()
    if what == "batch_script"[: max(len(what), 5)]:
        if len(words) > 4:
            session.fail(f"too many arguments for keyword:{words[0]}")
        elif len(words) > 2:
            _batch_script(session, words[2:])
    elif what == "config"[: max(len(what), 6)]:
        if len(words) > 3:
            session.fail(f"too many arguments for keyword:{words[0]}")
        else:
            from slurmsim.commands.scontrol.config_file import write_config

            write_config(session, words[2] if len(words) > 2 else None)
    else:
        session.fail(f"invalid write argument:{words[1]}")


def _batch_script(session: Session, words: Words) -> None:
    """Write the script to a file or to standard output; the exit code is not scontrol's, as in Slurm."""
    job_id = max(leading_number(words[0])[0], 0)
    name = words[1] if len(words) > 1 else f"slurm-{job_id}.sh"
    path = os.path.join(session.io.cwd, name)
    file = None
    if name != "-":
        try:
            file = open(path, "w", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
        except OSError as error:
            session.io.error(f"failed to open file `{name}`: {error.strerror}")
            return
    try:
        script = session.io.client.call("batch_script", job_id=str(job_id))["script"]
    except FAILED_CALLS as error:
        if file is not None:
            file.close()
            with contextlib.suppress(OSError):
                os.unlink(path)
        session.io.error(f"job script retrieval failed: {text_of(error)}")
        return
    if file is None:
        session.io.out(script)
        return
    with file:
        file.write(script)
    if session.quiet != 1:
        session.io.out(f"batch script for job {job_id} written to {name}\n")


def hash_text(session: Session, words: Words) -> None:
    """``hash STRING [TYPE]``: K12 is not in Python's library."""
    _hash(session, words, None)


def hash_file(session: Session, words: Words) -> None:
    """``hash_file FILE [TYPE]``."""
    _hash(session, words, "file")


def _hash(session: Session, words: Words, what: str | None) -> None:
    if len(words) < 3 or words[2] != "3":  # 3: SHA3-256
        session.refuse(f"{words[0]}: only type 3 (sha3) is modelled")
    else:
        digest = hashlib.sha3_256(os.fsencode(words[1]))
        if what is not None:
            try:
                with open(os.path.join(session.io.cwd, words[1]), "rb") as file:
                    digest = hashlib.file_digest(file, "sha3_256")
            except OSError:
                session.fail(f"Can't open `{words[1]}`")
                return
        session.io.out(digest.hexdigest() + "\n")


# -- processes and addresses of this machine -------------------------------------------------------------------------


_BAD_JOB = -1


def _steps(session: Session, job_id: int | None) -> list[dict[str, Any]]:
    fields = ["job_id", "step_id", "step_name"]
    asked = {} if job_id is None else {"job_id": job_id, "step_id": None}
    try:
        return session.load("steps", fields, show_all=True, **asked)
    except FAILED_CALLS:
        return []


def _busy(session: Session) -> bool:
    """Return True if steps run on the first node, for which a machine that plays all of them is taken."""
    try:
        used = session.load("nodes", ["alloc_cpus"])
    except FAILED_CALLS:
        return False
    return bool(used and used[0]["alloc_cpus"])


def list_pids(session: Session, words: Words) -> None:
    """``listpids [JOB[.STEP]] [NODE]``: processes of steps."""
    text = words[1] if len(words) > 1 else "*"
    base, dot, step = text.partition(".")
    job = None if text.startswith("*") else _numbered(session, base)
    if job == _BAD_JOB:
        session.fail(f'"{base}" does not look like a jobid')
        return
    wanted = step if job is not None and dot else None
    node = words[2] if len(words) > 2 else ""
    found = [
        one for one in step_processes(session.io.client.folder)
        if job in (None, one.job_id) and wanted in (None, one.step) and node in ("", one.node)
    ]  # fmt: skip
    heading = f"{'PID':<8} {'JOBID':<8} {'STEPID':<8} {'LOCALID':<7} {'GLOBALID':<8}\n"
    if found or not since(session.release, "heading_of_processes"):
        lines = (f"{p.pid:<8} {p.job_id:<8} {p.step:<8} {p.local:<7} {p.everywhere:<8}\n" for p in found)
        session.io.out("".join([heading, *lines]))
    if not found:
        _tell_no_processes(session, base, job, wanted, node or "(null)")


def _numbered(session: Session, word: str) -> int:
    """Return the id of a job named by id or SLUID; `_BAD_JOB` for what is neither."""
    if number_of(word) is not None:
        try:
            rows = session.load("jobs", ["job_id"], show_all=True, job_id=word)
        except FAILED_CALLS:
            rows = []
        return int(rows[0]["job_id"]) if rows else 0
    number, rest = leading_number(word)
    return _BAD_JOB if rest.strip() else number


def _tell_no_processes(session: Session, base: str, job: int | None, wanted: str | None, node: str) -> None:
    if job is None:
        session.fail("No job steps exist on this node.")
    elif wanted is not None:
        session.fail(f"StepId={base}.{wanted} does not exist on node {node}.")
    elif not _busy(session):
        session.fail(f"JobId={job} does not exist on node {node}.")
    else:
        session.fail(f"There are no steps for job {job} on node {node}.")


def list_jobs(session: Session, words: Words) -> None:
    """``listjobs [NODE]``: jobs with steps."""
    jobs = sorted({int(row["job_id"]) for row in _steps(session, None)})
    if not jobs:
        session.fail("No slurmstepd's found on this node")
        return
    session.io.out("JOBID   \n" + "".join(f"{job:<8}\n" for job in jobs))


def list_steps(session: Session, words: Words) -> None:
    """``liststeps [NODE]``: steps."""
    rows = _steps(session, None)
    if not rows:
        session.fail("No slurmstepd's found on this node")
        return
    lines = [f"{row['job_id']:<8} {row['step_name'] or row['step_id']:<8}\n" for row in rows]
    session.io.out("JOBID    STEPID  \n" + "".join(lines))


def pid_info(session: Session, words: Words) -> None:
    """``pidinfo PID``."""
    session.warn("Failed to locate job for requested pid")


def get_entries(session: Session, words: Words) -> None:
    """``getent [NODE]``: users of steps, which only a step's own daemon knows."""
    session.io.error("No steps found on this node")


def get_host(session: Session, words: Words) -> None:
    """``gethost NODE HOST``."""
    if len(words) != 3:
        session.fail(f"two arguments required for keyword:{words[0]}")
    else:
        session.io.error("No steps found on this node")


def addresses(session: Session, words: Words) -> None:
    """``getaddrs NODES``."""
    from slurmsim.commands.text.typed_hosts import typed_hosts

    if len(words) != 2:
        session.fail(f"one argument required for keyword:{words[0]}")
        return
    try:
        rows = {row["name"]: row for row in session.load("nodes", ["name", "node_addr", "port"], show_all=True)}
        for name in typed_hosts(words[1], session.error):
            if name in rows:
                session.io.out(f"{name}: {rows[name]['node_addr']}:{rows[name]['port']}\n")
            else:
                session.warn(f"Unable to find address for node {name}")
    except (*FAILED_CALLS, ValueError):
        session.warn(f"Invalid hostlist: {words[1]}")


def token(session: Session, words: Words) -> None:
    """``token [lifespan=S] [username=U]``: a token that slurmrestd takes, where the cluster makes any."""
    lifespan, user = 1800, ""
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key.lower() == "lifespan" and "=" in word:
            if value.lower() == "infinite":
                lifespan = 0x7FFFFFFF
            elif not value.isdecimal() or not 0 < int(value) < 1 << 31:
                session.fail(f"Invalid option: `{word}`")
                return
            else:
                lifespan = int(value)
        elif key.lower() == "username" and "=" in word:
            user = value
        else:
            session.fail(f"Invalid option: `{word}`")
            return
    try:
        me = str(session.io.client.call("hello")["user"] or "")
    except Unreachable as away:
        session.refuse(f"slurm_fetch_token: error receiving response: {away.text}")
        if not since(session.release, "token_disabled"):
            session.io.error("Error fetching token")
        return
    folder = session.io.client.folder
    if not _makes_tokens(session, folder):
        session.code = 1
        if not since(session.release, "token_disabled"):
            session.io.error("Error fetching token")
        else:
            session.error("slurm_fetch_token: error with request: Required plugin type not loaded or initialized")
        return
    if user and user != me and not session.privileged:
        session.refuse(_DENIED)
        return
    from slurmsim.jwt_key import UnusableKey, key_of, sign

    try:
        secret = key_of(folder)
    except OSError:
        session.refuse(_DENIED)
        return
    except UnusableKey as unusable:
        session.refuse(str(unusable))
        return
    began = int(session.io.now())
    session.io.out(f"SLURM_JWT={sign({'exp': began + lifespan, 'iat': began, 'sun': user or me}, secret)}\n")


def _makes_tokens(session: Session, folder: str) -> bool:
    """Return True if slurm.conf asks for tokens, or a server has made the key for them."""
    from slurmsim.jwt_key import KEY_FILE

    if os.path.exists(os.path.join(folder, KEY_FILE)):
        return True
    try:
        given = session.io.client.call("show_config")["given"]
    except FAILED_CALLS:
        return False
    return any(name.lower() == "authalttypes" and "auth/jwt" in str(value) for name, value in given.items())


def caller_id(session: Session, words: Words) -> None:
    """``callerid ADDRESS PORT ADDRESS PORT [4|6]``: needs a network."""
    if len(words) < 5:
        session.fail(f"too few arguments for keyword:{words[0]}")
    elif len(words) > 6:
        session.fail(f"too many arguments for keyword:{words[0]}")
    else:
        session.fail("slurm_network_callerid: unable to retrieve callerid data from remote slurmd")
        session.complain("callerid failure", "Unspecified error", loud=True)
