"""The policy port: what a scheduling policy sees, what it may decide, and where policies register.

A policy is a class with a `schedule` generator. The controller calls it with a read-only `ClusterView` and the time,
carries out each decision as it is yielded and sends the outcome back into the generator (``ok = yield Start(job)``),
so the view a policy continues with already shows what it decided. Mirrors nothing of Slurm's plugin API but its
place: the entry-point name is what ``SchedulerType=sched/NAME`` selects.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Protocol

from slurmsim.bitmap import Bitmap
from slurmsim.errors import ConfigError, PolicyError


class JobView(Protocol):
    """A job as policies see it. Read only; times in seconds, None where they do not exist (yet)."""

    id: int
    user: str
    account: str
    name: str
    qos: str
    partition: Any  # the one it runs in, or the first it asked for; `partition.name` is its name
    priority: int
    submit_time: int
    eligible_time: int | None
    start_time: int | None
    end_limit: int | None  # start + time limit, of a running job: when its nodes are free at the latest
    time_limit_s: int  # in force; an unlimited job counts as one year, as in Slurm
    n_nodes: int  # nodes allocated, or the minimum asked for
    n_cpus: int  # CPUs allocated, or asked for
    nodes: Bitmap  # nodes allocated, 0 while pending
    queued: bool  # whether it is in the queue: pending, and nothing but resources keeps it from starting
    restarts: int


class RecordView(Protocol):
    """A job in one of its partitions, as the queue holds it.

    `need`: the units it takes in a pool that `counts`. `n_cpus`: the CPUs it will hold, all of a node it has to itself.
    """

    job: Any
    priority: int
    need: int

    @property
    def n_cpus(self) -> int: ...


class Pool(Protocol):
    """Partitions that overlap, directly or through others: jobs and nodes that compete.

    While `counts` is true, what jobs take here is interchangeable (every job needs a number of equal nodes, or of
    equal CPUs, out of the whole pool) and counting units decides everything; otherwise placement must be asked.
    `new` and `gone` tell what came to and left the queue or the nodes since the policy cleared them with `seen`.
    `turns` gives records of the pool in the order in which a pass is to take them, one when the one before is decided:
    as they are, unless another policy stands between (`slurmsim_policies.cpu_hours`).
    """

    name: str

    @property
    def pending(self) -> Sequence[Any]: ...
    @property
    def new(self) -> Sequence[Any]: ...
    @property
    def gone(self) -> Sequence[Any]: ...
    @property
    def generation(self) -> Hashable: ...
    @property
    def edits(self) -> Hashable: ...
    @property
    def counts(self) -> bool: ...
    @property
    def free_units(self) -> int: ...
    def seen(self) -> None: ...
    def turns(self, records: Sequence[Any]) -> Iterable[Any]: ...
    def fits(self, record: Any, within: Bitmap | None = None) -> bool: ...
    def releases(self) -> Iterable[tuple[int, int, Any]]: ...
    @property
    def returning(self) -> Callable[[Any], int]: ...
    def future(self, record: Any, within: Bitmap, *, exact: bool) -> Any: ...
    def available(self) -> Bitmap: ...


class ClusterView(Protocol):
    """The cluster at one instant. Valid during one call of `schedule`, always up to date within it."""

    now: int

    @property
    def pending(self) -> Sequence[Any]:
        """Jobs that may start, in priority order (priority, submit time, job id)."""

    @property
    def running(self) -> Sequence[Any]:
        """Running jobs by the end of their time limit, earliest first."""

    @property
    def pools(self) -> Sequence[Pool]:
        """Independent parts of the cluster."""

    def records(self) -> Sequence[Any]:
        """Every job in each of its partitions (`RecordView`), in priority order; a list of its own."""

    @property
    def n_cpus(self) -> int:
        """CPUs of the cluster, down ones included."""

    @property
    def n_queued(self) -> int:
        """Jobs in the queue."""

    @property
    def free_nodes(self) -> int:
        """Usable nodes without a job."""

    @property
    def free_cpus(self) -> int:
        """CPUs free on usable nodes."""

    @property
    def generation(self) -> int:
        """Changes with every start, end, cancel, edit or node event, not with arrivals: the key of caches."""

    def fits(self, job: Any) -> bool:
        """Whether `job` could start now."""

    def earliest_start(self, job: Any) -> int | None:
        """When `job` could start if nothing else did, by the limits of running jobs; None while nodes are missing."""


@dataclass(slots=True)
class Start:
    """Start `job` now, on nodes the node selector chooses; `within` limits it to some nodes. Outcome: started or not.

    With `time_limit_s` the job gets that limit instead of its own (--time-min).

    Yielding a Start for a job that does not fit is no error (the outcome is False), nor for one that an accounting
    limit forbids (None); for one that is not pending it is.
    """

    job: Any
    within: Bitmap | None = None
    partition: Any = None
    time_limit_s: int | None = None


@dataclass(slots=True)
class Plan:
    """Show that `job` is planned to start at `start` (on `nodes`), as squeue --start does; None: nobody can tell.

    The trace gets every change of a `promise`; of mere estimates, which move at every pass, only the first.
    """

    job: Any
    start: int | None
    nodes: Bitmap = 0
    promise: bool = True


@dataclass(slots=True)
class Reject:
    """Show `reason` for pending `job`."""

    job: Any
    reason: str


@dataclass(slots=True)
class WakeAt:
    """Call `schedule` again at `time` even if nothing happens until then."""

    time: int


@dataclass(slots=True)
class Resize:
    """Give running `job` `n_nodes` nodes: its first ones, or more of those that are idle (out of `within`).

    Outcome: done or not. Jobs that hold whole equal nodes can grow; every job can shrink. What that does to its run
    time the driver knows; the limit stays.
    """

    job: Any
    n_nodes: int
    within: Bitmap | None = None


Decision = Start | Plan | Reject | WakeAt | Resize
Decisions = Generator[Decision, Any, None]


@dataclass(frozen=True, slots=True)
class PolicyOption:
    """An option of a policy (``--policy NAME:key=value``): how to read it, its default, what it means."""

    parse: Callable[[str], Any]
    default: Any
    help: str


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
    STATE
        Attributes that a cluster taken up again from a snapshot must find as they were, holding plain values, job
        ids or collections of them: when it was called last, whom it holds back. What can be worked out again from
        the view is none.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    event_driven: bool = True
    label: str = ""
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {}
    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        values = {key: option.default for key, option in self.OPTIONS.items()}
        for key, text in (options or {}).items():
            if key not in self.OPTIONS:
                known = ", ".join(sorted(self.OPTIONS)) or "none"
                raise ConfigError(f"unknown option {key!r} of policy {self.name}", field="--policy",
                                  expected=f"one of: {known}")  # fmt: skip
            try:
                values[key] = self.OPTIONS[key].parse(text)
            except ValueError:
                raise ConfigError(f"bad value {text!r} for option {key} of policy {self.name}", field="--policy",
                                  expected=self.OPTIONS[key].help) from None  # fmt: skip
        self.options = values

    def configure(self, scheduler_parameters: Mapping[str, str], start_time: int) -> None:
        """Called once before the first pass with SchedulerParameters (names lower-cased, flags map to "")."""

    def next_time(self, view: Any, now: int, changed: bool) -> int | None:
        """When a policy that is not event-driven wants to be called; `changed`: something happened since its last call.

        None while only a new event can matter. Asked again after every instant.
        """
        return None

    def order(self, view: Any, records: Sequence[Any], now: int) -> Sequence[Any]:
        """The order in which slurmctld's main scheduler walks `records`, given in priority order; the same ones.

        Asked at every pass of it, so only of a policy that is not event-driven.
        """
        return records

    def schedule(self, view: Any, now: int) -> Iterable[Decision] | Decisions:
        """Yield decisions for the instant `now`."""
        raise PolicyError(self.name, "has no schedule method")


GROUP = "slurmsim.policies"


def policy_names() -> list[str]:
    """Names of all installed policies, ours and strangers', sorted."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load_policy(name: str) -> type[Policy]:
    """The policy class registered as `name`.

    Raises
    ------
    ConfigError
        No package offers it (the message names the known ones), or several do.
    PolicyError
        It cannot be imported or is no Policy.
    """
    offered = {point.value: point for point in entry_points(group=GROUP) if point.name == name}
    if len(offered) > 1:
        raise ConfigError(f"several packages offer a policy {name!r}: {', '.join(sorted(offered))}",
                          field="SchedulerType", expected="all but one of them uninstalled")  # fmt: skip
    for value, point in offered.items():
        try:
            found = point.load()
        except (Exception, SystemExit) as error:  # whatever a stranger's module does while it is imported
            said = " ".join(str(error).split())
            raise PolicyError(name, f"{value} cannot be loaded: {type(error).__name__}: {said}") from error
        if not (isinstance(found, type) and issubclass(found, Policy)):
            raise PolicyError(name, f"{value} is not a slurmsim.policy.Policy")
        if not all(isinstance(option, PolicyOption) for option in found.OPTIONS.values()):
            raise PolicyError(name, f"{value} has OPTIONS that are no slurmsim.policy.PolicyOption")
        if not found.name:
            found.name = name
        return found
    raise ConfigError(f"no policy is called {name!r}", field="SchedulerType", expected=", ".join(policy_names()))


