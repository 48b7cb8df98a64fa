"""The life of one step: tasks and their streams are set up, run, and told of as srun does (launch_slurm.c, 22.05)."""

from __future__ import annotations

import os
import selectors
import signal
import time
from contextlib import suppress

from slurmsim import stepd_notices
from slurmsim.commands.submit.multi_prog import BadFile, read_programs
from slurmsim.commands.submit.step_environment import exported, step_environment, task_environment
from slurmsim.commands.submit.task_files import ALL, EACH, ONE, target
from slurmsim.commands.submit.task_runner import Runner, Task
from slurmsim.commands.text.messages import Stop
from slurmsim.path_patterns import NUMBERS, filled
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.submit.allocation_options import Part
    from slurmsim.commands.submit.task_files import Target
    from slurmsim.commands.text.messages import Messages


_ABORT_S = 2
_EXEC_LATE = {"22.05": True, "26.05": False}
"""Whether "execve(): …" comes after the news of the task's end."""
_AGAIN_S = 1.0
_REQUEUE_GRACE_S = 0.5


class Launch:
    """One step.

    Parameters
    ----------
    part
        Options and command.
    facts, step
        What the daemon told of the allocation and of the step.
    own
        Whether srun made the allocation itself.
    """

    def __init__(
        self, io: Io, say: Messages, part: Part, facts: dict[str, Any], step: dict[str, Any], release: str, *, own: bool
    ) -> None:
        self.io, self.say, self.part, self.facts, self.step, self.own = io, say, part, facts, step, own
        self.chosen, self.release = part.chosen, release
        self.name = f"StepId={facts['job_id']}.{step['step_id']}"
        self.status: int | None = None
        self._opened: dict[str, int] = {}
        self._late: list[str] = []
        self._mail = io.client.patient()
        self._after = int(step["after"])  # messages from before are for others
        self._aborted = self._cancelled = self._told = self._first = False
        self._over = self._noticed = False
        self._killed_by = 0
        self._interrupted = 0.0

    def run(self, distribution: str | None) -> int:
        """Run all tasks to their end; the status of the step. Raises Stop."""
        count = sum(self.step["tasks"])
        tasks = self._tasks(count, distribution)
        single = len(tasks) == 1
        source, streams = self._streams(count)
        for task in tasks:
            task.files = self._files(task, streams, source, single)
        self.io.stdout.flush()
        self.io.stderr.flush()
        work_dir = self.chosen.get("work_dir")
        self.runner = Runner(
            tasks, work_dir, bool(self.chosen.get("label")), max(source, 0), self._finished, self._failed,
            self._signalled, pty=bool(self.chosen.get("pty")),
        )  # fmt: skip
        self.runner.start()
        self._listen()
        self.runner.run()
        self._mail.close()
        if self._aborted and not self._told:
            self.say.info("Job step aborted")
        if self._killed_by and not self._over:
            self.say.info(f"Force Terminated {self.name}")
        for text in self._late:
            self.say.plain(text)
        return self.status if self.status is not None else 0

    # -- setting up -------------------------------------------------------------------------------------------------

    def _tasks(self, count: int, distribution: str | None) -> list[Task]:
        common = step_environment(
            self.io.environ, self.facts, self.step, self.part, self.release, own=self.own, distribution=distribution,
            umask=self.io.umask,
        )  # fmt: skip
        environ = exported(common, self.chosen.get("export_env"), self.io.environ)
        commands = self._commands(count)
        found = []
        for node, numbers in enumerate(self.step["task_ids"]):
            for place, number in enumerate(numbers):
                mine = {**environ, **task_environment(self.step, node, place, number)}
                found.append(Task(number, node, commands[number], mine))
        return sorted(found, key=lambda task: task.number)

    def _commands(self, count: int) -> dict[int, list[str]]:
        words = self.part.command
        if not self.chosen.get("multi_prog"):
            return dict.fromkeys(range(count), words)
        try:
            return read_programs(words[0], count, words[1:], fixed=True)
        except BadFile as bad:
            self.say.error(str(bad))
            raise Stop(1) from None

    def _streams(self, count: int) -> tuple[int, list[Target]]:
        """Where input comes from (a descriptor; -1: a file for each), and the targets of the three streams."""
        out = target(self.chosen.get("std_out"), count)
        error = target(self.chosen.get("std_err"), count) if self.chosen.get("std_err") is not None else out
        given = target(self.chosen.get("std_in"), count)
        source = 0
        if given.kind == ALL and given.name is not None:
            source = self._open(self._path(given.name, None), os.O_RDONLY, "stdin")
        return source, [given, out, error]

    def _files(self, task: Task, streams: list[Target], source: int, single: bool) -> list[int]:
        """Descriptors of one task's streams; below 0 a pipe through srun (-2 - where it ends up)."""
        given = streams[0]
        null = lambda: self._open(os.devnull, os.O_RDWR, "")  # noqa: E731
        if given.kind == EACH and given.name is not None:
            files = [self._open(self._path(given.name, task), os.O_RDONLY, "stdin")]
        elif given.kind == ONE and task.number != given.task:
            files = [null()]
        elif single or given.kind == ONE:
            files = [source if not os.isatty(source) or self.chosen.get("pty") else -1]
        else:
            files = [-1]
        append = self.chosen.get("open_mode") == "a"
        mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if append else os.O_TRUNC)
        for own, stream in ((1, streams[1]), (2, streams[2])):
            if stream.kind == EACH and stream.name is not None:
                files.append(self._open(self._path(stream.name, task), mode, "stdout" if own == 1 else "stderr"))
                continue
            if stream.kind == ONE and task.number != stream.task:
                files.append(null())
                continue
            to = own
            if stream.name is not None:
                to = self._open(self._path(stream.name, None), mode, "stdout" if own == 1 else "stderr")
            files.append(-2 - to if self.chosen.get("label") and not self.chosen.get("pty") else to)
        return files

    def _path(self, text: str, task: Task | None) -> str:
        environ, host = self.io.environ, os.uname().nodename.partition(".")[0]
        values = {
            "j": str(self.facts["job_id"]), "J": f"{self.facts['job_id']}.{self.step['step_id']}",
            "s": str(self.step["step_id"]), "u": str(self.facts["user"]),
            "A": environ.get("SLURM_ARRAY_JOB_ID", str(self.facts["job_id"])),
            "a": environ.get("SLURM_ARRAY_TASK_ID", "4294967294"),
            "x": environ.get("SLURM_JOB_NAME") or str(self.facts.get("name") or ""),
        }  # fmt: skip
        if task is not None:
            values |= {"t": str(task.number), "n": str(task.node), "N": host}
        return os.path.join(self.chosen.get("work_dir") or self.io.cwd, filled(text, values, NUMBERS | {"s"}))

    def _open(self, path: str, mode: int, what: str) -> int:
        """A file, opened once. Raises Stop."""
        if path not in self._opened:
            try:
                self._opened[path] = os.open(path, mode, 0o666)
            except OSError as error:
                self.say.error(f"Could not open {what} file: {error.strerror}")
                raise Stop(1) from None
        return self._opened[path]

    # -- news of tasks ----------------------------------------------------------------------------------------------

    def _failed(self, task: Task, number: int) -> None:
        """A task could not be started."""
        node = self.step["nodes"][task.node]
        text = stepd_notices.line(f"execve(): {task.words[0]}: {os.strerror(number)}", node, time.time(), self.release)
        if row(_EXEC_LATE, self.release):
            self._late.append(text)
        else:
            self.say.plain(text)

    def _finished(self, node: int, numbers: list[int], status: int) -> None:
        """Tasks of one node ended alike."""
        what = f"{self.step['nodes'][node]}: {'task' if len(numbers) == 1 else 'tasks'} {_ranges(numbers)}"
        if os.WIFEXITED(status):
            code = os.WEXITSTATUS(status)
            if code:
                self.say.error(f"{what}: Exited with exit code {code}")
            else:
                self.say.verbose(f"{what}: Completed")
            if self.status is None or (os.WIFEXITED(self.status) and code > os.WEXITSTATUS(self.status)):
                self.status = status
        else:
            number = os.WTERMSIG(status)
            text = f"{what}: {signal.strsignal(number)}{' (core dumped)' if os.WCOREDUMP(status) else ''}"
            (self.say.verbose if self._cancelled else self.say.error)(text)
            if number in (signal.SIGKILL, signal.SIGTERM):
                self._killed_by = number
            worse = self.status is None or os.WIFEXITED(self.status) or number > os.WTERMSIG(self.status)
            self.status = number if worse else self.status
        self._first_end(status)

    def _first_end(self, status: int) -> None:
        """What the first task that ends sets off."""
        kill = self.chosen.get("kill_on_bad_exit")
        if status and (self.facts["kill_on_bad_exit"] if kill is None else kill) and not self._aborted:
            self.say.info(f"Terminating {self.name}")
            self._end(signal.SIGTERM)
            self.runner.after(float(self.facts["kill_wait"]), lambda: self.runner.send(signal.SIGKILL))
        wait = self.chosen.get("max_wait")
        if not self._first and wait:
            self.runner.after(float(wait), lambda: self._too_late(int(wait)))
        self._first = True

    def _too_late(self, seconds: int) -> None:
        self.say.info(f"First task exited {seconds}s ago")
        self._show_tasks()
        self.say.info(f"Terminating {self.name}")
        self._end(signal.SIGKILL)

    # -- signals ----------------------------------------------------------------------------------------------------

    def _signalled(self, number: int) -> None:
        """srun got a signal."""
        if number == signal.SIGINT:
            self._interrupt()
        elif number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGQUIT:
                self.say.info("Quit")
            self.say.info("forcing job termination")
            self._abort()
        elif number == signal.SIGCONT:
            self.say.info("got SIGCONT")
        elif number == signal.SIGPIPE:
            self._abort()
        elif number != signal.SIGALRM:
            self.runner.send(number)

    def _interrupt(self) -> None:
        now = time.monotonic()
        if self.chosen.get("quit_on_interrupt") or now - self._interrupted < 1:
            self.say.info(f"sending Ctrl-C to {self.name}")
            self.runner.send(signal.SIGINT)
            if not self._cancelled:
                self._cancelled = True
                self.say.info("forcing job termination")
                self._abort()
            else:
                self.say.info("job abort in progress")
        elif self.chosen.get("disable_status"):
            self.say.info(f"sending Ctrl-C to {self.name}")
            self.runner.send(signal.SIGINT)
        elif not self._cancelled:
            self.say.info("interrupt (one more within 1 sec to abort)")
            self._show_tasks()
        self._interrupted = now

    def _show_tasks(self) -> None:
        tasks = self.runner.tasks
        for text, found in (
            ("running", [t.number for t in tasks if t.status is None]),
            ("exited abnormally", [t.number for t in tasks if t.status]),
            ("exited", [t.number for t in tasks if t.status == 0]),
        ):
            if found:
                self.say.info(f"{self.name} task{'' if len(found) == 1 else 's'} {_ranges(found)}: {text}")

    def _abort(self) -> None:
        """Kill the tasks and say for how long they are waited for; those of a job that is ending have their time."""
        self._say_aborted()
        try:
            self.io.client.call("allocation", job_id=self.facts["job_id"])
        except Refusal:
            return  # its end is on its way to us
        except Unreachable:
            pass
        self._end(signal.SIGKILL)

    def _say_aborted(self) -> None:
        if not self._told:
            self._told = self._aborted = True
            seconds = int(self.facts["kill_wait"]) + _ABORT_S
            self.say.info(f"Job step aborted: Waiting up to {seconds} seconds for job step to finish.")

    def _end(self, number: int, why: str = "CANCELLED", now: float | None = None) -> None:
        """The step is ended from outside: slurmstepd says so, and the tasks get a signal."""
        if not self._noticed:
            self._noticed = True
            if now is None:
                with suppress(Refusal, Unreachable):
                    now = float(self.io.client.call("ping")["now"])
            entity = f"STEP {self.facts['job_id']}.{self.step['step_id']}"
            node = self.step["nodes"][0]
            self.say.plain(stepd_notices.cancelled(entity, node, now or time.time(), why, self.release))
        if number == signal.SIGTERM:
            self.runner.send(signal.SIGCONT)
        self.runner.send(number)

    # -- the daemon -------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Wait for news of the job beside everything else; try again when the daemon is away."""
        job_id, step_id = self.facts["job_id"], self.step["step_id"]
        try:
            number = self._mail.post(
                "wait_mail", job_id=job_id, step_id=step_id, after=self._after, hold=self.own, told=self._over
            )
        except Unreachable:
            self.runner.after(_AGAIN_S, self._listen)
            return
        self.runner.ready.register(number, selectors.EVENT_READ, lambda: self._news(number))

    def _news(self, number: int) -> None:
        self.runner.ready.unregister(number)
        try:
            answer = self._mail.receive()
        except Refusal:
            return
        except Unreachable:
            self.runner.after(_AGAIN_S, self._listen)
            return
        self._after = int(answer["after"])
        for letter in answer["mail"]:
            if letter["kind"] == "signal":
                self.runner.send(int(letter["signal"]))
            elif letter["kind"] == "end" or letter["step"] is None:
                self._told_over(str(letter["why"]), float(answer["now"]), letter["kind"] == "over")
        if answer["over"] and not self._over:
            self._told_over(str(answer["state"]), float(answer["now"]), True)
        self._listen()

    def _told_over(self, why: str, now: float, job: bool) -> None:
        """The job, or this step alone, was ended."""
        self._over = True
        gentle = job or why == "TIMEOUT"

        def end() -> None:
            self._say_aborted()
            self._end(signal.SIGTERM if gentle else signal.SIGKILL, why, now)

        if why in ("REQUEUED", "PENDING"):  # a task may have asked for it, and is to see the answer first
            self.runner.after(_REQUEUE_GRACE_S, end)
        else:
            end()


def _ranges(numbers: list[int]) -> str:
    """``0-2,5``."""
    parts: list[str] = []
    k = 0
    while k < len(numbers):
        last = k
        while last + 1 < len(numbers) and numbers[last + 1] == numbers[last] + 1:
            last += 1
        parts.append(str(numbers[k]) if last == k else f"{numbers[k]}-{numbers[last]}")
        k = last + 1
    return ",".join(parts)
