"""Jobs that change their nodes and their power, and the watts there are: pools, and what a budget needs (PARM)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from slurmsim.energy.profile import Profile
from slurmsim.policy.cluster import JobView
from slurmsim.policy.pools import PoolsView


class PowerFacts(Protocol):
    """What is known of watts at one instant.

    Attributes
    ----------
    budget_w
        What may be drawn now; None for no budget.
    charged_w
        What counts against it: jobs, and nodes without one.
    base_w, full_w, idle_w
        Of a node: what it draws beside its processor under a job, the most its processor draws, and without a job.
    cap_w
        The cap of a job that is given none, unless its application has no cap that low.
    n_nodes
        Nodes that are not powered down, with and without jobs.
    carbon
        The forecast of carbon intensity: (from this second on, milligrams of CO2 a kWh), ascending; empty for none.
    """

    @property
    def budget_w(self) -> float | None: ...
    @property
    def charged_w(self) -> float: ...
    @property
    def base_w(self) -> float: ...
    @property
    def full_w(self) -> float: ...
    @property
    def idle_w(self) -> float: ...
    @property
    def cap_w(self) -> float: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def carbon(self) -> Sequence[tuple[int, int]]: ...


class ShapeView(Protocol):
    """What a running job has, and how far it is.

    Attributes
    ----------
    nodes, cap_w
        Its nodes, and the cap of their processors.
    charged_w
        What it counts for now: while its data move the larger of before and after.
    done_s
        Its work so far, in seconds on its most nodes at full power.
    limit_s
        Its time limit in such seconds; None where it has none.
    resized_at
        When its nodes last changed; None for never.
    moving_until
        Its data move until then; its nodes cannot change before.
    point
        The first second from now on in which its nodes may change: its next scheduling point, or now.
    """

    @property
    def nodes(self) -> int: ...
    @property
    def cap_w(self) -> float: ...
    @property
    def charged_w(self) -> float: ...
    @property
    def done_s(self) -> float: ...
    @property
    def limit_s(self) -> float | None: ...
    @property
    def resized_at(self) -> int | None: ...
    @property
    def moving_until(self) -> int: ...
    @property
    def point(self) -> int: ...


class PowerView(PoolsView, Protocol):
    """The cluster with its watts; only where `power` is not None do jobs have shapes."""

    @property
    def power(self) -> PowerFacts | None:
        """The watts; None in a run that knows none."""

    @property
    def solving(self) -> bool:
        """True if an answer to a `Solve` is awaited."""

    def profile(self, job: JobView) -> Profile | None:
        """Return the profile of the application of `job`, or None."""

    def shape(self, job: JobView) -> ShapeView:
        """Return the shape of the running `job`."""

    def predicted_s(self, job: JobView) -> float:
        """Seconds `job` is expected to take on its most nodes at full power: predicted, else by its limit."""