@dataclass(frozen=True, slots=True)
class InstalledPolicy:
    """A policy some package offers: its class, or why there is none, and the file it comes from."""

    name: str
    file: str
    policy: type[Policy] | None
    problem: str = ""


def installed_policies() -> list[InstalledPolicy]:
    """All installed policies by name, the broken ones among them; loads each and raises nothing."""
    return [_installed(name) for name in policy_names()]


def _installed(name: str) -> InstalledPolicy:
    offered = {point.value: point for point in entry_points(group=GROUP) if point.name == name}
    file = ", ".join(_file_of(offered[value]) for value in sorted(offered))
    try:
        return InstalledPolicy(name, file, load_policy(name))
    except PolicyError as error:
        return InstalledPolicy(name, file, None, str(error).removeprefix(f"policy {name}: "))
    except ConfigError as error:
        return InstalledPolicy(name, file, None, error.message)


def _file_of(point: EntryPoint) -> str:
    """The file an entry point names, found without running it; else what the entry point says."""
    try:
        spec = importlib.util.find_spec(point.module)
    except (Exception, SystemExit):  # the package around it cannot be imported
        spec = None
    return spec.origin if spec is not None and spec.origin else point.value


def parse_policy(text: str) -> tuple[str, dict[str, str]]:
    """Split ``NAME[:key=value,…]``; a leading ``sched/`` is accepted. Raises ConfigError."""
    name, _, rest = text.partition(":")
    options: dict[str, str] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise ConfigError(f"{item!r} is not an option", field="--policy", expected="NAME:key=value,key=value")
        options[key] = value
    return name.removeprefix("sched/"), options
