"""The daemon of a cluster as seen from outside: start it, ask it, stop it; and how commands are led to it."""

import contextlib
import json
import os
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError, OutputError
from slurmsim.live.killing import kill_daemon
from slurmsim.live.programs import write_programs
from slurmsim.live.settings import Settings, exists, make_folder
from slurmsim.protocol import (
    CURRENT,
    FOLDER_VARIABLE,
    SOCKET,
    USER_VARIABLE,
    Client,
    Refusal,
    TimedOut,
    Unreachable,
    message_timeout,
    state_folder,
)
from slurmsim.slurmctld.history.starter import READY
from slurmsim.slurmctld.history.state_folder import StateFolder, holder

STILL_S = 60.0  # real seconds in which a daemon that starts does nothing at all, before it is given up
GONE_S = 60.0
END_S = 5.0
_LOG = "log"
WARNING = "slurmsim: warning: "


class Silent(OutputError):
    """A daemon is there and does not answer."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        who = f" (process {pid})" if pid else ""
        super().__init__(
            f"the daemon of {folder}{who} does not answer: it is stopped, or has no processor time; let it go on, or "
            f"end it with slurmsim down --force --state {shlex.quote(str(folder))}, which keeps its state"
        )


@dataclass(slots=True)
class Prepared:
    """A folder that is held and ready for a daemon; `header` for a new cluster, None to go on with what is there."""

    folder: StateFolder
    header: dict[str, Any] | None


def is_alive(folder: Path) -> bool:
    """Return True if a daemon answers there."""
    if not (folder / SOCKET).exists():
        return False
    try:
        Client(str(folder), timeout_s=5).call("ping")
    except Unreachable:
        return False
    return True


def prepare(folder: Path, settings: Settings) -> Prepared:
    """Take the folder, and make it ready for a daemon.

    Raises
    ------
    ConfigError, OutputError
        A daemon runs there already, or what is asked for is wrong or cannot be written.
    """
    held = StateFolder.take(folder)
    try:
        if is_alive(folder):  # of a release that knew no lock
            raise ConfigError("a cluster is running there", file=str(folder), expected="slurmsim down first")
        header = None if exists(folder) else make_folder(folder, settings)
        write_programs(folder)
    except OSError as error:
        held.close()
        raise OutputError(f"{folder}: {error.strerror}") from None
    except BaseException:
        held.close()
        raise
    return Prepared(held, header)


def start(folder: Path, prepared: Prepared, progress: Callable[[int, int], None] | None = None) -> list[str]:
    """Start a daemon in a process of its own and wait until it answers, however long that takes.

    What it warns of meanwhile is returned: what of its state is lost, for one.

    `progress` is told how many entries of its journal it has carried out again, of how many. Who is interrupted while
    waiting ends the daemon; so does one that shows no sign of life for `STILL_S`.

    Raises
    ------
    OutputError
        It did not start: its last words.
    """
    held = prepared.folder
    try:
        log = held.open(_LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        held.close()
        raise OutputError(f"{folder / _LOG}: {error.strerror}") from None
    before = os.fstat(log).st_size
    news, told = os.pipe()
    command = [sys.executable, "-P", "-m", "slurmsim.slurmctld", str(folder), json.dumps(prepared.header)]
    environ = {"OPENBLAS_NUM_THREADS": "1", **os.environ}  # more threads only wait, busily
    daemon = None
    try:
        with _interrupted_later():
            daemon = subprocess.Popen(
                [*command, str(held.lock), str(told)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, cwd="/", pass_fds=(held.lock, told), env=environ,
            )  # fmt: skip
        held.close()  # the daemon has it now
        os.close(told)
        told = -1
        if _is_ready(daemon, news, progress):
            daemon.returncode = 0  # it lives on: no wait(), and no warning of Popen
            return [line for line in _said(log, before) if line.startswith(WARNING)]
        daemon.wait()
        said = _said(log, before)
        words = said[-1].removeprefix("slurmsim: error: ") if said else f"it ended with {daemon.returncode}"
        raise OutputError(f"the daemon did not start: {words}")
    except BaseException as error:
        if daemon is not None and daemon.returncode is None:
            _end(daemon)
            why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            with contextlib.suppress(OSError):
                os.write(log, f"slurmsim: ended while it started: {why}\n".encode("utf-8", "replace"))
        raise
    finally:
        held.close()
        for descriptor in filter(lambda one: one >= 0, (log, news, told)):
            os.close(descriptor)


@contextlib.contextmanager
def _interrupted_later() -> Iterator[None]:
    """Delay a Ctrl-C until the end of the block: while Popen is at work, its process exists but has no handle yet."""
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def _said(log: int, before: int) -> list[str]:
    """Lines of the daemon's log from a place on."""
    return os.pread(log, 1 << 20, before).decode("utf-8", "replace").strip().splitlines()


