"""The classes the entry points name: options, and the door for single instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from slurmsim.errors import PolicyError
from slurmsim.policy import Policy, PolicyOption
from slurmsim_policies.cp.options import OPTIONS
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.solve import dispatch


class CpPolicy(Policy):
    """A dispatcher of this package by its name."""

    def configure(self, scheduler_parameters: Mapping[str, str], start_time: int) -> None:
        """Raises PolicyError: what runs a cluster is not there yet."""
        raise PolicyError(self.name, "plans single instances only, with slurmsim dispatch")

    def dispatch(self, instance: Mapping[str, Any], clock: Callable[[], float] | None = None) -> dict[str, Any]:
        """The answer for one `instance` given as plain data (``slurmsim dispatch``).

        Raises
        ------
        InstanceError
            The instance cannot be right.
        PolicyError
            OR-Tools is not installed.
        """
        answer = dispatch(instance_from(instance), self.name, self.options, clock)
        return {"dispatcher": self.name, **answer.as_plain()}


class Eurora(CpPolicy):
    """EURORA 2014."""

    name = "cp_eurora"
    summary = "constraint programming: EURORA 2014's six models of makespan, tardiness and late jobs"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = OPTIONS["cp_eurora"]


class Pcp19(CpPolicy):
    """PCP'19."""

    name = "pcp19"
    summary = "constraint programming: PCP'19, slowdown with an interval for each copy of a unit"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = OPTIONS["pcp19"]


class Hcp19(CpPolicy):
    """HCP'19."""

    name = "hcp19"
    summary = "constraint programming: HCP'19, slowdown with all nodes as one, then best-fit allocation"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = OPTIONS["hcp19"]


class Pcp20(CpPolicy):
    """PCP'20."""

    name = "pcp20"
    summary = "constraint programming: PCP'20, slowdown with boxes in time and positions"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = OPTIONS["pcp20"]


class Classes(CpPolicy):
    """Ours."""

    name = "cp_classes"
    summary = "constraint programming: one integer per job and class of identical nodes, placed afterwards"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = OPTIONS["cp_classes"]
