"""The classes the entry points name: dispatchers that run a cluster, and the door for single instances.

A dispatcher is called whenever something happens. What can all start at once is started as a list schedule says; where
only jobs enter that could start now, those are all there is to decide. Else the solver is asked, outside of the
controller, for the jobs of that instant, and its answer is carried out job by job on the cluster as it is by then. If
that starts nothing although something fits, the list schedule's starts are taken: it never stalls. Jobs that do not
start now are shown with their planned start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from typing import Any, ClassVar

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.errors import ConfigError, PolicyError
from slurmsim.policy import (
    PREDICTOR,
    Decision,
    Decisions,
    JobView,
    LayoutsView,
    Outcome,
    Plan,
    Policy,
    PolicyOption,
    Reject,
    Solve,
    Start,
    WakeAt,
)
from slurmsim_policies.choices import one_of
from slurmsim_policies.cp.admission import Q_LENGTH
from slurmsim_policies.cp.boards import CapacityBoard
from slurmsim_policies.cp.listing import ORDERS, earliest_first, fitting, serial
from slurmsim_policies.cp.options import OPTIONS
from slurmsim_policies.cp.picture import Picture, picture_of
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.plan import Plan as WholePlan
from slurmsim_policies.cp.reserving import Kept, around, oldest
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
    "predictor": PREDICTOR,
    "solver": PolicyOption(str, SOLVER, "the solver, as package.module:function; not in files", code=True),
}
_ADMITTING = {
    **_OWN,
    "reserve": PolicyOption(
        one_of("none", "oldest"), "none", "oldest: no job may delay the one that has waited longest; or none"
    ),
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
        self._words = {key: str(value) for key, value in (options or {}).items() if key not in _ADMITTING}
        if self.admits_now:
            self._words.setdefault("admit", "now")
        self._of_runs = [key for key in options or {} if key in _ADMITTING]
        self._reserves = self.options.get("reserve") == "oldest"
        self.q_length = Q_LENGTH
        self.news = False

    # -- on a cluster -----------------------------------------------------------------------------------------------

    def schedule(self, view: LayoutsView, now: int) -> Decisions:
        """Start what the list schedule starts if that is all, else ask the solver."""
        if view.solving:
            self.news = True
            return
        self.news = False
        picture, _ = yield from self._picture(view, now)
        for job, why in picture.refused:
            yield self._refuse(job, why)
        if not picture.waiting:
            return
        able = _able_now(picture)
        if not able:
            if self.watched:
                yield from self._show(picture, self._listed(picture), now)
            return
        only_able = self._words.get("admit") == "now"
        plan = self._listed(picture, able if only_able else ())
        entering = able if only_able else picture.waiting
        if all(plan.starts[name] == now for name in entering):
            yield from self._start(picture, plan, now)
            return
        request = {
            "dispatcher": self.name, "options": self._words, "q_length": self.q_length, "instance": picture.plain,
            "machine": picture.machine,
        }  # fmt: skip
        yield Solve(request, self.options["solver"])

    def _picture(self, view: LayoutsView, now: int) -> Generator[Decision, Outcome, tuple[Picture, Kept | None]]:
        """Return what the dispatcher is to see, and with ``reserve=oldest`` the start kept for the oldest job.

        As long as the oldest job fits now it is started. One that some limit forbids is passed over.
        """
        picture = picture_of(view, now, self.options["ewt"])
        if not self._reserves or not picture.waiting:
            return picture, None
        passed_over: set[str] = set()
        while (kept := oldest(picture, passed_over)) is not None and kept.start == now:
            layout = {picture.machine[k]: units for k, units in kept.layout.items()}
            if (yield Start(picture.waiting[kept.name], layout=layout)):
                picture = picture_of(view, now, self.options["ewt"])
                if not picture.waiting:
                    return picture, None
            else:
                passed_over.add(kept.name)
        if kept is None:
            return picture, None
        yield Plan(picture.waiting[kept.name], kept.start, kept.nodes(picture), promise=False)
        yield WakeAt(kept.start)
        return around(picture, kept), kept

    def solved(self, view: LayoutsView, now: int, request: Any, answer: Any) -> Decisions:
        """Carry the plan out as far as it still holds."""
        started = False
        picture, kept, kept_from = None, 0, now
        if self._reserves:
            picture, own = yield from self._picture(view, now)
            if own is not None:
                kept, kept_from = own.nodes(picture), own.start
        if answer is not None:
            if answer.get("q_length"):
                self.q_length = int(answer["q_length"])
            started = yield from self._carry_out(view, now, request["machine"], answer, kept, kept_from)
        if not started:
            picture = picture or picture_of(view, now, self.options["ewt"])
            if picture.waiting and (able := _able_now(picture)):
                yield from self._start(picture, self._listed(picture, able), now)
        if self.news:
            yield from self.schedule(view, now)

    def _carry_out(
        self, view: LayoutsView, now: int, machine: list[int], answer: Mapping[str, Any], kept: Bitmap, kept_from: int
    ) -> Any:
        """Start the jobs that are due and show the plans of the others; return True if any started.

        The nodes in `kept` are reserved from `kept_from` on.
        """
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
            elif now + job.expected_s > kept_from and from_indices(sorted(layout)) & kept:
                continue  # the answer took too long
            elif placed and _still(view, job, layout) and (yield Start(job, layout=layout)):
                started = True
        if following:
            yield WakeAt(min(following))
        return started

    def _listed(self, picture: Picture, first: Collection[str] = ()) -> WholePlan:
        """Return the list schedule in this dispatcher's order, with the jobs in `first` before all others."""
        instance = picture.instance
        order = ORDERS[self.order_by](instance)
        order.sort(key=lambda i: instance.jobs[i].id not in first)
        return serial(instance, CapacityBoard(instance), order)

    def _start(self, picture: Picture, plan: WholePlan, now: int) -> Decisions:
        """Start what starts now in a list schedule."""
        for name, job in picture.waiting.items():
            if plan.starts.get(name) == now:
                yield Start(job, layout={picture.machine[k]: units for k, units in plan.layout[name].items()})
        yield from self._show(picture, plan, now)

    def _show(self, picture: Picture, plan: WholePlan, now: int) -> Decisions:
        """Planned starts of those that wait on."""
        later = [(plan.starts[name], job, plan.layout[name]) for name, job in picture.waiting.items()
                 if plan.starts.get(name, now) > now]  # fmt: skip
        for start, job, layout in later:
            yield Plan(job, start, from_indices(sorted(picture.machine[k] for k in layout)), promise=False)
        if later:
            yield WakeAt(min(start for start, _, _ in later))

    def _refuse(self, job: JobView, why: str) -> Reject:
        """Refuse a job that no layout can describe: a simulation ends; in a live cluster only the job does."""
        if not self.watched:
            raise PolicyError(self.name, f"job {job.id} {why}: that is not modelled")
        return Reject(job, f"NotModelled ({why})")

    # -- single instances -------------------------------------------------------------------------------------------

    def dispatch(self, instance: Mapping[str, Any], clock: Callable[[], float] | None = None) -> dict[str, Any]:
        """Return the answer for one `instance` given as plain data (``slurmsim dispatch``).

        Raises
        ------
        ConfigError
            An option says something of runs, which an instance says itself.
        InstanceError
            The instance cannot be right.
        PolicyError
            OR-Tools is not installed.
        """
        if self._of_runs:
            raise ConfigError(f"option {self._of_runs[0]!r} of policy {self.name} is for runs", field="--policy",
                              expected="an instance that says it: waits, durations, reservations")  # fmt: skip
        answer = dispatch(instance_from(instance), self.name, self.options, clock)
        return {"dispatcher": self.name, **answer.as_plain()}


