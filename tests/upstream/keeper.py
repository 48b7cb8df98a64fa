"""Start and stop what the suite takes for Slurm's daemons: one slurmsim daemon, forked from a loaded process.

``python keeper.py PREFIX``. Requests are lines of JSON on var/run/keeper.sock (`standins.asking`):

- ``slurmctld [clean]`` and ``slurmdbd`` start the daemon with the files in etc; ``stop WHICH`` stops it
- ``slurmd NODE`` starts a process of that name, which does nothing; a node that boots by ResumeProgram registers
- ``copy`` takes the files in etc before a `scontrol reconfigure`
- ``reset`` ends all and removes the cluster

A fork costs milliseconds where a new daemon's imports take a second.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

from slurmsim.errors import InputError, SlurmSimError
from slurmsim.jwt_key import KEY_FILE
from slurmsim.live.daemon import prepare
from slurmsim.live.going_on import replace_conf
from slurmsim.live.settings import NEW_DATABASE, Settings, exists
from slurmsim.protocol import Client, Refusal, Unreachable
from slurmsim.slurmctld.history.reconfiguration import RUNNING
from slurmsim.slurmctld.history.starter import READY, Starter
from slurmsim.slurmctld.server.start import serve

RELEASE = "26.05"
GONE_S = 30.0
CHANGED = "running clusters cannot change"
Answer = tuple[int, str]


def _cluster_name(conf: Path) -> str:
    """Return the ClusterName of a slurm.conf."""
    found = re.search(r"^[ \t]*ClusterName[ \t]*=[ \t]*(\S+)", conf.read_text("utf-8"), re.IGNORECASE | re.MULTILINE)
    return found[1].lower() if found else "cluster"


class NotStarted(SlurmSimError):
    """The daemon ended before it was ready; the text is what it logged."""


class Keeper:
    """The daemons of one prefix."""

    def __init__(self, prefix: Path) -> None:
        self.prefix, self.folder = prefix, prefix / "var" / "cluster"
        self.run = prefix / "var" / "run"
        self.pid = 0
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}

    # -- requests -----------------------------------------------------------------------------------------------------

    def answer(self, words: list[str]) -> Answer:
        """Carry out one request."""
        what, rest = words[0], words[1:]
        try:
            match what:
                case "slurmctld":
                    self.start(clean="clean" in rest)
                    self._mark("slurmctld")
                    if self._has_database():
                        self._mark("slurmdbd", only_if=self._is("slurmdbd"))
                case "slurmdbd":
                    if not self.pid:
                        self.start(clean=False, new_files=False)  # slurmdbd has nothing to do with slurm.conf
                    self._mark("slurmdbd")
                case "slurmd":
                    self._start_node(rest[0], rest[1:])
                case "stop":
                    self._stop(rest)
                case "copy":
                    replace_conf(self.folder, self.prefix / "etc" / "slurm.conf", RELEASE)
                case "reset":
                    self._reset()
                case _:
                    return 1, f"no request {what}\n"
        except NotStarted as error:
            return 1, f"{error}\n"
        except (SlurmSimError, OSError) as error:
            return 1, f"{what}: fatal: {error}\n"
        return 0, ""

    def _mark(self, which: str, only_if: bool = True) -> None:
        link = self.run / which
        if only_if and not link.is_symlink():
            link.symlink_to(self.folder)

    def _is(self, which: str) -> bool:
        return (self.run / which).is_symlink()

    def _unmark(self, which: str) -> None:
        (self.run / which).unlink(missing_ok=True)

    def _has_database(self) -> bool:
        text = (self.prefix / "etc" / "slurm.conf").read_text("utf-8").lower()
        return "accountingstoragetype=accounting_storage/slurmdbd" in text

    def _stop(self, rest: list[str]) -> None:
        which = rest[0]
        self._unmark(which)
        if which == "slurmctld" and len(rest) == 1:
            self._end_nodes()
        if not (self._is("slurmctld") or self._is("slurmdbd")):
            self.end()

    def _reset(self) -> None:
        for which in ("slurmctld", "slurmdbd"):
            self._unmark(which)
        self.end()
        self._end_nodes()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _start_node(self, node: str, words: list[str]) -> None:
        name = " ".join([str(self.prefix / "sbin" / "slurmd"), *(words or ["-N", node])])
        self.nodes[node] = subprocess.Popen([name, "infinity"], executable="/usr/bin/sleep", stdin=subprocess.DEVNULL)
        if self.pid and "resumeprogram" in (self.prefix / "etc" / "slurm.conf").read_text("utf-8").lower():
            with suppress(Refusal, Unreachable):
                Client(str(self.folder)).call("node_action", action="register", nodes=node)

    def _end_nodes(self) -> None:
        for process in self.nodes.values():
            process.kill()
            process.wait()
        self.nodes.clear()

    # -- the one daemon -----------------------------------------------------------------------------------------------

    def start(self, *, clean: bool, new_files: bool = True) -> None:
        """Start it; one that exists takes the files as they are now, unless told otherwise. Raises SlurmSimError."""
        self.end()
        if clean:
            self._begin_anew()
        try:
            self._start(new_files=new_files)
        except SlurmSimError as error:
            if CHANGED not in str(error):
                raise
            # Slurm would go on with other nodes; here jobs are lost
            kept = self._associations()
            self._begin_anew()
            self._start(new_files=new_files, accounting=kept)

    def _associations(self) -> Path | None:
        """Return a file with the associations of a cluster that cannot go on under its new files; None if it has none.

        It is started once more under the files it had.
        """
        running = self.folder / RUNNING
        if not self._has_database() or not (running / "slurm.conf").is_file():
            return None
        target = self.prefix / "var" / "associations.cfg"
        target.unlink(missing_ok=True)
        try:
            replace_conf(self.folder, running / "slurm.conf", RELEASE)
            self._start(new_files=False)
            name = _cluster_name(running / "slurm.conf")
            subprocess.run(
                [str(self.folder / "bin" / "sacctmgr"), "-i", "dump", name, f"file={target}"], check=False,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=GONE_S,
            )  # fmt: skip
        except (SlurmSimError, OSError, subprocess.SubprocessError):
            pass
        self.end()
        return target if target.is_file() else None

    def _begin_anew(self) -> None:
        """Remove the cluster but for the key of its tokens, which a site keeps beside slurm.conf."""
        key = self.folder / KEY_FILE
        kept = key.read_bytes() if key.is_file() else None
        shutil.rmtree(self.folder, ignore_errors=True)
        if kept is not None:
            self.folder.mkdir(mode=0o700, parents=True)
            key.touch(mode=0o600)
            key.write_bytes(kept)

    def _start(self, *, new_files: bool, accounting: Path | None = None) -> None:
        conf = self.prefix / "etc" / "slurm.conf"
        there = str(accounting) if accounting is not None else NEW_DATABASE
        settings = Settings(
            conf=str(conf), release=RELEASE, accounting=(there,) if self._has_database() else (),
            allow_code=True,
        )  # fmt: skip
        if exists(self.folder) and new_files:
            replace_conf(self.folder, conf, RELEASE)
        log = self.prefix / "var" / "log" / "slurmctld.log"
        before = len(log.read_text("utf-8", "replace")) if log.exists() else 0
        news, told = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os._exit(self._serve(settings, news, told))
        os.close(told)
        with os.fdopen(news, "rb") as lines:
            ready = any(line.strip() == READY for line in lines)
        if not ready:
            os.waitpid(pid, 0)
            said = log.read_text("utf-8", "replace")[before:].strip().splitlines()
            raise NotStarted("\n".join(f"slurmctld: {line}" for line in said) if said else "the daemon ended")
        self.pid = pid

    def _serve(self, settings: Settings, news: int, told: int) -> int:
        os.setsid()
        os.close(news)
        log = os.open(self.prefix / "var" / "log" / "slurmctld.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir("/")
        os.umask(0o077)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            starter = Starter(told)
            prepared = prepare(self.folder, settings)  # here: a fork loses its parent's folders
            return serve(prepared.folder, prepared.header, starter.progress, starter.ready)
        except SlurmSimError as error:
            log = error.log if isinstance(error, InputError) else ()
            print("\n".join((f"fatal: {error}", *log)), file=sys.stderr, flush=True)
        except BaseException:
            traceback.print_exc()
        return 1

    def end(self) -> None:
        """Stop it; its state stays."""
        if not self.pid:
            return
        os.kill(self.pid, signal.SIGTERM)
        last = time.monotonic() + GONE_S
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > last:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                break
            time.sleep(0.005)
        self.pid = 0


def main() -> None:
    """Answer requests, one after the other, for ever."""
    keeper = Keeper(Path(sys.argv[1]))
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(keeper.run / "keeper.sock"))
        door.listen(64)
        while True:
            asking, _ = door.accept()
            with asking, asking.makefile("rw") as lines:
                try:
                    answer = keeper.answer(json.loads(lines.readline()))
                except Exception:
                    traceback.print_exc()
                    answer = 1, "keeper: error: see its log\n"
                lines.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
