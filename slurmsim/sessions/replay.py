"""A recorded session asked again of a fresh cluster, on a frozen clock that is stepped to the second of each command.

Commands run in folders that mirror the recorded ones below a temporary folder, with the files they read then; their
answers are compared as if they had run in the recorded ones. One that waits longer than the next one took to come goes
on beside it. Nothing of the caller's is written to but what scripts name by absolute paths elsewhere.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.live.cluster import Cluster
from slurmsim.live.settings import Settings
from slurmsim.protocol import FOLDER_VARIABLE, USER_VARIABLE
from slurmsim.sessions import clock_programs
from slurmsim.sessions.code import check_no_code, harmless
from slurmsim.sessions.normalising import Answer, difference
from slurmsim.sessions.of_others import is_asked
from slurmsim.sessions.player import Player
from slurmsim.sessions.session_file import Command, Session

PATIENCE_S = 90  # how much longer than recorded a command may take, by the cluster's clock, before it is given up


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one command: how its answer differs from the recorded one, empty for not at all."""

    command: Command
    difference: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be otherwise than in the recording; None: as recorded. `allow_code`: its programs may run."""

    conf: str | None = None
    release: str | None = None
    jobs: str | None = None
    allow_code: bool = False


def replay(session: Session, changes: Changes) -> Iterator[Outcome]:
    """Ask everything again; commands in the order they began. Raises ConfigError."""
    with tempfile.TemporaryDirectory(prefix="slurmsim-replay-", ignore_cleanup_errors=True) as scratch:
        settings = _settings(session, changes, Path(scratch) / "conf")
        real = settings.jobs == "run"
        if not changes.allow_code:
            check_no_code(session, scripts=real)
        with Cluster(settings, Path(scratch) / "cluster") as cluster:
            yield from _Replay(session, cluster, Path(scratch) / "files", real=real, code=changes.allow_code).run()


def _settings(session: Session, changes: Changes, folder: Path) -> Settings:
    folder.mkdir()
    for name, text in session.files.items():
        path = folder / Path(name).name
        path.write_text(text, "utf-8", "surrogateescape")
    made = session.made_of
    try:

        def named(name: str) -> str:
            return str(folder / Path(name).name)

        return Settings(
            conf=changes.conf or named(str(made["conf"])), accounting=tuple(map(named, made["accounting"])),
            mode="frozen", start=int(made["start"]), jobs=changes.jobs or str(made["jobs"]), users=dict(made["users"]),
            release=changes.release or str(made["release"]), storage=made["storage"] != "none",
            operators=tuple(made["operators"]), streams=named(made["streams"]) if made["streams"] else None,
            power={name: str(value) for name, value in made["power"].items()},
            flavour=str(made.get("flavour", "debian")), boot_time=int(made.get("boot_s", 60)),
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"the recording does not say what its cluster was made of: {error}") from None


class _Running:
    """A command on its way."""

    def __init__(self, command: Command, process: subprocess.Popen[bytes], out: IO[bytes], error: IO[bytes]) -> None:
        self.command, self.process, self._files = command, process, (out, error)

    def answer(self) -> tuple[int | None, list[str]]:
        """Exit code (None: given up) and what it wrote."""
        texts = []
        for file in self._files:
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape"))
            file.close()
        return self.process.returncode, texts


class _Replay:
    """One replay under way."""

    def __init__(self, session: Session, cluster: Cluster, files: Path, *, real: bool, code: bool) -> None:
        self._session, self._cluster, self._files, self._code = session, cluster, files, code
        self._player = Player(cluster.folder, real=real, alone=True)
        if real:
            clock_programs.install(cluster.folder / "bin")
        self._running: list[_Running] = []

    def run(self) -> Iterator[Outcome]:
        """Every command, and what became of it."""
        asked = [one for one in self._session.commands if not one.inside and is_asked(one, real=self._player.real)]
        outcomes: dict[int, Outcome] = {}
        for k, command in enumerate(asked):
            self._player.until(command.began, self._look if self._running else None)
            running = self._start(command)
            self._running.append(running)
            following = asked[k + 1].began if k + 1 < len(asked) else command.ended + PATIENCE_S
            while not self._player.ended(running.process) and self._player.now < following:
                self._player.step(1)
            self._collect(outcomes)
        last = self._player.now + PATIENCE_S
        while self._running and self._player.now < last:
            self._player.step(1)
            for one in list(self._running):
                self._player.ended(one.process)
            self._collect(outcomes)
        for one in self._running:
            one.process.kill()
            one.process.wait()
            one.process.returncode = None
        self._collect(outcomes, given_up=True)
        yield from (outcomes[command.number] for command in asked)

    def _look(self) -> None:
        for one in self._running:
            one.process.poll()

    def _collect(self, outcomes: dict[int, Outcome], *, given_up: bool = False) -> None:
        for one in list(self._running):
            if given_up or one.process.poll() is not None:
                self._running.remove(one)
                outcomes[one.command.number] = Outcome(one.command, self._difference(one))

    def _difference(self, running: _Running) -> str:
        code, texts = running.answer()
        command = running.command
        if command.faults or command.cut:
            return ""  # what a fault made of it, or what was not kept, is not to be compared
        out, error = (self._as_recorded(text) for text in texts)
        return difference(Answer(code, out, error), command.answer)

    # -- one command --------------------------------------------------------------------------------------------------

    def _start(self, command: Command) -> _Running:
        folder = self._mirror(command.cwd)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in command.files.items():
            path = self._mirror(os.path.join(command.cwd, name))
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8", "surrogateescape")
        out, error = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        given = tempfile.TemporaryFile()  # noqa: SIM115
        given.write(command.stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        name, *words = command.argv
        program = self._cluster.folder / "bin" / os.path.basename(name)
        process = subprocess.Popen(
            [str(program), *(self._word(word, command) for word in words)],
            cwd=folder, env=self._environ(command), stdin=given, stdout=out, stderr=error, start_new_session=True,
            umask=command.umask,
        )  # fmt: skip
        given.close()
        return _Running(command, process, out, error)

    def _environ(self, command: Command) -> dict[str, str]:
        folder = self._cluster.folder
        found = {
            "PATH": f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self._mirror(command.cwd)),
            "USER": command.user, "LOGNAME": command.user, "SHELL": "/bin/sh", "LANG": "C.UTF-8",
            **self._variables(command), FOLDER_VARIABLE: str(folder),
        }  # fmt: skip
        if command.user != self._session.owner:
            found[USER_VARIABLE] = command.user
        return found

    def _variables(self, command: Command) -> dict[str, str]:
        trusted = self._code and not command.of_other
        return command.environ if trusted else harmless(command.environ)

    def _word(self, word: str, command: Command) -> str:
        """Return a word of the command line, with folders and files of the recording where they are here."""
        for path in sorted({command.cwd, *command.files}, key=len, reverse=True):
            if os.path.isabs(path) and len(path) > 1:
                word = word.replace(path, str(self._mirror(path)))
        return word

    def _mirror(self, path: str) -> Path:
        return self._files / os.path.normpath("/" + path)[1:]

    def _as_recorded(self, text: str) -> str:
        text = text.replace(str(self._files), "")
        return text.replace(f"{self._cluster.folder}{os.sep}", os.path.join(self._session.folder, ""))
