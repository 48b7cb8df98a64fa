"""srun: a step of parallel tasks, in the allocation it runs in or in one of its own.

Mirrors srun 22.05 (later rows from 24.11 and 26.05). Tasks are processes of this machine, children of srun; the daemon
knows the step, says when its job is over, and passes signals on.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from functools import partial

from slurmsim.commands.io import text_of
from slurmsim.commands.submit.allocating import NO_STATUS, AllocatingCall, Interrupted, NotReady, interruptible
from slurmsim.commands.submit.steps import apart, told
from slurmsim.commands.submit.steps.components import shares
from slurmsim.commands.submit.steps.cpu_binding import cpu_binding
from slurmsim.commands.submit.steps.launch import Launch
from slurmsim.commands.submit.steps.life import StepLife
from slurmsim.commands.submit.steps.request import StepRequest
from slurmsim.commands.submit.submission import Failed, each_would_run, start_lines, would_start
from slurmsim.commands.submit.tasks.multi_prog import BadFile, find_file
from slurmsim.commands.text.clock_text import Dates
from slurmsim.commands.text.messages import Messages, Stop, stoppable
from slurmsim.commands.text.shown_id import shown_id_of_task
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.release_changes import since
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.submit.component import Part
    from slurmsim.commands.submit.options.chosen_options import Chosen


_NAME = "srun"
_BUSY = "Requested nodes are busy"
_LATER = (_BUSY, "Required ports are in use", "Requested operation is presently disabled")
_PROLOG_RUNS = "PrologSlurmctld is still running"  # it waits without a word, as real srun does for a prolog of slurmd
_STEP_WAIT_S = 120  # srun waits for another step to end before it asks again, and tells: SlurmctldTimeout and some
_CREATED = {"22.05": "Step created for job {job}", "23.02": "Step created for StepId={job}.{step}"}
_INSIST_S = 60.0


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One srun call in the world `io`; the exit code."""
    return _Call(_NAME, argv, io, Messages(io, _NAME)).run()


