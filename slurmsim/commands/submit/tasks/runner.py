"""A step's tasks as processes of this machine: started, fed, listened to, signalled and waited for.

Each task leads a process group. Where nothing has to be added to what they write, tasks write to its own output;
with labels, or several readers of one input, srun passes bytes on. If srun is killed, a small watcher ends its tasks.
"""

from __future__ import annotations

import errno
import os
import resource
import selectors
import signal
import time
from contextlib import suppress

from slurmsim.commands.submit.tasks.input import TaskInput
from slurmsim.commands.submit.tasks.prologs import PrologFailed, after_prologs, run_epilogs
from slurmsim.fast_imports import dataclass, field
from slurmsim.temporary_folder import temporary_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_CHUNK = 1 << 16
_TOGETHER_S = 0.03  # tasks that end within that time are told of together
WATCHED = (
    signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2,
    signal.SIGCONT, signal.SIGPIPE, signal.SIGCHLD,
)  # fmt: skip


@dataclass
class Task:
    """One task: what it runs, and where its streams go."""

    number: int
    node: int
    words: list[str]
    environ: Mapping[str, str]
    folder: str | None = None  # where it works; None: where srun does
    label: int | None = None  # how many letters wide its number stands before each of its lines; None: not at all
    # descriptors for its input, output and errors; -1 for a pipe of srun's
    files: list[int] = field(default_factory=lambda: [0, 1, 2])
    source: int = 0  # descriptor srun reads what comes through such a pipe from
    pid: int = 0
    status: int | None = None
    # prolog, epilog, release: programs that run before and after it, as in that release
    prolog: str | None = None
    epilog: str | None = None
    configured_prolog: str | None = None  # TaskProlog and TaskEpilog of slurm.conf
    configured_epilog: str | None = None
    release: str = ""
    memory: int = 0  # MiB of its step on its node, which slurmstepd sets as RLIMIT_RSS; 0 for none
    said: Callable[[str], str] = str  # a complaint as slurmstepd writes it
    first: bool = False  # whether it is the first of its node, which looks after TMPDIR
    stopped: bool = False  # whether it stops before its program begins, for a debugger


@dataclass
class Stream:
    """What one task writes through srun: where it goes, what stands before each line, and an unfinished line."""

    to: int
    label: bytes
    rest: bytes = b""


def _program(name: str, path: str) -> str:
    """Return where a task's program is, which is what it is called as.

    A name that `path` has not is one of a file in the working folder (_build_path of slurmstepd).
    """
    found = [os.path.join(folder, name) for folder in path.split(":")] if "/" not in name else []
    return next((one for one in found if os.path.isfile(one) and os.access(one, os.X_OK)), name)


