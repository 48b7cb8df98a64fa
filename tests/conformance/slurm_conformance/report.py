"""Reports: how many scenarios pass, by area, and the first difference of those that do not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slurm_conformance.answers import Answer, Answers, expected
from slurm_conformance.judging import alike
from slurm_conformance.runner import Run


@dataclass(frozen=True)
class Verdict:
    """What became of one scenario."""

    area: str
    name: str
    outcome: str  # passes, differs, or no answers (nothing was recorded for that release)
    command: str = ""  # the first compared command that differs
    wanted: Answer | None = None
    given: Answer | None = None


def judge(run: Run, answers: Answers, release: str) -> Verdict:
    """Return the verdict on one scenario: it passes if no compared answer differs from real Slurm's."""
    scenario = run.scenario
    entries = answers.get(scenario.name)
    if entries is None or len(entries) != len(run.answers):
        return Verdict(scenario.area, scenario.name, "no answers")
    compared = [step for step in scenario.steps if step.compared]
    told = [expected(entry, release) for entry in entries]
    if all(one is None for one in told):
        return Verdict(scenario.area, scenario.name, "no answers")
    for step, wanted, given in zip(compared, told, run.answers, strict=True):
        if wanted is not None and not alike(wanted, given, exact=scenario.exact):
            return Verdict(scenario.area, scenario.name, "differs", step.command, wanted, given)
    return Verdict(scenario.area, scenario.name, "passes")


def table(verdicts: Sequence[Verdict], name: str) -> Iterable[str]:
    """Yield the lines of the table by area."""
    yield f"{name:28} passes  differs  of"
    areas = sorted({one.area for one in verdicts})
    for area in [*areas, ""]:
        those = [one for one in verdicts if one.outcome != "no answers" and area in ("", one.area)]
        passed = sum(one.outcome == "passes" for one in those)
        yield f"{area or 'all':28} {passed:6}  {len(those) - passed:7}  {len(those)}"


def differences(verdicts: Sequence[Verdict]) -> Iterable[str]:
    """Yield what differs, a block a scenario."""
    for one in verdicts:
        if one.wanted is None or one.given is None:
            continue
        yield f"{one.area}: {one.name}"
        yield f"  $ {one.command}"
        for label, answer in (("real Slurm", one.wanted), ("this one", one.given)):
            yield f"  {label}: exit {answer.status}"
            yield from (f"    | {line}" for line in answer.output)
            yield from (f"    ! {line}" for line in answer.errors)
