"""Running scenarios: one cluster after the other, one scenario after the other, each in an emptied cluster."""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from slurm_conformance.answers import Answer
from slurm_conformance.judging import normal, placed, submitted
from slurm_conformance.scenario import HERE, FormatError, Scenario, Step
from slurm_conformance.target import Said, Target

_GONE = r"^left *$"
PATIENCE_S = 90  # seconds of the cluster that `until` waits


@dataclass(frozen=True)
class Run:
    """What a target answered to one scenario, an answer a compared step."""

    scenario: Scenario
    answers: tuple[Answer, ...]


def run(target: Target, scenarios: list[Scenario], told: Callable[[str], None]) -> Iterator[Run]:
    """Yield what `target` answers to the scenarios that hold for its release. Raises FormatError."""
    wanted = [one for one in scenarios if one.holds_for(target.release) and target.can_be(one.cluster)]
    order = sorted(wanted, key=lambda one: one.cluster)
    for cluster, those in itertools.groupby(order, key=lambda one: one.cluster):
        told(f"{target.name}: cluster {cluster}")
        try:
            target.start(cluster)
            _prepare(target, cluster)
            for _, row in itertools.groupby(those, key=lambda one: (one.area, one.row)):
                yield from _row(target, list(row))
            _empty(target)  # and so it is still there
        finally:
            target.stop()


def _prepare(target: Target, cluster: str) -> None:
    path = HERE / "clusters" / cluster / "sacctmgr.txt"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    for line in lines:
        if line and not line.startswith("#"):
            target.ask("root", f"sacctmgr -i {line}")
    nodes = Step("root", "sinfo -h -N -o %t | sort -u", until=r"\Aidle\n\Z")
    if (found := _said(target, nodes, []).output.split()) != ["idle"]:
        raise FormatError(f"{target.name}: cluster {cluster}: nodes are {' '.join(found) or 'unknown'}: expected idle")


def _row(target: Target, scenarios: list[Scenario]) -> Iterator[Run]:
    """Yield what is answered to scenarios that share a scene; without one each begins in an empty cluster."""
    there: list[str] = []
    list(_answers(target, scenarios[0].scene, there))
    for scenario in scenarios:
        jobs = list(there)
        yield Run(scenario, tuple(_answers(target, scenario.steps, jobs)))
        if jobs and not scenario.scene:
            _empty(target)
    if scenarios[0].scene:
        _empty(target)


def _answers(target: Target, steps: tuple[Step, ...], jobs: list[str]) -> Iterator[Answer]:
    """Yield the compared answers; jobs that are submitted are added to `jobs`."""
    for step in steps:
        if not step.user:
            target.wait(step.seconds)
            continue
        said = _said(target, step, jobs)
        for job in submitted(step.command, said.output + said.errors):
            if job not in jobs:
                jobs.append(job)
        if step.compared:
            yield normal(said.status, said.output, said.errors, jobs)


def _said(target: Target, step: Step, jobs: list[str]) -> Said:
    command = placed(step.command, jobs)
    said = target.ask(step.user, command)
    pattern = placed(step.until, jobs)
    waited = 0
    while pattern and waited < PATIENCE_S and not re.search(pattern, said.output, re.MULTILINE):
        target.wait(1)
        waited += 1
        said = target.ask(step.user, command)
    return said


def _empty(target: Target) -> None:
    """Cancel what is left until it is gone: a job that is being requeued has to be cancelled again.

    Raises FormatError if it does not go, as where the cluster itself is gone: its answers would be none.
    """
    cancel = 'left=$(squeue -h -o %A | sort -u); test -z "$left" || scancel $left; echo left $left'
    said = _said(target, Step("root", cancel, until=_GONE), [])
    if not re.search(_GONE, said.output, re.MULTILINE):
        last = (said.errors or said.output).strip().splitlines()[-1:] or ["no word"]
        raise FormatError(f"{target.name}: jobs that were cancelled do not go: {last[0]}")