class Runner:
    """Runs the tasks of one step.

    Parameters
    ----------
    tasks
        In order of their numbers.
    finished
        Told of tasks that ended with the same status on one node: (node, numbers, status).
    failed
        Told of a task that could not be started: (task, error number).
    signalled
        Told of each signal that srun gets.
    lost
        Called, in a process of its own, when srun was killed and so were its tasks.
    """

    def __init__(
        self, tasks: Sequence[Task],
        finished: Callable[[int, list[int], int], None], failed: Callable[[Task, int], None],
        signalled: Callable[[int], None], lost: Callable[[], None], *, pty: bool = False,
    ) -> None:  # fmt: skip
        self.tasks = tasks
        self._finished, self._failed, self._signalled, self._lost, self._pty = finished, failed, signalled, lost, pty
        self.ready = selectors.DefaultSelector()
        self._ended: list[Task] = []
        self._ended_at = 0.0
        self._inputs: dict[int, TaskInput] = {}  # by what is read
        self._guard = -1
        self._timers: list[tuple[float, Callable[[], None]]] = []

    # -- starting ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        reader, self._wake = os.pipe()
        for descriptor in (reader, self._wake):
            os.set_blocking(descriptor, False)
        for number in WATCHED:
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self.ready.register(reader, selectors.EVENT_READ, self._signals)
        for task in self.tasks:
            self._start(task)
        if not self._pty:
            self._guard = self._watch()
        for one in self._inputs.values():
            one.start()

    def _start(self, task: Task) -> None:
        ours: list[int] = []
        ends: list[int] = []
        for k, descriptor in enumerate(task.files):
            if descriptor >= 0:
                ends.append(descriptor)
                continue
            if k == 0:
                if task.source not in self._inputs:
                    self._inputs[task.source] = TaskInput(task.source, self.ready, self.after)
                ends.append(self._inputs[task.source].pipe(task.number))
            else:
                reader, writer = os.pipe()
                ends.append(writer)
                label = b"" if task.label is None else f"{task.number:{task.label}d}: ".encode()
                target = -2 - descriptor  # -2: nowhere else than srun's own
                self.ready.register(reader, selectors.EVENT_READ, (Stream(target, label), reader))
            ours.append(ends[-1])
        told, tell = os.pipe()
        task.pid = os.fork()
        if not task.pid:
            self._become(task, ends, tell)
        os.close(tell)
        for descriptor in ours:
            os.close(descriptor)
        wrong = os.read(told, 16)
        os.close(told)
        if wrong:
            self._failed(task, int(wrong))

    def _become(self, task: Task, ends: Sequence[int], tell: int) -> None:
        """In the child: the task itself. A failure is its error number, told and exited with."""
        number = 1
        try:
            if not self._pty:
                os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            for one in (*WATCHED, signal.SIGXFSZ, signal.SIGTTIN, signal.SIGTTOU, signal.SIGTSTP):
                signal.signal(one, signal.SIG_DFL)
            kept = [os.dup(end) if end < 3 else end for end in ends]
            for k, end in enumerate(kept):
                os.dup2(end, k)
            tell = os.dup2(tell, 3, inheritable=False) if tell != 3 else tell
            os.set_inheritable(3, False)
            os.closerange(4, 1024)
            tell = 3
            if task.folder is not None:
                try:
                    os.chdir(task.folder)
                except OSError:
                    os.chdir("/tmp")
            if task.memory:
                with suppress(ValueError, OSError):
                    resource.setrlimit(resource.RLIMIT_RSS, (task.memory << 20, task.memory << 20))
            environ = {**task.environ, "SLURM_TASK_PID": str(os.getpid())}
            if task.prolog or task.configured_prolog:
                environ, printed = after_prologs(task.configured_prolog, task.prolog, environ)
                os.write(1, "".join(f"{line}\n" for line in printed).encode("utf-8", "surrogateescape"))
            if task.first:
                environ["TMPDIR"], wrong = temporary_folder(environ.get("TMPDIR"))
                os.write(2, "".join(f"{task.said(line)}\n" for line in wrong).encode("utf-8", "surrogateescape"))
            if "/" not in task.words[0] and "PATH" not in environ:
                raise FileNotFoundError(errno.ENOENT, "")  # slurmstepd looks in the task's own PATH alone
            program = _program(task.words[0], environ.get("PATH", ""))
            if task.stopped:
                os.close(tell)
                os.kill(os.getpid(), signal.SIGSTOP)
            os.execve(program, [program, *task.words[1:]], environ)
        except PrologFailed as failed:
            number = failed.status
            with suppress(OSError):
                os.write(2, "".join(f"{task.said(line)}\n" for line in failed.args).encode())
        except OSError as error:
            number = error.errno or 1
            with suppress(OSError):
                os.write(tell, str(number).encode())
        finally:
            os._exit(number & 0xFF)

    def _watch(self) -> int:
        """Start a process that kills the tasks if srun goes without a word; return the descriptor for the word."""
        reader, writer = os.pipe()
        if os.fork():
            os.close(reader)
            return writer
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for k in range(3):
                os.dup2(null, k)
            kept = os.dup2(reader, 3) if reader != 3 else 3
            os.closerange(4, 1024)
            signal.set_wakeup_fd(-1)
            for number in WATCHED:
                signal.signal(number, signal.SIG_IGN)
            if not os.read(kept, 1):
                self.send(signal.SIGKILL)
                self._lost()
        finally:
            os._exit(0)

    # -- running ----------------------------------------------------------------------------------------------------

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Call `do` that many seconds from now, if tasks still run."""
        self._timers.append((time.monotonic() + seconds, do))

    def send(self, number: int, tasks: Sequence[Task] | None = None) -> None:
        """Signal all tasks that run, or those of `tasks`, with what they have started."""
        for task in self.tasks if tasks is None else tasks:
            if task.pid and task.status is None:
                with suppress(ProcessLookupError, PermissionError):
                    if self._pty:
                        os.kill(task.pid, number)
                    else:
                        os.killpg(task.pid, number)

    def run(self) -> None:
        """Until all tasks are over and everything they wrote is passed on."""
        while any(task.status is None for task in self.tasks) or self._ended:
            self._turn(self._patience())
        for task in self.tasks:  # what they left behind goes with them
            if not self._pty:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(task.pid, signal.SIGKILL)
        while any(isinstance(key.data, tuple) for key in self.ready.get_map().values()):
            self._turn(None)
        signal.set_wakeup_fd(-1)
        if self._guard >= 0:
            with suppress(OSError):
                os.write(self._guard, b"x")
            os.close(self._guard)

    def _patience(self) -> float | None:
        now = time.monotonic()
        moments = [at for at, _ in self._timers]
        if self._ended:
            moments.append(self._ended_at + _TOGETHER_S)
        return max(0.0, min(moments) - now) if moments else None

    def _turn(self, seconds: float | None) -> None:
        for key, _ in self.ready.select(seconds):
            if isinstance(key.data, tuple):
                self._pass_on(*key.data)
            else:
                key.data()
        self._reap()
        now = time.monotonic()
        due = [do for at, do in self._timers if at <= now]
        self._timers = [(at, do) for at, do in self._timers if at > now]
        for do in due:
            do()

    def _signals(self) -> None:
        with suppress(BlockingIOError):
            for number in os.read(next(k.fd for k in self.ready.get_map().values() if k.data == self._signals), 64):
                if number != signal.SIGCHLD:
                    self._signalled(number)

    def _reap(self) -> None:
        for task in self.tasks:
            if task.pid and task.status is None:
                done, status = os.waitpid(task.pid, os.WNOHANG)
                if done:
                    task.status = status
                    if task.epilog or task.configured_epilog:
                        told = run_epilogs(task.configured_epilog, task.epilog, task.environ, task.release)
                        os.write(2, "".join(f"{task.said(line)}\n" for line in told).encode())
                    self._ended.append(task)
                    self._ended_at = time.monotonic()
                    if task.source in self._inputs:
                        self._inputs[task.source].close(task.number)
        alone = all(task.status is not None for task in self.tasks)
        if self._ended and (alone or time.monotonic() >= self._ended_at + _TOGETHER_S):
            self._tell()

    def _tell(self) -> None:
        """Tasks that ended, by node and status."""
        ended, self._ended = self._ended, []
        groups: dict[tuple[int, int], list[int]] = {}
        for task in sorted(ended, key=lambda one: one.number):
            assert task.status is not None
            groups.setdefault((task.node, task.status), []).append(task.number)
        for (node, status), numbers in sorted(groups.items(), key=lambda item: item[1][0]):
            self._finished(node, numbers, status)

    # -- streams ----------------------------------------------------------------------------------------------------

    def _pass_on(self, stream: Stream, reader: int) -> None:
        try:
            chunk = os.read(reader, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self.ready.unregister(reader)
            os.close(reader)
            if stream.rest:
                self._write(stream.to, stream.label + stream.rest + b"\n")
            return
        if not stream.label:
            self._write(stream.to, chunk)
            return
        *lines, stream.rest = (stream.rest + chunk).split(b"\n")
        if lines:
            self._write(stream.to, b"".join(stream.label + line + b"\n" for line in lines))

    @staticmethod
    def _write(descriptor: int, text: bytes) -> None:
        with suppress(OSError):
            while text:
                text = text[os.write(descriptor, text) :]