def _is_ready(daemon: subprocess.Popen[bytes], news: int, progress: Callable[[int, int], None] | None) -> bool:
    """Listen to a daemon that starts: True when it is ready, False when it has ended. Raises OutputError."""
    rest, spent, last = b"", -1, time.monotonic()
    while True:
        if select.select([news], [], [], min(0.5, STILL_S))[0]:
            data = os.read(news, 4096)
            if not data:
                return False
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line == READY:
                    return True
                if progress is not None:
                    done, total = line.split()
                    progress(int(done), int(total))
            last = time.monotonic()
        elif spent != (spent := _ticks(daemon.pid)):  # it works, if silently
            last = time.monotonic()
        elif time.monotonic() - last > STILL_S:
            raise OutputError(f"the daemon did not start: it did nothing for {STILL_S:g} s and was ended")


def _ticks(pid: int) -> int:
    """Processor time of a process so far."""
    try:
        words = Path("/proc", str(pid), "stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return -1
    return int(words[11]) + int(words[12])


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(END_S)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def call(folder: Path, name: str, *, timeout_s: float | None = 60.0, **arguments: Any) -> dict[str, Any]:
    """Ask the daemon. Raises OutputError when there is none or it is silent, ConfigError when it refuses.

    The answer may take `timeout_s` (None: as long as it likes), but a sign of life MessageTimeout at most.
    """
    client = Client(str(folder), timeout_s=message_timeout(str(folder), os.environ) or None)
    try:
        client.call("ping")
        client.close()
        client.timeout_s = timeout_s
        return client.call(name, **arguments)
    except TimedOut:
        raise Silent(folder, holder(folder)) from None
    except Unreachable:
        pid = holder(folder)
        if pid is not None:
            raise OutputError(f"the cluster in {folder} does not answer (process {pid})") from None
        raise OutputError(f"no cluster is running in {folder}; start one with slurmsim up") from None
    except Refusal as refusal:
        raise ConfigError(refusal.text) from None


def stop(folder: Path, *, force: bool = False) -> None:
    """Stop the daemon, and wait until it is gone; its state stays. Raises OutputError.

    `force`: one that does not answer is killed. All it has acknowledged is in its journal.
    """
    pid = holder(folder)
    try:
        call(folder, "down")
    except OutputError:
        if not force or pid is None:
            raise
        kill_daemon(folder, pid)
    last = time.monotonic() + GONE_S
    while pid is not None and holder(folder) == pid:
        if time.monotonic() > last:
            raise OutputError(f"the cluster in {folder} was told to stop and is still there (process {pid})")
        time.sleep(0.005)


def remember(folder: Path) -> None:
    """Make this the default cluster of commands. Raises OutputError."""
    base = Path(state_folder(os.environ))
    with contextlib.suppress(OSError):
        if (base / CURRENT).read_text("utf-8") == f"{folder}\n":  # also on a full disk
            return
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = base / f"{CURRENT}.{os.getpid()}"
        part.write_text(f"{folder}\n", "utf-8")
        part.rename(base / CURRENT)
    except OSError as error:
        raise OutputError(f"{base}: {error.strerror}") from None


def commands_folder(folder: Path) -> str:
    """Return the folder that the cluster in `folder` puts on PATH."""
    return str(folder / "bin")


def environment(folder: Path, environ: Mapping[str, str], user: str | None = None) -> dict[str, str]:
    """`environ` with the commands on PATH, talking to this cluster (as `user`)."""
    bin_folder = commands_folder(folder)
    others = [part for part in environ.get("PATH", os.defpath).split(os.pathsep) if part != bin_folder]
    found = {**environ, FOLDER_VARIABLE: str(folder), "PATH": os.pathsep.join([bin_folder, *others])}
    if user is not None:
        found[USER_VARIABLE] = user
    return found


def shell_lines(folder: Path) -> str:
    """Return what ``eval`` wants: PATH and the cluster's folder."""
    commands = shlex.quote(commands_folder(folder))
    return f'export {FOLDER_VARIABLE}={shlex.quote(str(folder))}\nexport PATH={commands}:"$PATH"\n'


def profile_lines(environ: Mapping[str, str]) -> str:
    """For ``~/.profile``: login shells find the commands of the cluster that was started last, if it is still there."""
    current = shlex.quote(os.path.join(state_folder(environ), CURRENT))
    return (
        f"# slurmsim: commands of the cluster that {FOLDER_VARIABLE} or the file `{CURRENT}` names\n"
        f'slurmsim_folder="${{{FOLDER_VARIABLE}:-$(cat {current} 2>/dev/null)}}"\n'
        'if [ -d "$slurmsim_folder/bin" ]; then\n'
        '    case ":$PATH:" in *":$slurmsim_folder/bin:"*) ;; *) export PATH="$slurmsim_folder/bin:$PATH" ;; esac\n'
        "fi\n"
        "unset slurmsim_folder\n"
    )