def _able_now(picture: Picture) -> list[str]:
    """Return the jobs that could start now, each if it were the only one that waits."""
    instance = picture.instance
    board = CapacityBoard(instance)
    return [
        asked.id for asked in (instance.jobs[i] for i in instance.waiting)
        if board.room(asked) >= asked.units and board.slot(asked, instance.now).start == instance.now
    ]  # fmt: skip


def _still(view: LayoutsView, job: JobView, layout: Mapping[int, int]) -> bool:
    """Return True if the job still asks for as many units: users may change what waits."""
    return sum(layout.values()) in {view.units(job, partition).count for partition in view.waits_in(job)}


class ListSchedule(CpPolicy):
    """List scheduling, without a solver: in an order, each on the nodes with the fewest free cores."""

    name = "list"
    summary = "list scheduling: in an order, whatever fits starts, on the nodes with the fewest free cores"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        **OPTIONS["list"], "ewt": _OWN["ewt"], "predictor": PREDICTOR,
    }  # fmt: skip

    def schedule(self, view: LayoutsView, now: int) -> Decisions:
        """Start what the list schedule starts; the rest of it is made where it is shown, or holds jobs back."""
        picture = picture_of(view, now, self.options["ewt"])
        for job, why in picture.refused:
            yield self._refuse(job, why)
        if picture.waiting:
            yield from self._start(picture, self._listed(picture), now)

    def _listed(self, picture: Picture, first: Collection[str] = ()) -> WholePlan:
        instance = picture.instance
        order, board = ORDERS[self.options["order"]](instance), CapacityBoard(instance)
        if self.options["scheme"] == "serial":
            return serial(instance, board, order)
        return (earliest_first if self.watched else fitting)(instance, board, order)


class Eurora(CpPolicy):
    """EURORA 2014."""

    name = "cp_eurora"
    summary = "constraint programming: EURORA 2014's six models of makespan, tardiness and late jobs"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["cp_eurora"], **_OWN}


class Pcp19(CpPolicy):
    """PCP'19."""

    name = "pcp19"
    summary = "constraint programming: PCP'19, slowdown with an interval for each copy of a unit"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["pcp19"], **_ADMITTING}
    order_by, admits_now = "slowdown", True


class Hcp19(CpPolicy):
    """HCP'19."""

    name = "hcp19"
    summary = "constraint programming: HCP'19, slowdown with all nodes as one, then best-fit allocation"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["hcp19"], **_ADMITTING}
    order_by, admits_now = "slowdown", True


class Pcp20(CpPolicy):
    """PCP'20."""

    name = "pcp20"
    summary = "constraint programming: PCP'20, slowdown with boxes in time and positions"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["pcp20"], **_ADMITTING}
    order_by, admits_now = "slowdown", True


class Classes(CpPolicy):
    name = "cp_classes"
    summary = "constraint programming: one integer per job and class of identical nodes, placed afterwards"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {**OPTIONS["cp_classes"], **_OWN}
    order_by, admits_now = "slowdown", True
