"""The process beside each really running job: starts its script, waits, and leaves the exit status where it lasts.

Run as ``python -IS supervisor.py FOLDER``, on the standard library alone. It is no child of the daemon, so that jobs
go on while the daemon is away. In FOLDER: ``spec.json`` (what to run), then ``pid`` (of the script, which leads a
session and process group of its own), and at the end ``exit`` (its wait status). Before anything else it writes
``supervisor``, unless another supervisor has: however often it is started, a script runs once.

The daemon has made these files before, blank and of full size (`RECORD` bytes), and they are filled in place: what is
to be said of a run that was begun needs no room on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
import time
from typing import Any

LAUNCH_FAILED = 53  # slurmd's status when output, folder or script are unusable: shown as 0:53
PROLOG_FAILED = 54  # and when the prolog has failed
NOT_THERE = 0xFFFF  # in place of a wait status: there is no such program
LINGER_S = 3600.0
KEPT = 9  # descriptor on which a child says that its script could not be started
RECORD = 48  # bytes of a small file; one that is not filled yet ends with a blank, as one that is being filled


def main(folder: str) -> None:
    """Run the job in `folder` to its end."""
    _leave(folder)
    with open(os.path.join(folder, "spec.json"), encoding="utf-8", errors="surrogateescape") as file:
        spec = json.load(file)
    if "programs" in spec:
        status = run_programs(spec)
        _write(os.path.join(folder, "exit"), str(status))
        _tell(spec, status)
        return
    if spec.get("prolog") and run_programs(spec["prolog"]):
        status, child = PROLOG_FAILED, 0
    else:
        status, child = _run(folder, spec)
    with contextlib.suppress(OSError):
        os.unlink(spec["script"])
        os.rmdir(os.path.dirname(spec["script"]))
    _write(os.path.join(folder, "exit"), str(status))
    _tell(spec, status)
    if child:
        _linger(child)  # the folder is the daemon's from now on


def run_programs(spec: dict[str, Any]) -> int:
    """Run programs one after the other, for so many seconds each; return the wait status of the one that failed."""
    for path in spec["programs"]:
        status = _run_program([path, *spec.get("arguments", ())], spec["environment"], int(spec["timeout"]))
        if status:
            return status
    return 0


def _run_program(words: list[str], environment: dict[str, str], timeout_s: int) -> int:
    """Run a program; return its wait status. What it has left when it is over, or when its time is, is killed."""
    if not os.access(words[0], os.X_OK):
        return NOT_THERE
    child = os.fork()
    if not child:
        try:
            os.setsid()
            os.closerange(3, 4096)
            os.execve(words[0], words, environment)
        except OSError:
            pass
        finally:
            os._exit(127)
    last = time.monotonic() + timeout_s
    pause = 0.002
    while True:
        gone, status = os.waitpid(child, os.WNOHANG if timeout_s else 0)
        if gone:
            break
        if time.monotonic() > last:
            _kill(child)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(pause)
        pause = min(pause * 2, 0.1)
    _kill(child)
    return status


def _leave(folder: str) -> None:
    """Detach from the daemon, in a session of one's own."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    if not _claim(folder):
        os._exit(0)  # another one looks after this run


def _claim(folder: str) -> bool:
    """Become the one supervisor of this run: its id, and when it started, because ids are used again."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
        since = file.read().rpartition(")")[2].split()[19]
    return claim(os.path.join(folder, "supervisor"), f"{os.getpid()} {since}")


def claim(path: str, text: str) -> bool:
    """Fill a small file, unless another process has filled it or is about to; return True if it was filled here."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.pread(descriptor, RECORD, 0).strip():
            return False
        _fill(descriptor, text)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _run(folder: str, spec: dict[str, Any]) -> tuple[int, int]:
    """Start the script and wait for it; its wait status, and which process it was."""
    started, failed = os.pipe()
    child = os.fork()
    if not child:
        try:
            _become(spec, failed)
        except Exception:
            with contextlib.suppress(OSError):
                os.write(KEPT, b"x")
        finally:
            os._exit(LAUNCH_FAILED)
    os.close(failed)
    _write(os.path.join(folder, "pid"), str(child))
    if os.path.exists(os.path.join(folder, "stop")):
        os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    with open(started, "rb") as news:
        return (LAUNCH_FAILED if news.read() else status), child


