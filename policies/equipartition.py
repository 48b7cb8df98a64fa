"""Equipartition: running malleable jobs share the nodes alike, and as many jobs run as find their fewest nodes.

At each arrival, end and change of nodes, jobs are let in in queue order as long as the fewest nodes of all running jobs
find room. The first job that does not fit blocks those behind it. Then nodes are dealt out evenly: each job gets at
least its fewest and at most its most. A job at its most leaves the rest to the others; nodes left over go to the jobs
that came first. Jobs that change are resized together, then jobs start. A job without an application is rigid and has
what it asks for; a moldable job keeps the nodes it started with. While its data move a job keeps its nodes, and a job
with scheduling points keeps them until its next one.

Under a power budget only as many nodes are dealt out as it bears. Watts come back later than nodes, so the budget may
still forbid changes; then as many as possible are made: first all that shrink, then those that grow, one by one, and a
job starts on its fewest nodes.

With ``every`` seconds sizes are dealt out anew at most that often, so that changes cost less; starts, and shrinking for
them, do not wait. Limits of jobs do not matter, no job starves, and no job is backfilled.

Source: McCann, Vaswani and Zahorjan 1993, "A Dynamic Processor Allocation Policy for Multiprogrammed Shared-Memory
Multiprocessors"; Tucker and Gupta 1989 (process control).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from slurmsim.policy import Change, Decisions, JobView, Policy, PolicyOption, PowerView, Reconfigure, Start, WakeAt
from slurmsim_policies.choices import whole

Share = tuple[JobView, int, int]  # a job, its fewest and its most nodes now


class Equipartition(Policy):
    """Equal shares of nodes for malleable jobs."""

    name = "equipartition"
    summary = "equal shares of the nodes for all malleable jobs, changed as jobs come and go"
    chooses_sizes = True
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "every": PolicyOption(whole(0), 0, "seconds between two times at which running jobs are given more nodes"),
    }

    def schedule(self, view: PowerView, now: int) -> Decisions:
        """Let jobs in, deal nodes out, resize, start."""
        running = [self._share(view, job, now) for job in view.running]
        free = _affordable(view) + sum(job.n_nodes for job in view.running) - sum(least for _, least, _ in running)
        let_in, free = self._let_in(view, now, free)
        shaped = [view.shape(job) for job in view.running if view.profile(job) is not None]
        dealt = [shape.resized_at for shape in shaped if shape.resized_at is not None]
        again = max(dealt) + self.options["every"] if dealt else now
        grow = now >= again
        shares = deal([*running, *let_in], free)
        # shrinking makes room for starts, so it never waits for `every`
        changes = [
            Change(job, nodes, None) for job, _, _ in running
            if (nodes := shares[job.id]) < job.n_nodes or (nodes > job.n_nodes and grow)
        ]  # fmt: skip
        if changes:
            yield from carry_out(changes)
        points = [shape.point for shape in shaped if shape.point > now]
        if points:
            yield WakeAt(min(points))
        if not grow and any(shares[job.id] > job.n_nodes for job, _, _ in running):
            yield WakeAt(again)
        for job, _, _ in let_in:
            profile = view.profile(job)
            if profile is None:
                yield Start(job)
            # nodes of jobs that shrank are free at once, their watts later: the fewest nodes may do until then
            elif not (yield Start(job, nodes=shares[job.id])) and shares[job.id] > profile.min_nodes:
                yield Start(job, nodes=profile.min_nodes)

    def _let_in(self, view: PowerView, now: int, free: int) -> tuple[list[Share], int]:
        """Return the first pending jobs that fit into `free` nodes with their least sizes, and the nodes left."""
        let_in: list[Share] = []
        for job in view.pending:
            share = self._share(view, job, now)
            if share[1] > free:
                break
            let_in.append(share)
            free -= share[1]
        return let_in, free

    @staticmethod
    def _share(view: PowerView, job: JobView, now: int) -> Share:
        profile = view.profile(job)
        if profile is None:
            return job, job.n_nodes, job.n_nodes
        if job.start_time is None:
            return job, profile.min_nodes, profile.max_nodes
        shape = view.shape(job)
        if not profile.malleable or now < shape.moving_until or now < shape.point:
            return job, job.n_nodes, job.n_nodes
        return job, profile.min_nodes, profile.max_nodes


def _affordable(view: PowerView) -> int:
    """Return nodes without a job that the power budget bears under one."""
    power = view.power
    if power is None or power.budget_w is None:
        return view.free_nodes
    each = power.base_w + power.cap_w - power.idle_w
    left = max(0.0, power.budget_w - power.charged_w)
    return min(view.free_nodes, int(left / each)) if each > 0 else view.free_nodes


def deal(shares: list[Share], spare: int) -> dict[int, int]:
    """Nodes of each job by id: its fewest, and `spare` ones dealt out so that the least is as large as it can be."""
    given = {job.id: least for job, least, _ in shares}
    most = {job.id: most for job, _, most in shares}
    while spare > 0 and (open_ := [job_id for job_id, nodes in given.items() if nodes < most[job_id]]):
        level = min(given[job_id] for job_id in open_)
        lowest = [job_id for job_id in open_ if given[job_id] == level]
        higher = [nodes for job_id in open_ if (nodes := given[job_id]) > level]
        step = min([most[job_id] for job_id in lowest] + higher) - level
        step = min(step, spare // len(lowest))
        if not step:
            lowest, step = lowest[:spare], 1
        for job_id in lowest:
            given[job_id] += step
        spare -= step * len(lowest)
    return given


def carry_out(changes: list[Change]) -> Decisions:
    """Yield all changes together or, where that is refused, those that shrink together and the others one by one."""
    if (yield Reconfigure(changes)):
        return
    shrinks = [change for change in changes if (change.nodes or 0) < change.job.n_nodes]
    if shrinks:
        yield Reconfigure(shrinks)
    for change in changes:
        if change not in shrinks:
            yield Reconfigure([change])
