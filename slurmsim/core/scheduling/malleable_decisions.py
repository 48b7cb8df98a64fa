"""Sizes and caps that a policy wishes for jobs, checked: what the application of a job does not know is an error."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.core.placement.cluster_state import compile_request
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.errors import PolicyError
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.occupancy.reshaping import Reshaping
    from slurmsim.core.occupancy.watts import Watts
    from slurmsim.core.state.controller_state import ControllerState


class MalleableDecisions:
    """Reads such decisions. Raises PolicyError for what never could be right."""

    def __init__(self, state: ControllerState, watts: Watts | None, reshaping: Reshaping | None) -> None:
        # watts, reshaping: None in a run that knows no power
        self.state, self.watts, self.reshaping = state, watts, reshaping
        self._policy = state.policy.name

    def start(self, decision: Any, job: Job, records: Sequence[Record]) -> Sequence[Record]:
        """Return `records` as they have to be for the size, and note the cap for the start of the job."""
        watts = self.watts
        if watts is None:
            raise self._wrong(job, "a start with nodes or a cap", "a run in which jobs have applications")
        cap = None if decision.cap is None else self._cap(job, decision.cap)
        watts.want(job, cap)
        if decision.nodes is None:
            return records
        nodes = self._nodes(job, decision.nodes)
        if decision.layout is not None:
            raise self._wrong(job, "nodes beside a layout", "one of them")
        return [self._of_size(record, nodes) for record in records]

    def _of_size(self, record: Record, nodes: int) -> Record:
        asked = record.job.sub.request
        if asked.min_nodes == nodes and asked.max_nodes in (0, nodes):
            return record
        cluster, sized = self.state.cluster, copy(record)
        asked = cluster.known_request(replace(asked, min_nodes=nodes, max_nodes=nodes))
        sized.request = compile_request(cluster, asked, record.partition, lifted=record.request.lifted)
        sized.need = sized.request.unit_need
        return sized

    def reconfigure(self, decision: Any) -> bool:
        """Carry a `Reconfigure` out; whether it could be."""
        wishes = []
        for change in decision.changes:
            job = change.job
            if not isinstance(job, Job):
                raise PolicyError(self._policy, f"changed {job!r}, which is no job of the view")
            if self.watts is None:
                raise self._wrong(job, "a change of nodes or cap", "a run in which jobs have applications")
            if job.state != JobState.RUNNING:
                return False
            shape = self.watts.shapes[job.id]
            nodes = shape.nodes if change.nodes is None else self._nodes(job, change.nodes)
            profile = job.sub.profile
            if nodes != shape.nodes and (profile is None or not profile.malleable):
                raise self._wrong(job, f"{nodes} nodes while it runs", "a malleable job")
            wishes.append((job, nodes, shape.cap_mw if change.cap is None else self._cap(job, change.cap)))
        if len({job.id for job, _, _ in wishes}) < len(wishes):
            raise PolicyError(self._policy, "changed a job twice in one decision")
        assert self.reshaping is not None
        return self.reshaping.apply(wishes)

    def resize(self, decision: Any) -> bool:
        """Carry a `Resize` out in a run that knows of power."""
        job = decision.job
        if self.watts is None or self.reshaping is None or job.state != JobState.RUNNING or decision.n_nodes < 1:
            return False
        profile = job.sub.profile
        known = profile is None or (profile.malleable and profile.min_nodes <= decision.n_nodes <= profile.max_nodes)
        if not known and decision.n_nodes != job.n_nodes:
            return False
        return self.reshaping.apply([(job, decision.n_nodes, self.watts.shapes[job.id].cap_mw)], decision.within)

    def _nodes(self, job: Job, nodes: Any) -> int:
        profile = job.sub.profile
        if profile is None:
            raise self._wrong(job, f"{nodes!r} nodes", "a job that has an application")
        if not isinstance(nodes, int) or isinstance(nodes, bool):
            raise self._wrong(job, f"{nodes!r} nodes", "a whole number")
        if not profile.min_nodes <= nodes <= profile.max_nodes:
            raise self._wrong(job, f"{nodes} nodes", f"from {profile.min_nodes} to {profile.max_nodes}")
        return nodes

    def _cap(self, job: Job, watts: Any) -> int:
        assert self.watts is not None
        spec, profile = self.watts.spec, job.sub.profile
        if not isinstance(watts, int | float) or isinstance(watts, bool) or not 0 < watts * 1000 <= spec.full_mw:
            raise self._wrong(job, f"a cap of {watts!r} W", f"watts, at most {spec.full_mw / 1000:g}")
        cap = round(watts * 1000)
        if profile is None and cap < spec.full_mw:
            raise self._wrong(job, f"a cap of {watts:g} W", "a job that has an application")
        if profile is not None and cap < profile.lowest_mw:
            raise self._wrong(job, f"a cap of {watts:g} W", f"at least {profile.lowest_mw / 1000:g}, its p_low_w")
        return cap

    def _wrong(self, job: Job, what: str, expected: str) -> PolicyError:
        return PolicyError(self._policy, f"gave job {job.id} {what} (expected {expected})")
