"""What a policy is: a class with options, two traits and a `schedule`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

from slurmsim.data_classes import dataclass
from slurmsim.energy.profile import Profile
from slurmsim.errors import ConfigError, PolicyError
from slurmsim.policy.cluster import JobView, RecordView
from slurmsim.policy.decisions import Decision, Decisions
from slurmsim.policy.discipline import Discipline
from slurmsim.policy.predictor import Predictor
from slurmsim.policy.slurm import SlurmRecord, SlurmView


@dataclass(frozen=True, slots=True)
class PolicyOption:
    """An option of a policy (``--policy NAME:key=value``): how to read it, its default, what it means.

    `code`: the value names code (``package.module:function``). A file may not choose it (`without_code`).
    """

    parse: Callable[[str], Any]
    default: Any
    help: str
    code: bool = False


class NamedCodeError(ConfigError):
    """A file names code where it may name data only."""


_code_allowed: ContextVar[bool] = ContextVar("code_allowed", default=True)


@contextmanager
def without_code() -> Iterator[None]:
    """Within it, options of policies that name code are refused: their text comes from a file."""
    token = _code_allowed.set(False)
    try:
        yield
    finally:
        _code_allowed.reset(token)


def check_code_allowed(named: str, instead: str) -> None:
    """Raise NamedCodeError within `without_code`: `named` says what names code, `instead` where it may stand."""
    if not _code_allowed.get():
        raise NamedCodeError(f"{named}, which a file may not", field="--policy", expected=instead)


class Policy:
    """Base of policies: option handling and the two traits the controller asks for.

    Class attributes
    ----------------
    event_driven
        True (the literature's algorithms): the policy *is* the scheduler; it is called once at every instant at
        which something happened, after all facts of that instant; time limits are exact to the second.
        False (Slurm's own plugins): slurmctld's main scheduler runs on its own triggers, the policy is called at
        the times it asked for with `WakeAt` (first at start), and limits are whole minutes found by the 30 s scan.
    label
        Who is said to have started a job (trace column `scheduler`); the name unless given.
    OPTIONS
        Options by name.
    SOLVERS
        Functions a `Solve` of it may name, as ``package.module:function``. A solve that a snapshot still awaits is
        asked again only if its function is one of these: a snapshot is data and cannot name code.
    STATE
        Attributes that a snapshot keeps for a restart. They hold plain values, job ids or collections of them, such as
        the time of the last call or the jobs held back. What follows from the view does not belong here.
    predictor
        The predictor of run times (`JobView.expected_s`), by the option ``predictor`` of a policy that has it
        (``OPTIONS = {"predictor": PREDICTOR}``). None: jobs are expected to use up their limits.
    discipline
        Who lets jobs into the queue, and in which order; None: all at once, by priority.
    in_order
        Whether it starts jobs strictly in the order of the queue, whatever their priorities and the time are. Where
        nothing but priorities changes it is called only when the order does.
    pass_each
        Whether each thing that happens in a second has a pass of its own: arrivals by job id, then what else happens,
        then ends in the order in which the jobs started. False: all comes first, then one pass.
    reshapes
        Whether it chooses sizes and caps of jobs (`PowerView`): then a run knows of power.
    chooses_sizes
        Whether it chooses sizes at least: then a live cluster knows of power, too, and of applications of its jobs.
    budget_w
        The budget it wants the core to keep, watts, where the run says none; None for none.
    watched
        Set by the host before `configure`: True if users read the state between passes, as in a live cluster.
        Estimates that decide nothing matter then.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    event_driven: bool = True
    label: str = ""
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {}
    SOLVERS: ClassVar[tuple[str, ...]] = ()
    STATE: ClassVar[tuple[str, ...]] = ()
    watched: bool = False
    in_order: ClassVar[bool] = False
    pass_each: bool = False
    reshapes: ClassVar[bool] = False
    chooses_sizes: ClassVar[bool] = False
    budget_w: float | None = None
    predictor: Predictor | None = None
    discipline: Discipline | None = None

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        values = {key: option.default for key, option in self.OPTIONS.items()}
        for key, text in (options or {}).items():
            if key == "predictor" and key not in self.OPTIONS:
                raise ConfigError(f"policy {self.name} takes no predictor: it goes by time limits alone",
                                  field="--policy", expected="one that plans with predictions, as easy")  # fmt: skip
            if key not in self.OPTIONS:
                known = ", ".join(sorted(self.OPTIONS)) or "none"
                raise ConfigError(f"unknown option {key!r} of policy {self.name}", field="--policy",
                                  expected=f"one of: {known}")  # fmt: skip
            try:
                values[key] = self.OPTIONS[key].parse(text)
            except ValueError:
                raise ConfigError(f"bad value {text!r} for option {key} of policy {self.name}", field="--policy",
                                  expected=self.OPTIONS[key].help) from None  # fmt: skip
            self._check_code(key, values[key])
        self.options = values
        if "predictor" in values:
            self.predictor = values["predictor"].make()

    def _check_code(self, key: str, value: Any) -> None:
        option = self.OPTIONS[key]
        if option.code and value != option.default:
            named = f"option {key} of policy {self.name} names code"
            check_code_allowed(named, f"--policy {self.name}:{key}=… on the command line")

    @property
    def solvers(self) -> frozenset[str]:
        """Functions a `Solve` may name: `SOLVERS`, and what its options name."""
        return frozenset(self.SOLVERS) | {self.options[key] for key, one in self.OPTIONS.items() if one.code}

    def configure(self, scheduler_parameters: Mapping[str, str], start_time: int) -> None:
        """Take SchedulerParameters, once before the first pass (names lower-cased, flags map to "")."""

    def lacks(self, profile: Profile | None, full_w: float) -> str:
        """Return why it cannot decide for a job of that application (None: for any) on processors of `full_w` watts.

        Empty if it can. A live cluster asks at its beginning and before it takes a job: an error in `schedule` ends a
        run, and must not end a cluster.
        """
        return ""

    def next_time(self, view: SlurmView, now: int, changed: bool) -> int | None:
        """When a policy that is not event-driven wants to be called; `changed`: something happened since its last call.

        None while only a new event can matter. Asked again after every instant.
        """
        return None

    def order(self, view: SlurmView, records: Sequence[SlurmRecord], now: int) -> Sequence[RecordView]:
        """Return the order in which slurmctld's main scheduler walks `records`, given in priority order; the same ones.

        Asked at every pass of it, so only of a policy that is not event-driven.
        """
        return records

    def schedule(self, view: SlurmView, now: int) -> Iterable[Decision] | Decisions:
        """Yield decisions for the instant `now`.

        A policy declares the smallest part of `SlurmView` it needs: `ClusterView`, `PoolsView` or `PlansView`.
        """
        raise PolicyError(self.name, "has no schedule method")

    def solved(self, view: SlurmView, now: int, request: Any, answer: Any) -> Iterable[Decision] | Decisions:
        """Yield decisions now that the solver has answered `request`, which is what a `Solve` had, read from JSON.

        `answer` is what it returned; None if it failed. Meanwhile jobs may have come, ended or been changed: a `Start`
        of one that does not wait any more has the outcome False here. Called before `schedule` where both are due.
        """
        raise PolicyError(self.name, "asked for a solve and has no method solved")

    def explain(self, view: SlurmView, job: JobView, now: int) -> str:
        """Why `job` has not started by `now`, in sentences with the policy's own numbers; empty where it has none.

        For people who ask (`slurmsim why`), of a copy of the cluster: it decides nothing and changes nothing. Ids of
        other jobs are not those users know, so it does not name any.
        """
        return ""
