"""The classes the entry points name: dispatchers that run a cluster, and the door for single instances.

A dispatcher is called whenever something happens. What can all start at once is started as a list schedule says; else
the solver is asked, outside of the controller, for the jobs of that instant, and its answer is carried out job by job
on the cluster as it is by then. If that starts nothing although something fits, the list schedule's starts are taken:
it never stalls. Jobs that do not start now are shown with their planned start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from slurmsim.bitmap import from_indices
from slurmsim.errors import PolicyError
from slurmsim.policy import Decisions, JobView, LayoutsView, Plan, Policy, PolicyOption, Reject, Solve, Start, WakeAt
from slurmsim_policies.cp.admission import Q_LENGTH
from slurmsim_policies.cp.boards import CapacityBoard
from slurmsim_policies.cp.listing import ORDERS, serial
from slurmsim_policies.cp.options import OPTIONS
from slurmsim_policies.cp.picture import Picture, picture_of
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.plan import Plan as WholePlan
from slurmsim_policies.cp.solve import dispatch

SOLVER = "slurmsim_policies.cp.solve:solve"


def _ewt(text: str) -> dict[str, int]:
    """``part:seconds+part:seconds`` as seconds by partition."""
    found: dict[str, int] = {}
    for item in filter(None, text.split("+")):
        name, colon, seconds = item.rpartition(":")
        if not colon or not name or int(seconds) < 1:
            raise ValueError(text)
        found[name] = int(seconds)
    return found


_OWN = {
    "ewt": PolicyOption(
        _ewt, {}, "wait thought fit, seconds by partition: debug:1800+long:86400; else MaxTime, or 1800"
    ),
    "solver": PolicyOption(str, SOLVER, "who solves, as package.module:function"),
}


class CpPolicy(Policy):
    """A dispatcher of this package by its name.

    `q_length` is how many jobs enter the next solve where only those enter that could start now; `news`: something
    happened while an answer was awaited.
    """

    STATE = ("q_length", "news")
    order_by: ClassVar[str] = "wait"
    admits_now: ClassVar[bool] = False

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self._words = {key: str(value) for key, value in (options or {}).items() if key not in _OWN}
        if self.admits_now:
            self._words.setdefault("admit", "now")
        self.q_length = Q_LENGTH
        self.news = False

    # -- on a cluster -----------------------------------------------------------------------------------------------

    def schedule(self, view: LayoutsView, now: int) -> Decisions:
        """Start what the list schedule starts if that is all, else ask the solver."""
        if view.solving:
            self.news = True
            return
        self.news = False
        picture = picture_of(view, now, self.options["ewt"])
        for job, why in picture.refused:
            yield self._refuse(job, why)
        if not picture.waiting:
            return
        if not _fits_now(picture):
            if self.watched:
                yield from self._show(picture, self._listed(picture), now)
            return
        plan = self._listed(picture)
        if all(plan.starts[name] == now for name in picture.waiting):
            yield from self._start(picture, plan, now)
            return
        request = {
            "dispatcher": self.name, "options": self._words, "q_length": self.q_length, "instance": picture.plain,
            "machine": picture.machine,
        }  # fmt: skip
        yield Solve(request, self.options["solver"])

    def solved(self, view: LayoutsView, now: int, request: Any, answer: Any) -> Decisions:
        """Carry the plan out as far as it still holds."""
        started = False
        if answer is not None:
            if answer.get("q_length"):
                self.q_length = int(answer["q_length"])
            started = yield from self._carry_out(view, now, request["machine"], answer)
        if not started:
            picture = picture_of(view, now, self.options["ewt"])
            if picture.waiting and _fits_now(picture):
                yield from self._start(picture, self._listed(picture), now)
        if self.news:
            yield from self.schedule(view, now)

    def _carry_out(self, view: LayoutsView, now: int, machine: list[int], answer: Mapping[str, Any]) -> Any:
        """Start whose turn it is, show the others; whether somebody started."""
        waiting = {str(job.id): job for job in view.pending}
        started, following = False, []
        for name, start in sorted(answer["starts"].items(), key=lambda item: item[1]):
            job, placed = waiting.get(name), answer["layout"].get(name)
            if job is None:
                continue
            layout = {machine[int(node)]: units for node, units in (placed or {}).items()}
            if start > now:
                following.append(start)
                yield Plan(job, start, from_indices(sorted(layout)), promise=False)
            elif placed and _still(view, job, layout) and (yield Start(job, layout=layout)):
                started = True
        if following:
            yield WakeAt(min(following))
        return started

    def _listed(self, picture: Picture) -> WholePlan:
        instance = picture.instance
        return serial(instance, CapacityBoard(instance), ORDERS[self.order_by](instance))

    def _start(self, picture: Picture, plan: WholePlan, now: int) -> Decisions:
        """Start what starts now in a list schedule."""
        for name, job in picture.waiting.items():
            if plan.starts[name] == now:
                yield Start(job, layout={picture.machine[k]: units for k, units in plan.layout[name].items()})
        yield from self._show(picture, plan, now)

    def _show(self, picture: Picture, plan: WholePlan, now: int) -> Decisions:
        """Planned starts of those that wait on."""
        later = [(plan.starts[name], job, plan.layout[name]) for name, job in picture.waiting.items()
                 if plan.starts[name] > now]  # fmt: skip
        for start, job, layout in later:
            yield Plan(job, start, from_indices(sorted(picture.machine[k] for k in layout)), promise=False)
        if later:
            yield WakeAt(min(start for start, _, _ in later))

    def _refuse(self, job: JobView, why: str) -> Reject:
        """A job that no layout can describe: the end of a simulation, but of one job only where people submit them."""
        if not self.watched:
            raise PolicyError(self.name, f"job {job.id} {why}: that is not modelled")
        return Reject(job, f"NotModelled ({why})")

    # -- single instances -------------------------------------------------------------------------------------------

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


def _fits_now(picture: Picture) -> bool:
    """Whether a job could start now, were it the only one that waits."""
    instance = picture.instance
    free = CapacityBoard(instance).timeline
    for i in instance.waiting:
        asked = instance.jobs[i]
        if instance.units_that_fit(asked, free.free[0]).sum() >= asked.units:
            start, _, _ = next(iter(free.windows(asked, instance.now)))
            if start == instance.now:
                return True
    return False


def _still(view: LayoutsView, job: JobView, layout: Mapping[int, int]) -> bool:
    """Whether the job still asks for as many units: users may change what waits."""
    return view.units(job).count == sum(layout.values())


class Eurora(CpPolicy):
    """EURORA 2014."""

    name = "cp_eurora"
    summary = "constraint programming: EURORA 2014's six models of makespan, tardiness and late jobs"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["cp_eurora"], **_OWN}


class Pcp19(CpPolicy):
    """PCP'19."""

    name = "pcp19"
    summary = "constraint programming: PCP'19, slowdown with an interval for each copy of a unit"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["pcp19"], **_OWN}
    order_by, admits_now = "slowdown", True


class Hcp19(CpPolicy):
    """HCP'19."""

    name = "hcp19"
    summary = "constraint programming: HCP'19, slowdown with all nodes as one, then best-fit allocation"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["hcp19"], **_OWN}
    order_by, admits_now = "slowdown", True


class Pcp20(CpPolicy):
    """PCP'20."""

    name = "pcp20"
    summary = "constraint programming: PCP'20, slowdown with boxes in time and positions"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["pcp20"], **_OWN}
    order_by, admits_now = "slowdown", True


class Classes(CpPolicy):
    """Ours."""

    name = "cp_classes"
    summary = "constraint programming: one integer per job and class of identical nodes, placed afterwards"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["cp_classes"], **_OWN}
    order_by = "slowdown"
