"""What becomes of a step while its tasks run: news of tasks, of the daemon and of srun's own end (launch_slurm.c).

A step in several components of a heterogeneous job has one such life in each of them, and one runner for all.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from contextlib import suppress
from functools import partial

from slurmsim import stepd_notices
from slurmsim.commands.submit.steps import told
from slurmsim.numerals import ranges
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.submit.component import Part
    from slurmsim.commands.submit.tasks.runner import Runner, Task
    from slurmsim.commands.text.messages import Messages
    from slurmsim.protocol import Client


_ABORT_S = 2
_OUT_OF_MEMORY = "OUT_OF_MEMORY"
_OOM_STATUS = 1 << 8  # srun exits with 1
_EXEC_LATE = {"22.05": True, "26.05": False}  # whether "execve(): …" comes after the news of the task's end
_TERMINATING = {"22.05": "launch/slurm: _step_signal: Terminating", "23.02": "Terminating"}
_AGAIN_S = 1.0
_STEPD_S = 0.045
"""Real seconds in which srun hears of the end of its job, CONT and TERM before slurmstepd says anything."""
_REQUEUE_GRACE_S = 0.5


class StepLife:
    """One step, or what one component has of it.

    Parameters
    ----------
    distribution
        What SLURM_DISTRIBUTION says; None where srun leaves it to the controller.
    """

    runner: Runner

    def __init__(
        self, io: Io, say: Messages, part: Part, facts: dict[str, Any], step: dict[str, Any], release: str, *,
        distribution: str | None, own: bool,
    ) -> None:  # fmt: skip
        self.io, self.say, self.part, self.facts, self.step, self.own = io, say, part, facts, step, own
        self.chosen, self.release, self.distribution = part.chosen, release, distribution
        component = f"+{facts['het_comp']}" if "het_comp" in facts else ""
        self.name = f"StepId={facts['job_id']}.{step['step_id']}{component}"
        # first_task, first_node: how many tasks and nodes the components before it have
        self.first_task = self.first_node = 0
        self.together: list[StepLife] = [self]  # the lives of the same step in all components, this one among them
        self.tasks: list[Task] = []  # its tasks, once there are some
        self.status: int | None = None  # the worst wait status of its tasks; None before the first has ended
        self._late: list[str] = []
        self._mail = io.client.patient()
        self._after = int(step["after"])  # messages from before are for others
        self._aborted = self._told = self._first = self._terminated = False
        self.cancelled = False
        self._over = self._noticed = False
        self._to_notice: Callable[[], None] | None = None
        self._killed_by = 0
        self._oom = self._oom_told = False  # whether its tasks are killed for memory, and whether that was said

    def close(self) -> None:
        """All is over: what is left to say."""
        self._mail.close()
        if self._aborted and not self._told:
            self.say.info("Job step aborted")
        if self._killed_by and not self._over:
            self.say.info(f"Force Terminated {self.name}")
        for text in self._late:
            self.say.plain(text)

    def send(self, number: int) -> None:
        """Signal its tasks."""
        self.runner.send(number, self.tasks)

    def report(self, status: int, client: Client) -> None:
        """Tell the daemon how it ended. Raises Refusal and Unreachable."""
        component = {"het_comp": self.facts["het_comp"]} if "het_comp" in self.facts else {}
        client.call(
            "step_end", job_id=self.facts["job_id"], step_id=self.step["step_id"], status=int(status), **component
        )

    # -- news of tasks ----------------------------------------------------------------------------------------------

    def failed(self, task: Task, number: int) -> None:
        """Note that a task could not be started."""
        node = self.step["nodes"][task.node - self.first_node]
        text = stepd_notices.line(f"execve(): {task.words[0]}: {os.strerror(number)}", node, self.now(), self.release)
        if row(_EXEC_LATE, self.release):
            self._late.append(text)
        else:
            self.say.plain(text)

    def finished(self, node: int, numbers: list[int], status: int) -> None:
        """Tasks of one node ended alike."""
        if self._to_notice is not None:
            self._to_notice()
        what = f"{self.step['nodes'][node]}: {'task' if len(numbers) == 1 else 'tasks'} {ranges(numbers)}"
        told.notified(self.say, self.name, len(numbers), status, self.release)
        if self._oom:
            self._out_of_memory(what)
        elif os.WIFEXITED(status):
            code = os.WEXITSTATUS(status)
            if code:
                self.say.error(f"{what}: Exited with exit code {code}")
            else:
                told.completed(self.say, what, self.release)
            if self.status is None or (os.WIFEXITED(self.status) and code > os.WEXITSTATUS(self.status)):
                self.status = status
        else:
            number = os.WTERMSIG(status)
            text = f"{what}: {signal.strsignal(number)}{' (core dumped)' if os.WCOREDUMP(status) else ''}"
            (self.say.verbose if self.cancelled else self.say.error)(text)
            if number in (signal.SIGKILL, signal.SIGTERM):
                self._killed_by = number
            worse = self.status is None or os.WIFEXITED(self.status) or number > os.WTERMSIG(self.status)
            self.status = number if worse else self.status
        self._first_end(status)

    def _out_of_memory(self, what: str) -> None:
        if not self._oom_told:
            self.say.error(f"{what}: Out Of Memory")
        self._oom_told, self.status = True, _OOM_STATUS

    def _first_end(self, status: int) -> None:
        """Do what the end of the first task sets off."""
        kill = self.chosen.get("kill_on_bad_exit")
        kills = status and (self.facts["kill_on_bad_exit"] if kill is None else kill)
        if kills and not self._aborted and not self._terminated:
            for life in self.together:
                life.terminate()
        wait = self.chosen.get("max_wait")
        if not self._first and wait:
            self.runner.after(float(wait), lambda: self._too_late(int(wait)))
        self._first = True

    def terminate(self) -> None:
        """TERM, and KILL when KillWait is over."""
        self._terminated = True
        self.say.info(f"{row(_TERMINATING, self.release)} {self.name}")
        if any(task.status is None for task in self.tasks):
            self._end(signal.SIGTERM)
        self.runner.after(float(self.facts["kill_wait"]), lambda: self.send(signal.SIGKILL))

    def _too_late(self, seconds: int) -> None:
        self.say.info(f"First task exited {seconds}s ago")
        self.show_tasks()
        self.say.info(f"{row(_TERMINATING, self.release)} {self.name}")
        self._end(signal.SIGKILL)

    # -- its end ----------------------------------------------------------------------------------------------------

    def show_tasks(self) -> None:
        """Say which tasks run and which are over."""
        for text, found in (
            ("running", [t.number - self.first_task for t in self.tasks if t.status is None]),
            ("exited abnormally", [t.number - self.first_task for t in self.tasks if t.status]),
            ("exited", [t.number - self.first_task for t in self.tasks if t.status == 0]),
        ):
            if found:
                self.say.info(f"{self.name} task{'' if len(found) == 1 else 's'} {ranges(found)}: {text}")

    def abort(self) -> None:
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
        """End the step from outside: slurmstepd says so, and the tasks get a signal."""
        if self._to_notice is None:
            self._notice(why, now)
        if number == signal.SIGTERM:
            self.send(signal.SIGCONT)
        self.send(number)

    def _notice_after(self, seconds: float, why: str, now: float) -> None:
        """Let slurmstepd say why the step is ended in so many seconds, or when a task is over."""
        if seconds and not self._noticed and not self._to_notice:
            self._to_notice = partial(self._notice, why, now)
            self.runner.after(seconds, self._to_notice)

    def _notice(self, why: str, now: float | None) -> None:
        if self._noticed:
            return
        self._noticed, self._to_notice = True, None
        entity = f"STEP {self.facts['job_id']}.{self.step['step_id']}"
        node = self.step["nodes"][0]
        text = stepd_notices.cancelled(entity, node, now or self.now(), why, self.release)
        self.say.plain(self._task_label() + text)

    def _task_label(self) -> str:
        """Return what stands before lines of the first task, with ``--label``."""
        labelled = self.tasks and self.tasks[0].label is not None
        return f"{self.first_task:{self.tasks[0].label}d}: " if labelled else ""

    def now(self) -> float:
        """Return the cluster's clock; the machine's if the daemon is gone."""
        with suppress(Refusal, Unreachable):
            return float(self.io.client.call("ping")["now"])
        return time.time()

    # -- the daemon -------------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Wait for news of the job beside everything else; try again when the daemon is away."""
        job_id, step_id = self.facts["job_id"], self.step["step_id"]
        try:
            number = self._mail.post(
                "wait_mail", job_id=job_id, step_id=step_id, after=self._after, hold=self.own, told=self._over
            )
        except Unreachable:
            self.runner.after(_AGAIN_S, self.listen)
            return
        self.runner.ready.register(number, selectors.EVENT_READ, lambda: self._news(number))

    def _news(self, number: int) -> None:
        self.runner.ready.unregister(number)
        try:
            answer = self._mail.receive()
        except Refusal:
            return
        except Unreachable:
            self.runner.after(_AGAIN_S, self.listen)
            return
        self._after = int(answer["after"])
        for letter in answer["mail"]:
            if letter["kind"] == "signal":
                if letter["signal"] in (signal.SIGTERM, signal.SIGKILL):
                    self._notice("CANCELLED", float(answer["now"]))
                self.send(int(letter["signal"]))
            elif letter["kind"] == "end" or letter["step"] is None:
                self._told_over(str(letter["why"]), float(answer["now"]), letter["kind"] == "over")
        if answer["over"] and not self._over:
            self._told_over(str(answer["state"]), float(answer["now"]), True)
        self.listen()

    def _told_over(self, why: str, now: float, job: bool) -> None:
        """Note that the job, or this step alone, was ended."""
        self._over = True
        if why == _OUT_OF_MEMORY:
            self._oom = True
            text = stepd_notices.oom_killed(self.name, self.step["nodes"][0], now, self.release)
            self.say.plain(self._task_label() + text)
            self.send(signal.SIGKILL)
            return
        gentle = job or why == "TIMEOUT"

        def end() -> None:
            if job:
                self._say_aborted()
                self._notice_after(_STEPD_S if self.facts["batch"] else 0, why, now)
            self._end(signal.SIGTERM if gentle else signal.SIGKILL, why, now)
            if why != "TIMEOUT":
                self._say_aborted()

        if why in ("REQUEUED", "PENDING"):  # a task may have asked for it, and is to see the answer first
            self.runner.after(_REQUEUE_GRACE_S, end)
        else:
            end()
