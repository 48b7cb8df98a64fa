"""salloc: an allocation, and a command or a shell in it.

Mirrors salloc 22.05 (later rows from 24.11 and 26.05). The command runs beside salloc, not on a node; the allocation
ends with it, or it is told when the allocation is taken away.
"""

from __future__ import annotations

import os
import selectors
import signal
from contextlib import suppress

from slurmsim.commands.submit.allocating import ALREADY_DONE, AllocatingCall, Interrupted, NotReady, interruptible
from slurmsim.commands.submit.het.environment import salloc_environment
from slurmsim.commands.submit.launchers import launcher_variables
from slurmsim.commands.submit.steps.environment import allocation_environment
from slurmsim.commands.submit.submission import Failed
from slurmsim.commands.text.messages import Messages, stoppable
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.protocol import Client


_NAME = "salloc"
_READY = {"22.05": None, "24.11": "Nodes {nodes} are ready for job"}
_SAYS_REVOKED = {"22.05": True, "24.11": False}
"""Whether a refused immediate allocation is followed by the news that it was revoked."""
_TELLS_COMMAND = {"22.05": False, "24.11": True}
_UNABLE = ("Requested nodes are busy", "Connection timed out", "Immediate execution impossible, insufficient priority")
_NOTHING_WRONG = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One salloc call in the world `io`; the exit code."""
    return _Call(argv, io, Messages(io, _NAME)).run()


def _found(name: str, environ: dict[str, str]) -> str:
    """Return the file of a command: the first in PATH, else in the working folder (search_path)."""
    folders = [] if "/" in name else [*environ.get("PATH", os.defpath).split(":"), os.getcwd()]
    files = (os.path.join(folder, name) for folder in folders)
    return next((file for file in files if os.path.isfile(file) and os.access(file, os.X_OK)), name)


class _Call(AllocatingCall):
    def __init__(self, argv: list[str], io: Io, say: Messages) -> None:
        super().__init__(_NAME, argv, io, say)
        self.revoked = False

    def run(self) -> int:
        folder = self.chosen.get("work_dir")
        if folder and folder != self.io.cwd:
            try:
                os.chdir(folder)
            except OSError as error:
                self.say.error(f"chdir({folder}): {error.strerror}")
                return self.error_code
        shell = not self.chosen.get("no_shell")
        requests = [{**part.request, "allocate": True, "held": shell} for part in self.parts]
        command: list[str] = next((part.command for part in reversed(self.parts) if part.command), [])
        if command and row(_TELLS_COMMAND, self.cluster.release):
            requests[0]["command"] = command[0]
        immediate = self.chosen.get("immediate")
        try:
            with interruptible():
                facts = self.allocation.get(requests, immediate, self._pending)
        except Failed as failed:
            return self._failed(failed, immediate)
        except Interrupted:
            self.allocation.give_back(0xFFFFFFFE)
            self.say.info(f"Job allocation {self.allocation.job_id} has been revoked.")
            self.say.info("Job aborted due to signal")
            return self.error_code
        job_id = self.allocation.job_id
        self.say.info(f"Granted job allocation {job_id}")
        try:
            facts = self._ready(facts)
        except (NotReady, Interrupted, Failed) as never:
            if isinstance(never, NotReady) and never.said:
                self.say.info(never.said)
                self.say.info(f"Job allocation {job_id} has been revoked.")
            self.say.error(f"Job allocation {job_id} has been revoked")
            return self.error_code
        if self.filter is not None:
            self.filter.post_submit(len(self.parts), job_id)
        if not shell:
            return 0
        status = self._command(facts, command)
        if not self.revoked:
            self.say.info(f"Relinquishing job allocation {job_id}")
            wrong = self.allocation.give_back(status)
            if wrong:
                self.say.error(f"Unable to clean up job allocation {job_id}: {wrong}")
        if os.WIFEXITED(status):
            return os.WEXITSTATUS(status)
        # these signals most likely came from the user, which is no failure (salloc.c)
        return 0 if os.WTERMSIG(status) in _NOTHING_WRONG else 1

    def _ready(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Wait until the nodes have booted, as 22.05 does not, and say that they are ready."""
        ready = row(_READY, self.cluster.release)
        if not ready:
            return facts
        if facts.get("booting"):
            self.say.info("Waiting for resource configuration")
            with interruptible():
                facts = self.allocation.ready(facts)
        for component in facts.get("components", [facts]):
            self.say.info(ready.format(nodes=component["node_list"]))
        return facts

    def _pending(self, job_id: int) -> None:
        self.say.info(f"Pending job allocation {job_id}")

    def _failed(self, failed: Failed, immediate: int | None) -> int:
        for line in failed.notes:
            self.say.error(line)
        if immediate and failed.text in _UNABLE:
            self.say.error(f"Unable to allocate resources: {failed.text}")
            if row(_SAYS_REVOKED, self.cluster.release) or immediate > 1:
                self.say.info(f"Job allocation {self.allocation.job_id} has been revoked.")
            return self.immediate_code()
        self.say.error(f"Job submit/allocate failed: {failed.text}")
        told = row(_SAYS_REVOKED, self.cluster.release) and failed.text != ALREADY_DONE
        if len(self.parts) > 1 and self.allocation.job_id and told:
            self.say.info(f"Job allocation {self.allocation.job_id} has been revoked.")
        return self.error_code

    # -- the command ------------------------------------------------------------------------------------------------

    def _command(self, facts: dict[str, Any], command: list[str]) -> int:
        """Run the command or shell until it ends; its wait status."""
        words = command or [self.io.environ.get("SHELL") or "/bin/sh"]
        environ = {**self.io.environ, **self._environment(facts)}
        environ |= launcher_variables(environ, self.cluster.release)
        self.io.stdout.flush()
        self.io.stderr.flush()
        terminal = self._terminal()
        child = os.fork()
        if not child:
            self._become(words, environ, terminal)
        with suppress(OSError):
            os.setpgid(child, child)
        if terminal is not None:
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(terminal, child)
        try:
            return self._look_after(child)
        finally:
            if terminal is not None:
                os.tcsetpgrp(terminal, os.getpgrp())

    def _environment(self, facts: dict[str, Any]) -> dict[str, str]:
        if len(self.parts) > 1:
            return salloc_environment(facts, self.parts, self.cluster.release)
        return allocation_environment(facts, self.part, self.cluster.release)

    def _terminal(self) -> int | None:
        """Return the terminal to hand to the command, if salloc is in its foreground."""
        try:
            return 0 if os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp() else None
        except OSError:
            return None

    def _become(self, words: list[str], environ: dict[str, str], terminal: int | None) -> None:
        """In the child: the command itself."""
        try:
            os.setpgid(0, 0)
            if terminal is not None:
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                os.tcsetpgrp(terminal, os.getpid())
            for number in (signal.SIGPIPE, signal.SIGTTOU, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            os.execve(_found(words[0], environ), words, environ)
        except OSError as error:
            what = "Unable to find command" if isinstance(error, FileNotFoundError) else "Unable to exec command"
            tail = "" if isinstance(error, FileNotFoundError) else f": {error.strerror}"
            os.write(2, f'{_NAME}: error: _fork_command: {what} "{words[0]}"{tail}\n'.encode())
        finally:
            os._exit(self.error_code)

    def _look_after(self, child: int) -> int:
        """Wait for the command; a signal to salloc or the end of the allocation ends it."""
        numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE)
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        os.set_blocking(reader, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGHUP, lambda *_: self._signal(child, signal.SIGHUP))
        mail = self.io.client.patient()
        with selectors.DefaultSelector() as ready:
            ready.register(reader, selectors.EVENT_READ, None)
            self._listen(ready, mail)
            while True:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    break
                for key, _ in ready.select(None if mail._socket is not None else 1.0):
                    if key.data is None:
                        with suppress(BlockingIOError):
                            os.read(reader, 4096)
                    else:
                        self._news(ready, mail, child)
                if mail._socket is None and not self.revoked:
                    self._listen(ready, mail)
        signal.set_wakeup_fd(-1)
        mail.close()
        return status

    def _signal(self, child: int, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, number)

    def _listen(self, ready: selectors.BaseSelector, mail: Client) -> None:
        with suppress(Unreachable):
            number = mail.post("wait_mail", job_id=self.allocation.job_id, hold=True, after=0)
            ready.register(number, selectors.EVENT_READ, "mail")

    def _news(self, ready: selectors.BaseSelector, mail: Client, child: int) -> None:
        """Handle the daemon's news of the allocation."""
        assert mail._socket is not None
        ready.unregister(mail._socket)
        try:
            answer = mail.receive()
        except (Refusal, Unreachable):
            mail.close()
            return
        if not answer["over"]:
            mail.close()
            return
        self.revoked = True
        mail.close()
        job_id = answer.get("job_id", self.allocation.job_id)
        if answer["state"] == "TIMEOUT":
            self.say.info(f"Job {job_id} has exceeded its time limit and its allocation has been revoked.")
        else:
            self.say.info(f"Job allocation {job_id} has been revoked.")
        number = self.chosen.get("kill_command")
        if number:
            self._signal(child, int(number))