class _Call(AllocatingCall):
    def run(self) -> int:
        for part in self.parts:
            self._compare_cpus(part.chosen)
            part.chosen.values["binding"] = cpu_binding(part.chosen, self.say, part.builder.configured)
            if part.chosen.get("multi_prog"):
                self._find_programs(part)
        if self.chosen.get("test_only"):
            return self._test()
        own = self.chosen.get("job_id") is None
        facts = (
            self._allocate() if own else self._existing(int(shown_id_of_task(self.io, str(self.chosen.get("job_id")))))
        )
        self.allocation.job_id = int(facts["job_id"])
        if self.chosen.get("async"):
            return self._submit(self.part, facts)
        lives: list[StepLife] = []
        status = NO_STATUS
        try:
            for part, component in shares(self.parts, facts, lives, self.say, self.error_code, own=own):
                lives.append(self._life(part, component, lives, own))
            status = Launch(self.io, self.say, lives, facts.get("het_size")).run()
        except Stop:
            status = 1 << 8
            raise
        finally:
            for life in lives:
                _insist(partial(life.report, life.status or 0, self.io.client))
            if own:
                _insist(partial(self.io.client.call, "complete_job", job_id=facts["job_id"], status=status))
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)

    def _submit(self, part: Part, facts: dict[str, Any]) -> int:
        """Make a step that is looked after apart from this srun; tell its number. Raises Stop."""
        request = StepRequest(part, facts, self.say, self.error_code, own=False)
        step = self._create({**request.build(), "async": True}, quietly=True)
        name = f"{facts['job_id']}.{step['step_id']}"
        if not self.chosen.get("quiet"):
            self.io.out(f"{name}\n" if self.chosen.get("parsable") else f"Submitted step {name}\n")
        apart.leave(self.io, partial(self._look_after, part, facts, step, request.distribution))
        return 0

    def _look_after(self, part: Part, facts: dict[str, Any], step: dict[str, Any], distribution: str | None) -> None:
        """Run the tasks of an asynchronous step when it has its place, and report its end."""
        place = apart.place(self.io, int(facts["job_id"]), int(step["step_id"]))
        if place is None:
            return
        say, release = Messages(self.io, _NAME), self.cluster.release
        say.level = 0
        life = StepLife(self.io, say, part, facts, place, release, distribution=distribution, own=False)
        try:
            apart.direct_streams(part.chosen)
            status = Launch(self.io, say, [life], None, apart=True).run()
        except Stop:
            status = apart.NOT_LAUNCHED
        _insist(partial(life.report, status, self.io.client))

    def _compare_cpus(self, chosen: Chosen) -> None:
        """Tell if the step's tasks have more CPUs than those of the job, which a variable tells since 23.11."""
        job = self.io.environ.get("SLURM_CPUS_PER_TASK", "")
        asked = int(chosen.get("cpus_per_task") or 0)
        if not (
            chosen.written("cpus-per-task") and job.isdecimal() and since(self.cluster.release, "job_cpus_compared")
        ):
            return
        if asked > int(job):
            what = f"Job step's --cpus-per-task value exceeds that of job ({asked} > {job})"
            self.say.info(f"{what}. Job step may never run.")

    def _life(self, part: Part, facts: dict[str, Any], before: list[StepLife], own: bool) -> StepLife:
        """Make a step in one component; in those after the first it has the same number. Raises Stop."""
        request = StepRequest(part, facts, self.say, self.error_code, own=own)
        asked = request.build()
        if before:
            asked["step_id"] = before[0].step["step_id"]
        step = self._create(asked)
        if self.filter is not None:
            self.filter.post_step(len(before), int(facts["job_id"]), int(step["step_id"]))
        return StepLife(
            self.io, self.say, part, facts, step, self.cluster.release, distribution=request.distribution, own=own
        )

    def _find_programs(self, part: Part) -> None:
        """Without its file of programs no job is made. Raises Stop."""
        if not part.command:
            self.say.error("configuration file not specified")
            raise Stop(self.error_code)
        try:
            find_file(part.command[0])
        except BadFile as bad:
            self.say.error(str(bad))
            raise Stop(self.error_code) from None

    # -- the allocation ---------------------------------------------------------------------------------------------

    def _test(self) -> int:
        try:
            for found in self._tested():
                dates = Dates(self.io.environ, self.cluster.now, unset="Unknown")
                for line in start_lines(found, dates(found["start_time"]), self.cluster.release):
                    self.say.info(line)
        except Failed as failed:
            for line in failed.notes:
                self.say.error(line)
            self.say.plain(f"allocation failure: {failed.text}")
            return 1
        return 0

    def _tested(self) -> Iterable[dict[str, Any]]:
        """Return what slurmctld says of the job that --jobid names, since 26.05, or of each component of a new one."""
        job_id = self.chosen.get("job_id")
        if job_id is None or not since(self.cluster.release, "existing_jobs_tested"):
            return each_would_run(self.io, [part.request for part in self.parts], self.say)
        return [would_start(self.io, int(shown_id_of_task(self.io, str(job_id))), self.part.request)]

    def _allocate(self) -> dict[str, Any]:
        """Get an allocation of srun's own. Raises Stop."""
        if any(part.chosen.get("relative") is not None for part in self.parts):
            self.say.fatal("--relative option invalid for job allocation request")
        immediate = self.chosen.get("immediate")
        requests = [{**part.request, "allocate": True, "held": True, "command": part.command[0]} for part in self.parts]
        try:
            with interruptible():
                facts = self.allocation.ready(self.allocation.get(requests, immediate))
        except NotReady as never:
            if never.said:
                self.say.info(never.said)
                raise Stop(self.error_code) from None
            if never.failed:
                self.say.error(f"Node failure on {never.failed}")
            self.say.error(f"Nodes {never.nodes} are still not ready")
            self.say.error("Something is wrong with the boot of the nodes.")
            raise Stop(self.error_code) from None
        except Failed as failed:
            for line in failed.notes:
                self.say.error(line)
            late = immediate and failed.text in (_BUSY, "Connection timed out")
            self.say.error(f"Unable to allocate resources: {_BUSY if late else failed.text}")
            raise Stop(self.immediate_code() if late else self.error_code) from None
        except Interrupted:
            if self.allocation.job_id:
                self.say.info(f"Job allocation {self.allocation.job_id} has been revoked")
                self.allocation.give_back(NO_STATUS)
            raise Stop(self.error_code) from None
        told.ready(self.say, facts, self.cluster.release)
        return facts

    def _existing(self, job_id: int) -> dict[str, Any]:
        """Return the allocation that is there already. Raises Stop."""
        try:
            return self.io.client.call("allocation", job_id=job_id)
        except (Refusal, Unreachable) as error:
            if isinstance(error, Refusal) and error.number == 2021:
                self.say.error(f"Slurm job {job_id} has expired")
            else:
                self.say.error(f"Unable to confirm allocation for job {job_id}: {text_of(error)}")
        self.say.info(f"Check SLURM_JOB_ID environment variable. Expired or invalid job {job_id}")
        raise Stop(self.error_code)

    # -- the step ---------------------------------------------------------------------------------------------------

    def _create(self, request: dict[str, Any], *, quietly: bool = False) -> dict[str, Any]:
        """Make the step when there is room for it; `quietly`: do not tell that it was made. Raises Stop."""
        job_id, immediate = request["job_id"], self.chosen.get("immediate")
        try:
            return self.io.client.call("step_create", step=request)
        except Unreachable as away:
            text = away.text
        except Refusal as refusal:
            *notes, text = refusal.text.split("\n")
            for note in notes:
                self.say.error(note)
        if text != _PROLOG_RUNS and (text not in _LATER or immediate):
            self.say.error(f"Unable to create step for job {job_id}: {text}")
            raise Stop(self.error_code)
        told, patient = "", self.io.client.patient()
        while True:
            try:
                with interruptible():
                    waiting = patient.post("step_create", step=request, wait=True)
                    while (
                        text != _PROLOG_RUNS
                        and not select.select([waiting], [], [], _STEP_WAIT_S + os.getpid() % 10)[0]
                    ):
                        told = "still" if told else "temporarily"
                        self.say.info(f"Job {job_id} step creation {told} disabled, retrying ({text})")
                    step = patient.receive()
                break
            except Interrupted:
                self.say.info(f"Cancelled pending step for job {job_id}")
                raise Stop(self.error_code) from None
            except Unreachable:
                time.sleep(0.5)
            except Refusal as refusal:
                if refusal.text not in _LATER:
                    self.say.error(f"Unable to create step for job {job_id}: {refusal.text}")
                    raise Stop(self.error_code) from None
                signal.sigtimedwait((), 1)
        patient.close()
        if text == _PROLOG_RUNS or quietly:
            return step
        if not told and since(self.cluster.release, "steps_wait_unsaid"):
            self.say.verbose(f"Step completed in JobId={job_id}, retrying")
        elif not told:
            self.say.info(f"Job {job_id} step creation temporarily disabled, retrying ({text})")
        self.say.info(row(_CREATED, self.cluster.release).format(job=job_id, step=step["step_id"]))
        return step


def _insist(tell: Callable[[], object]) -> None:
    """Tell the daemon something, also when it is away for a while."""
    last = time.monotonic() + _INSIST_S
    while time.monotonic() < last:
        with suppress(Refusal):
            try:
                tell()
            except Unreachable:
                time.sleep(0.5)
                continue
        return
