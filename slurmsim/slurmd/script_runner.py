"""Starts, signals and finds again the jobs that really run. The daemon's hands; it decides nothing."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from slurmsim.slurmd.supervisor import RECORD, claim, read_record

SLOW_S = 10.0  # real seconds a supervisor may take to begin; then another one is started
BEGIN_S = 5.0  # real seconds that `Executor.end_all` waits for supervisors that have begun to start their scripts
PROGRAM_S = 300.0  # real seconds a program of a trigger may take
_GO, _STOP = "go", "stop"  # the name a small file has until the run is told to end, and then
_RECORDS = ("supervisor", "pid", "exit", _GO)
_SESSION = 3  # place of the session in /proc/PID/stat, behind the name
SUPERVISOR = Path(__file__).with_name("supervisor.py")


def processes_of(session: int) -> list[int]:
    """Return the processes of a session, its leader first; where there is no /proc, the leader alone."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit() and name != str(session):
            with contextlib.suppress(OSError, ValueError, IndexError):
                told = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()
                if int(told[_SESSION]) == session:
                    found.append(int(name))
    return [session, *found]


class Executor:
    """The processes of one cluster.

    Parameters
    ----------
    folder
        Where each job's run has a folder of its own: ``ID.RESTARTS``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        # where scripts are while they run, by node and job, as under slurmd's spool folder
        self.spool = folder.parent / "spool"
        self.programs = folder.parent / "programs"  # prologs and epilogs, each with a folder of its own
        self._starting: list[subprocess.Popen[bytes]] = []  # supervisors that have not detached from the daemon yet
        self._programs: list[tuple[subprocess.Popen[bytes], float]] = []  # of triggers, and when each is killed
        self._tried: dict[str, float] = {}  # run -> when a supervisor was started last

    def _place(self, core_id: int, restarts: int) -> Path:
        return self.folder / f"{core_id}.{restarts}"

    def start(self, core_id: int, restarts: int, script: str, spec: Mapping[str, Any]) -> None:
        """Run `script` as `spec` says. A run that was started before is left alone. Raises OSError (a full disk)."""
        place = self._place(core_id, restarts)
        if place.exists():
            if read_record(place / "supervisor") is None:
                self._supervise(place)
            return
        part = place.with_name(f"{place.name}.part")
        part.mkdir(mode=0o700, exist_ok=True)
        for name in _RECORDS:  # room for all that is to be said of the run, or it does not begin
            (part / name).write_bytes(b" " * RECORD)
        path = self.spool / spec["place"] / "slurm_script"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(script, "utf-8", "surrogateescape")
        path.chmod(0o700)
        full = {**spec, "script": str(path), "core_id": core_id, "restarts": restarts}
        (part / "spec.json").write_text(json.dumps(full), "utf-8", "surrogateescape")
        part.rename(place)
        self._supervise(place)

    def start_program(self, name: str, spec: Mapping[str, Any]) -> None:
        """Run programs beside the jobs as `spec` says. Those that were started are left alone. Raises OSError."""
        place = self.programs / name
        if place.exists():
            return
        part = self.programs / f"{name}.part"
        part.mkdir(mode=0o700, parents=True, exist_ok=True)
        for record in ("supervisor", "exit"):
            (part / record).write_bytes(b" " * RECORD)
        for name, text in spec.get("files", {}).items():
            (part / name).write_text(text, "utf-8", "surrogateescape")
        (part / "spec.json").write_text(json.dumps(dict(spec)), "utf-8", "surrogateescape")
        part.rename(place)
        self._supervise(place)

    def programs_started(self) -> dict[str, int | None]:
        """Return the wait status of each program that was started, None while it runs, by name."""
        names = sorted(os.listdir(self.programs)) if self.programs.is_dir() else []
        return {name: _number(self.programs / name / "exit") for name in names if not name.endswith(".part")}

    def forget_program(self, name: str) -> None:
        """Remove what is left of a program that is over and written down."""
        shutil.rmtree(self.programs / name, ignore_errors=True)

    def _supervise(self, place: Path) -> None:
        """Start a supervisor; one that finds another there goes away again."""
        now = time.monotonic()
        if now - self._tried.get(place.name, -SLOW_S) < SLOW_S:
            return
        self._tried[place.name] = now
        self._starting = [one for one in self._starting if one.poll() is None]
        self._starting.append(
            subprocess.Popen([sys.executable, "-IS", str(SUPERVISOR), str(place)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=True)
        )  # fmt: skip

    def run_program(self, words: Sequence[str]) -> None:
        """Run a program beside the jobs, for five minutes at most; one that cannot be started is left out."""
        self.reap()
        with contextlib.suppress(OSError):
            begun = subprocess.Popen(
                words, cwd=self.folder.parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, close_fds=True, start_new_session=True,
            )  # fmt: skip
            self._programs.append((begun, time.monotonic() + PROGRAM_S))

    def reap(self) -> None:
        """Forget programs that are over, and kill those that have run for too long."""
        for begun, until in self._programs:
            if begun.poll() is None and time.monotonic() > until:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(begun.pid, signal.SIGKILL)
        self._programs = [one for one in self._programs if one[0].returncode is None]

    def exists(self, core_id: int, restarts: int) -> bool:
        """Return True if that run was started and has not been forgotten."""
        return self._place(core_id, restarts).exists()

    def signal(self, core_id: int, restarts: int, number: int, *, script_only: bool = False) -> None:
        """Send a signal to the job's process group, or to its script alone."""
        pid = self.pid(core_id, restarts)
        if pid is None or not self.supervised(core_id, restarts):  # its number may be another one's by now
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            try:
                if not script_only:
                    os.killpg(pid, number)
                    return
            except ProcessLookupError:
                pass  # it has just been forked, and leads no group yet
            os.kill(pid, number)

    def signal_session(self, core_id: int, restarts: int, number: int) -> None:
        """Send a signal to the script and to all that it started, also tasks of its sruns, which lead groups."""
        script = self.pid(core_id, restarts)
        if script is None or not self.supervised(core_id, restarts):
            return
        for pid in processes_of(script):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def terminate(self, core_id: int, restarts: int, *, awake: bool = False) -> None:
        """CONT and TERM, as slurmd begins to end a job; `awake`: it has got CONT."""
        place = self._place(core_id, restarts)
        with contextlib.suppress(OSError):  # its supervisor looks for it
            if (place / _GO).exists():
                (place / _GO).rename(place / _STOP)  # takes no room
            elif place.exists():
                (place / _STOP).touch()
        if not awake:
            self.signal_session(core_id, restarts, signal.SIGCONT)
        self.signal(core_id, restarts, signal.SIGTERM)

    def note(self, path: str, text: str) -> None:
        """Add a line to a job's output, if it has one."""
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(descriptor, f"{text}\n".encode("utf-8", "surrogateescape"))
            finally:
                os.close(descriptor)

    def kill(self, core_id: int, restarts: int) -> None:
        """KILL, for what is left after KillWait."""
        self.signal(core_id, restarts, signal.SIGKILL)

    def pid(self, core_id: int, restarts: int) -> int | None:
        """Return the process of the job's script, None before it runs."""
        return _number(self._place(core_id, restarts) / "pid")

    def status(self, core_id: int, restarts: int) -> int | None:
        """Return the wait status of a run that is over, None while it goes on."""
        return _number(self._place(core_id, restarts) / "exit")

    def stopped(self, core_id: int, restarts: int) -> bool:
        """Return True if it was told to end."""
        return (self._place(core_id, restarts) / _STOP).exists()

    def lost(self, core_id: int, restarts: int) -> bool:
        """Return True if the run can never report: its supervisor is gone without an exit status."""
        begun = read_record(self._place(core_id, restarts) / "supervisor") is not None
        return begun and not self.supervised(core_id, restarts) and self.status(core_id, restarts) is None

    def supervised(self, core_id: int, restarts: int) -> bool:
        """Return True if its supervisor is there."""
        supervisor, _, since = (read_record(self._place(core_id, restarts) / "supervisor") or "").partition(" ")
        try:
            words = Path("/proc", supervisor or "-", "stat").read_text("ascii", "replace").rpartition(")")[2].split()
            return words[19] == since and words[0] not in ("Z", "X")
        except (OSError, IndexError):
            return False

    def never(self, core_id: int, restarts: int) -> bool:
        """Keep a run that has not begun from ever beginning; return False if a supervisor has begun it."""
        try:
            return claim(str(self._place(core_id, restarts) / "supervisor"), "nobody 0")
        except OSError:
            return True

    def is_quiet(self, core_id: int, restarts: int) -> bool:
        """Return True if no process of the run is left."""
        pid = self.pid(core_id, restarts)
        if pid is None:
            return True
        try:
            os.killpg(pid, 0)
        except (ProcessLookupError, PermissionError):
            return True
        return False

    def forget(self, core_id: int, restarts: int) -> None:
        """Remove what is left of a run that is over and written down."""
        place = self._place(core_id, restarts)
        self._tried.pop(place.name, None)
        shutil.rmtree(place, ignore_errors=True)

    def forget_unborn(self) -> None:
        """Remove folders that were not finished when the daemon before this one was killed."""
        for place in (*self.folder.glob("*.part"), *self.programs.glob("*.part")):
            shutil.rmtree(place, ignore_errors=True)

    def end_all(self) -> None:
        """KILL every run there is: nothing starts any more, and what runs is gone or going.

        A supervisor that has not begun finds its run taken and leaves. One that has begun is about to say which
        process it started.
        """
        for run in self.runs():
            self.never(*run)
        for one in self._starting:
            one.wait()  # until it has detached
        self._starting.clear()
        last = time.monotonic() + BEGIN_S
        for run in list(self.runs()):
            while self.pid(*run) is None and not self.lost(*run) and time.monotonic() < last:
                time.sleep(0.002)
            self.kill(*run)

    def runs(self) -> Iterator[tuple[int, int]]:
        """(core id, restarts) of every run there is a folder of."""
        for name in sorted(os.listdir(self.folder)):
            core_id, _, restarts = name.partition(".")
            if core_id.isdigit() and restarts.isdigit():
                yield int(core_id), int(restarts)


def _number(path: Path) -> int | None:
    text = read_record(path)
    return int(text) if text is not None and text.isdigit() else None