def _linger(group: int) -> None:
    """Wait for what the script left behind, which the daemon ends: tasks of sruns may take time to end."""
    last = time.monotonic() + LINGER_S
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < last:
            os.killpg(group, 0)
            time.sleep(0.1)
    _kill(group)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


# Python ignores SIGPIPE and SIGXFSZ, and this process others; a script of real Slurm ends by them
_LIKE_SLURMD = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def _become(spec: dict[str, Any], failed: int) -> None:
    """In the child: files, folder, limits, then the script itself. What fails is told on the descriptor `KEPT`."""
    os.setsid()
    os.dup2(failed, KEPT, inheritable=False)
    os.umask(int(spec["umask"]))
    gone = _enter(spec["work_dir"])
    mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if spec["append"] else os.O_TRUNC)
    source = os.open(spec["std_in"], os.O_RDONLY)
    if spec.get("make_folders"):
        for path in (spec["std_out"], spec["std_err"]):
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    out = os.open(spec["std_out"], mode, 0o666)
    error = out if spec["std_err"] == spec["std_out"] else os.open(spec["std_err"], mode, 0o666)
    for number, descriptor in ((0, source), (1, out), (2, error)):
        os.dup2(descriptor, number)
    for line in ([f"{spec['notice']}{gone}"] if gone else []) + (spec.get("notices") or []):
        os.write(2, f"{line}\n".encode("utf-8", "surrogateescape"))
    os.closerange(3, KEPT)
    os.closerange(KEPT + 1, 4096)
    with contextlib.suppress(ValueError, OSError):
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))  # slurmd's own, if sbatch's is not propagated
    for name, value in spec["rlimits"].items():
        with contextlib.suppress(ValueError, OSError, AttributeError):
            number = getattr(resource, name)
            resource.setrlimit(number, (value, resource.getrlimit(number)[1]))
    if memory := int(spec.get("memory") or 0):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_RSS, (memory, memory))
    for number in _LIKE_SLURMD:
        signal.signal(number, signal.SIG_DFL)
    script = spec["script"]
    environment = {**spec["environment"], "SLURM_TASK_PID": str(os.getpid())}
    try:
        os.execve(script, [script, *spec["argv"]], environment)
    except FileNotFoundError as error:
        text = f"{spec['notice']}execve(): bad interpreter({_interpreter(script)}): {os.strerror(errno.ENOENT)}\n"
        os.write(2, text.encode("utf-8", "surrogateescape"))
        os._exit(error.errno or errno.ENOENT)
    except OSError:
        os.execve("/bin/sh", ["sh", script, *spec["argv"]], environment)


def _enter(folder: str) -> str:
    """Go to a job's folder, or to /tmp; return what slurmstepd says of one that is not there."""
    try:
        os.chdir(folder)
    except OSError as error:
        os.chdir("/tmp")
        return f"couldn't chdir to `{folder}': {error.strerror}: going to /tmp instead"
    return ""


def _interpreter(script: str) -> str:
    """Return the program that a script's first line names, with its options."""
    with open(script, encoding="utf-8", errors="surrogateescape") as file:
        return file.readline().removeprefix("#!").strip()


def _write(path: str, text: str) -> None:
    """Fill a small file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _fill(descriptor, text)
    finally:
        os.close(descriptor)


def _fill(descriptor: int, text: str) -> None:
    os.pwrite(descriptor, f"{text:<{RECORD - 1}}\n".encode(), 0)
    os.fsync(descriptor)


def read_record(path: str | os.PathLike[str]) -> str | None:
    """Return the text of a small file, None for one that is not filled. Older releases made them only when needed."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    return text.strip() if text.strip() and not text.endswith(" ") else None


def _tell(spec: dict[str, Any], status: int) -> None:
    """Tell the daemon, if it is there; if not it finds the file when it comes back."""
    told = {"core_id": spec["core_id"], "restarts": spec["restarts"], "status": status}
    call = "ended"
    if "programs" in spec:
        call, told = "program_ended", {**told, "kind": spec["kind"], "node": spec["node"]}
    body = json.dumps({"call": call, "args": told, "user": None}).encode()
    try:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(10)
        folder = os.open(os.path.dirname(spec["socket"]), os.O_RDONLY)
        connection.connect(f"/proc/self/fd/{folder}/{os.path.basename(spec['socket'])}")
        connection.sendall(struct.pack(">I", len(body)) + body)
        connection.recv(4)
    except OSError:
        pass


if __name__ == "__main__":
    main(sys.argv[1])
