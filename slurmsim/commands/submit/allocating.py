"""Asking for an allocation and waiting for it: what srun and salloc have in common."""

from __future__ import annotations

import signal
from contextlib import contextmanager

from slurmsim.commands.submit.cli_filter import site_filter
from slurmsim.commands.submit.options.allocation_options import read_allocation
from slurmsim.commands.submit.options.chosen_options import error_code
from slurmsim.commands.submit.steps import told
from slurmsim.commands.submit.submission import Failed, ask
from slurmsim.commands.text.cluster_facts import Cluster
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.submit.component import Part
    from slurmsim.commands.text.messages import Messages


NO_STATUS = 0xFFFFFFFE  # given back by a client that did not get to use it
SIGNALS = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGPIPE", "SIGTERM", "SIGUSR1", "SIGUSR2")
TIMED_OUT = "Connection timed out"
ALREADY_DONE = "Job/step already completing or completed"


class Interrupted(Exception):
    """A signal came while waiting."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class NotReady(Exception):
    """The nodes of an allocation do not come up; `failed` are those that could not, "" if the job was cancelled.

    `said` is what slurmctld said to its user before that.
    """

    def __init__(self, nodes: str, failed: str, said: str) -> None:
        super().__init__(nodes)
        self.nodes, self.failed, self.said = nodes, failed, said


@contextmanager
def interruptible(names: Sequence[str] = SIGNALS) -> Iterator[None]:
    """Raise Interrupted at the first of these signals; those after it are ignored."""
    numbers = [getattr(signal, name) for name in names]

    def interrupt(number: int, frame: FrameType | None) -> None:
        for one in numbers:
            signal.signal(one, signal.SIG_IGN)
        raise Interrupted(number)

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is interrupt:
                signal.signal(number, handler)


class AllocatingCall:
    """One call of a command that allocates: its options are read, and its allocation can be asked for."""

    def __init__(self, name: str, argv: list[str], io: Io, say: Messages) -> None:
        self.io, self.say = io, say
        self.cluster = Cluster(io)
        self.error_code = error_code(io, say)
        # what is asked for: one part, or several for the components of a heterogeneous job
        self.filter = site_filter(io, self.cluster, say, self.error_code)
        self.parts = read_allocation(name, argv, io, say, self.cluster, self.filter)
        self.part: Part = self.parts[0]  # the first of them
        self.chosen = self.part.chosen
        self.allocation = Allocation(io, say, self.cluster.release)

    def immediate_code(self) -> int:
        """Return the exit code where ``--immediate`` found no nodes."""
        text = self.io.environ.get("SLURM_EXIT_IMMEDIATE", "")
        return int(text) & 0xFF if is_number(text) and int(text) else 1


class Allocation:
    """One allocation on its way."""

    def __init__(self, io: Io, say: Messages, release: str) -> None:
        self.io, self.say, self.release = io, say, release
        self.job_id = 0  # 0 until the daemon has answered

    def get(
        self, requests: Sequence[dict[str, Any]], immediate: int | None, pending: Callable[[int], None] | None = None
    ) -> dict[str, Any]:
        """Ask, and wait until it is granted: what was granted.

        Parameters
        ----------
        requests
            Fields of the submission, of each component.
        immediate
            Seconds to wait at most; 1 does not wait at all, None waits for ever.
        pending
            Told the id of a job that has to wait.

        Raises
        ------
        Failed
            With Slurm's text.
        Interrupted
        """
        answer = ask(self.io, list(requests), self.say)
        self.job_id = int(answer["job_id"])
        if "refused" in answer:
            raise Failed.by(Refusal(str(answer["refused"])))
        told.returned(self.say, self.job_id, self.release)
        if answer.get("granted"):
            return self._call("allocation", job_id=self.job_id)
        if answer.get("note"):
            self.say.info(str(answer["note"]))
        if pending is not None:
            pending(self.job_id)
        self.say.info(f"job {self.job_id} queued and waiting for resources")
        return self._wait(immediate)

    def _wait(self, immediate: int | None) -> dict[str, Any]:
        until = None if not immediate else int(self.io.client.call("hello")["now"]) + immediate
        answer = self._patiently("wait_allocation", until=until)
        if answer.get("timed_out"):
            self.give_back(NO_STATUS)
            raise Failed(TIMED_OUT)
        if answer.get("over"):
            self.say.info("Job has been cancelled")
            raise Failed(ALREADY_DONE)
        self.say.info(f"job {self.job_id} has been allocated resources")
        return answer

    def ready(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Wait until the nodes of the allocation have booted; return the allocation as it is then.

        Raises
        ------
        NotReady
            A node has not come up, or the job was cancelled meanwhile.
        Interrupted
        """
        if not facts.get("booting"):
            return facts
        answer = self._patiently("wait_ready")
        if answer.get("over"):
            raise NotReady(str(facts["node_list"]), str(answer["failed"]), str(answer.get("said") or ""))
        return answer

    def _patiently(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer to a call about the job that may take long. Raises Failed."""
        patient = self.io.client.patient()
        while True:
            try:
                answer = patient.call(name, job_id=self.job_id, hold=True, **arguments)
                break
            except Unreachable:
                signal.sigtimedwait((), 1)  # the controller is away: look again
            except Refusal as refusal:
                raise Failed(refusal.text) from None
        patient.close()
        return answer

    def _call(self, name: str, **arguments: Any) -> dict[str, Any]:
        try:
            return self.io.client.call(name, **arguments)
        except Refusal as refusal:
            raise Failed(refusal.text) from None
        except Unreachable as away:
            raise Failed(away.text) from None

    def give_back(self, status: int) -> str:
        """End the allocation; the text of a refusal that matters, else empty."""
        try:
            self.io.client.call("complete_job", job_id=self.job_id, status=status)
        except Refusal as refusal:
            return "" if refusal.text == ALREADY_DONE else refusal.text
        except Unreachable as away:
            return away.text
        return ""
