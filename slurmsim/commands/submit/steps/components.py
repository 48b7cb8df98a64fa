"""Which components of an allocation a step is in, and with what options (create_srun_job of srun_job.c, 22.05)."""

from __future__ import annotations

from slurmsim.commands.text.messages import Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from slurmsim.commands.submit.component import Part
    from slurmsim.commands.submit.steps.life import StepLife
    from slurmsim.commands.text.messages import Messages


def shares(
    parts: Sequence[Part], facts: Mapping[str, Any], lives: Sequence[StepLife], say: Messages, code: int, *, own: bool
) -> Iterator[tuple[Part, dict[str, Any]]]:
    """Each part of the step with what was told of the component it is for, in the order of components. Raises Stop.

    Parameters
    ----------
    facts
        What the daemon told of the allocation; ``components`` of a heterogeneous one.
    lives
        What has been made of the shares so far.
    code
        The exit code of a refusal.
    own
        Whether srun made the allocation itself, of which each part is a component then.
    """
    components = [{**one, "het_job_id": facts["job_id"]} for one in facts.get("components") or []]
    if own:
        yield from zip(parts, components or [dict(facts)], strict=True)
        return
    highest = int(facts.get("het_size") or 1) - 1
    groups = [part.group or 0 for part in parts]
    if not components and len(parts) > 1:
        for part in sorted(parts, key=lambda part: part.group or 0):
            yield part, _of_ordinary(part, facts, lives, say, code)
        return
    if len(parts) > 1 and max(groups) > highest:
        say.error(
            f"Attempt to run a job step with het group value of {max(groups)}, "
            f"but the job allocation has maximum value of {highest}"
        )
        raise Stop(1)
    if max(groups) > highest:
        say.error(f"Requested het-group offset exceeds highest hetjob index ({max(groups)} > {highest})")
        raise Stop(code)
    if not components:
        if parts[0].group is not None:
            say.error("No directives to start application on any available hetjob components")
            raise Stop(code)
        yield parts[0], dict(facts)
        return
    for part in sorted(parts, key=lambda part: part.group or 0):
        component = components[part.group or 0]
        if component.get("over"):
            _say_over(part, component, say)
            raise Stop(code)
        yield part, component


def _of_ordinary(
    part: Part, facts: Mapping[str, Any], lives: Sequence[StepLife], say: Messages, code: int
) -> dict[str, Any]:  # fmt: skip
    """Return facts of a component in an ordinary allocation: it has nodes that earlier ones left. Raises Stop."""
    taken = [name for life in lives for name in life.step["nodes"]]
    size, wanted = len(facts["nodes"]), max(part.builder.sizes.min_nodes, 1)
    if wanted > size - len(taken):
        say.error(
            f"Allocation failure of {wanted} nodes: job size of {size}, already allocated {len(taken)} nodes to "
            "previous components."
        )
        raise Stop(code)
    return {**facts, "het_comp": part.group or 0, "taken": taken}


def _say_over(part: Part, component: Mapping[str, Any], say: Messages) -> None:
    """Say that the component ended alone, before the others."""
    sizes = part.builder.sizes
    if part.chosen.from_variable("nodes"):
        text = "SLURM_JOB_NUM_NODES environment variable conflicts with allocated node count"
        say.error(f"{text} ({sizes.min_nodes} != 0).")
    say.error(f"Unable to create step for job {component['job_id']}: Job/step already completing or completed")
