"""A step's tasks and their streams are set up and run, as srun does (launch_slurm.c, 22.05); srun's own signals."""

from __future__ import annotations

import errno
import os
import signal
import time
from functools import partial
from itertools import chain

from slurmsim import stepd_notices
from slurmsim.commands.submit.het.environment import common_facts, het_variables
from slurmsim.commands.submit.steps import told
from slurmsim.commands.submit.steps.environment import binding_told, exported, step_environment, task_environment
from slurmsim.commands.submit.steps.gpus import task_devices
from slurmsim.commands.submit.tasks.files import ALL, EACH, ONE, target
from slurmsim.commands.submit.tasks.multi_prog import BadFile, read_programs
from slurmsim.commands.submit.tasks.runner import Runner, Task
from slurmsim.commands.text.messages import Stop
from slurmsim.path_patterns import NUMBERS, filled
from slurmsim.release_changes import since
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.commands.io import Io
    from slurmsim.commands.submit.steps.life import StepLife
    from slurmsim.commands.submit.tasks.files import Target
    from slurmsim.commands.text.messages import Messages


_DOUBLED = {"22.05": True, "26.05": False}
"""Whether a file's ``%t`` counts the tasks of the components before a task's twice."""


class Launch:
    """One step.

    Parameters
    ----------
    lives
        The step in each of its components; in an ordinary allocation there is one.
    het_size
        How many components the allocation has; None for an ordinary one.
    apart
        True for a step that no srun waits for: what slurmstepd says goes where its first task's errors go.
    """

    def __init__(
        self, io: Io, say: Messages, lives: Sequence[StepLife], het_size: int | None, *, apart: bool = False
    ) -> None:
        self.io, self.say, self.lives, self.het_size, self._apart = io, say, lives, het_size, apart
        self.chosen = lives[0].chosen
        self._opened: dict[str, int] = {}
        self._cancelled = False
        self._interrupted = 0.0
        tasks = nodes = 0
        for life in lives:
            life.first_task, life.first_node, life.together = tasks, nodes, list(lives)
            tasks, nodes = tasks + sum(life.step["tasks"]), nodes + len(life.step["nodes"])
        self.count = tasks

    def run(self) -> int:
        """Run all tasks to their end; the status of the step. Raises Stop."""
        several = self.het_size or len(self.lives) > 1
        self.facts, self.step = common_facts(self.lives) if several else (self.lives[0].facts, self.lives[0].step)
        if self.chosen.get("pty"):
            self._look_for_terminal(str(self.chosen.get("pty")))
        for life in self.lives:
            life.tasks = self._tasks(life)
        for life in self.lives:
            self._set_up_streams(life)
        self.io.stdout.flush()
        self.io.stderr.flush()
        tasks = [task for life in self.lives for task in life.tasks]
        if self._apart:
            errors = tasks[0].files[2]
            os.dup2(errors if errors >= 0 else -2 - errors, 2)
        self.runner = Runner(
            tasks, self._finished, self._failed, self._signalled, self._lost, pty=bool(self.chosen.get("pty"))
        )
        for life in self.lives:
            life.runner = self.runner
        for life in self.lives:
            told.allocated(self.say, life.facts, life.chosen.values["binding"], life.release)
            told.launching(self.say, life.name, life.step["nodes"], life.step["task_ids"], life.release)
        self.runner.start()
        for life in self.lives:
            told.started(self.say, life.step["nodes"], life.step["task_ids"], life.release)
        if self.chosen.get("debugger_test"):
            self._tell_debugger()
        for life in self.lives:
            life.listen()
        self.runner.run()
        for life in self.lives:
            life.close()
        return max((life.status or 0 for life in self.lives), key=_badness)

    def _look_for_terminal(self, told: str) -> None:
        """Drop ``--pty`` where its descriptor is no terminal. Raises Stop for one that is no number."""
        number = told if told != "True" else ""
        if number and not number[0].isdigit():
            self.say.fatal(f"--pty={number} must be numeric file descriptor")
            raise Stop(1)
        descriptor = int(number) if number.isdigit() else int(not since(self.lives[0].release, "pty_of_input"))
        if not os.isatty(descriptor):
            self.say.error(f"ioctl(TIOCGWINSZ): {os.strerror(errno.ENOTTY)}")
            self.say.error(f"Not using a pseudo-terminal, disregarding --pty{number and '='}{number} option")
            self.chosen.values["pty"] = None

    def _tell_debugger(self) -> None:
        """Tell where each task is, as a debugger is told that srun runs under (``--debugger-test``)."""
        for life in self.lives:
            for task in life.tasks:
                host = life.step["nodes"][task.node - life.first_node]
                self.say.info(f"task:{task.number}, host:{host}, pid:{task.pid}, executable:{task.words[0]}")

    # -- setting up -------------------------------------------------------------------------------------------------

    def _tasks(self, life: StepLife) -> list[Task]:
        facts = {**self.facts, **{name: life.facts.get(name) for name in ("start_time", "end_time", "sluid")}}
        common = step_environment(
            self.io.environ, facts, self.step, life.part, life.release, own=life.own,
            distribution=life.distribution, umask=self.io.umask,
        )  # fmt: skip
        if self.het_size or len(self.lives) > 1:
            common |= het_variables(self.lives, self.facts, self.step, self.het_size, own=life.own)
        environ = exported(common, life.chosen.get("export_env"), self.io.environ)
        commands = self._commands(life)
        configured = life.step.get("task_programs") or (None, None)
        beside = life.chosen.get("task_prolog") or life.chosen.get("task_epilog") or any(configured)
        when = life.now() if beside or "TMPDIR" in environ else 0.0
        found = []
        for name in ("SLURM_GPUS_ON_NODE", *chain(*life.step["gpu_variables"])):
            environ.pop(name, None)
        for node, numbers in enumerate(life.step["task_ids"]):
            gpus = life.step["gpus"][node]
            for place, number in enumerate(numbers):
                own = {"SLURM_GPUS_ON_NODE": str(gpus)} if gpus else {}
                own |= life.step["share_variables"][node] | binding_told(life.chosen, len(numbers), life.release)
                devices = task_devices(life.chosen, life.step["devices"][node], place)
                if devices:
                    seen = ",".join(map(str, devices))
                    uuids = life.step["gpu_uuids"][node]
                    told = ",".join(uuids[device] for device in devices) if uuids else seen
                    own |= {"SLURM_STEP_GPUS": seen, **dict.fromkeys(life.step["gpu_variables"][node], told)}
                own |= task_environment(life.step, node, place, number, life.first_node, life.first_task)
                found.append(
                    Task(
                        life.first_task + number,
                        life.first_node + node,
                        commands[number],
                        {**environ, **own},
                        folder=life.chosen.get("work_dir"),
                        label=self._label(life),
                        prolog=life.chosen.get("task_prolog"),
                        epilog=life.chosen.get("task_epilog"),
                        configured_prolog=configured[0],
                        configured_epilog=configured[1],
                        release=life.release,
                        memory=life.step["memory"][node],
                        stopped=bool(life.chosen.get("debugger_test")),
                        first=place == 0,
                        said=partial(self._said, life.step["nodes"][node], life.release, when),
                    )
                )
        return sorted(found, key=lambda task: task.number)

    @staticmethod
    def _said(node: str, release: str, when: float, text: str) -> str:
        return stepd_notices.line(text, node, when, release)

    def _label(self, life: StepLife) -> int | None:
        return len(str(self.count - 1)) if life.chosen.get("label") else None

    def _commands(self, life: StepLife) -> dict[int, list[str]]:
        count, words = sum(life.step["tasks"]), life.part.command
        if not life.chosen.get("multi_prog"):
            if words[0].startswith("."):
                words = [os.path.join(life.chosen.get("work_dir") or self.io.cwd, words[0]), *words[1:]]
            return dict.fromkeys(range(count), words)
        try:
            return read_programs(words[0], count, words[1:], fixed=True)
        except BadFile as bad:
            self.say.error(str(bad))
            raise Stop(1) from None

    def _set_up_streams(self, life: StepLife) -> None:
        """Open the files of one component's tasks."""
        source, streams = self._streams(life)
        for task in life.tasks:
            task.source = source
            task.files = self._files(life, task, streams, source)

    def _streams(self, life: StepLife) -> tuple[int, list[Target]]:
        """Return the descriptor shared input comes from, and the targets of the three streams."""
        chosen, count = life.chosen, sum(life.step["tasks"])
        out = target(chosen.get("std_out"), count)
        error = target(chosen.get("std_err"), count) if chosen.get("std_err") is not None else out
        given = target(chosen.get("std_in"), count)
        source = 0
        if given.kind == ALL and given.name is not None:
            source = self._open(self._path(life, given.name, None), os.O_RDONLY, "stdin")
        return source, [given, out, error]

    def _files(self, life: StepLife, task: Task, streams: list[Target], source: int) -> list[int]:
        """Descriptors of one task's streams; below 0 a pipe through srun (-2 - where it ends up)."""
        given, chosen, number = streams[0], life.chosen, task.number - life.first_task

        def null() -> int:
            return self._open(os.devnull, os.O_RDWR, "")

        if given.kind == EACH and given.name is not None:
            files = [self._open(self._path(life, given.name, task), os.O_RDONLY, "stdin")]
        elif given.kind == ONE and number != given.task:
            files = [null()]
        elif self.count == 1 or given.kind == ONE:
            files = [source if not os.isatty(source) or chosen.get("pty") else -1]
        else:
            files = [-1]
        append = chosen.get("open_mode") == "a"
        mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if append else os.O_TRUNC)
        for own, stream in ((1, streams[1]), (2, streams[2])):
            what = "stdout" if own == 1 else "stderr"
            if stream.kind == EACH and stream.name is not None:
                files.append(self._open(self._path(life, stream.name, task), mode, what))
                continue
            if stream.kind == ONE and number != stream.task:
                files.append(null())
                continue
            to = own
            if stream.name is not None:
                to = self._open(self._path(life, stream.name, None), mode, what)
            files.append(-2 - to if chosen.get("label") and not chosen.get("pty") else to)
        return files

    def _path(self, life: StepLife, text: str, task: Task | None) -> str:
        environ, facts, step = self.io.environ, life.facts, life.step
        values = {
            "j": str(facts["job_id"]), "J": f"{facts['job_id']}.{step['step_id']}",
            "s": str(step["step_id"]), "u": str(facts["user"]),
            "A": environ.get("SLURM_ARRAY_JOB_ID", str(facts["job_id"])),
            "a": environ.get("SLURM_ARRAY_TASK_ID", "4294967294"),
            "x": environ.get("SLURM_JOB_NAME") or str(facts.get("name") or ""),
        }  # fmt: skip
        if since(life.release, "sluids_and_restarts_in_file_names"):
            values |= {"S": str(facts.get("sluid") or ""), "r": environ.get("SLURM_RESTART_COUNT", "0")}
        if task is not None:
            node = str(step["nodes"][task.node - life.first_node])  # the host name of a machine of its own
            doubled = life.first_task if row(_DOUBLED, life.release) else 0
            values |= {"t": str(task.number + doubled), "n": str(task.node - life.first_node), "N": node}
        return os.path.join(life.chosen.get("work_dir") or self.io.cwd, filled(text, values, NUMBERS | {"s"}))

    def _open(self, path: str, mode: int, what: str) -> int:
        """Return a file, opened once. Raises Stop."""
        if path not in self._opened:
            try:
                if what in ("stdout", "stderr") and since(self.lives[0].release, "output_folders_made"):
                    os.makedirs(os.path.dirname(path) or ".", 0o755, exist_ok=True)
                self._opened[path] = os.open(path, mode, 0o666)
            except OSError as error:
                self.say.error(f"Could not open {what} file: {error.strerror}")
                raise Stop(1) from None
        return self._opened[path]

    # -- news of tasks ----------------------------------------------------------------------------------------------

    def _life(self, node: int) -> StepLife:
        return next(life for life in reversed(self.lives) if life.first_node <= node)

    def _failed(self, task: Task, number: int) -> None:
        self._life(task.node).failed(task, number)

    def _finished(self, node: int, numbers: list[int], status: int) -> None:
        life = self._life(node)
        life.finished(node - life.first_node, [number - life.first_task for number in numbers], status)

    def _lost(self) -> None:
        for life in self.lives:
            life.report(signal.SIGKILL, self.io.client.patient())

    # -- signals ----------------------------------------------------------------------------------------------------

    def _signalled(self, number: int) -> None:
        """Handle a signal that srun got."""
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

    def _abort(self) -> None:
        for life in self.lives:
            life.abort()

    def _interrupt(self) -> None:
        now = time.monotonic()
        if self.chosen.get("quit_on_interrupt") or now - self._interrupted < 1:
            self._pass_on_interrupt()
            if not self._cancelled:
                self._cancelled = True
                for life in self.lives:
                    life.cancelled = True
                self.say.info("forcing job termination")
                self._abort()
            else:
                self.say.info("job abort in progress")
        elif self.chosen.get("disable_status"):
            self._pass_on_interrupt()
        elif not self._cancelled:
            self.say.info("interrupt (one more within 1 sec to abort)")
            for life in self.lives:
                life.show_tasks()
        self._interrupted = now

    def _pass_on_interrupt(self) -> None:
        for life in self.lives:
            self.say.info(f"sending Ctrl-C to {life.name}")
        self.runner.send(signal.SIGINT)


def _badness(status: int) -> tuple[int, int]:
    """Return a key to compare wait statuses: a signal is worse than any exit code."""
    return (1, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (0, os.WEXITSTATUS(status))
