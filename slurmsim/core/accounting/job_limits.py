"""All the limits jobs of one association under one QOS in one partition are held to, and which limit hides which."""

from __future__ import annotations

from collections.abc import Iterator

from slurmsim.core.accounting.limit_rules import Rule, Used
from slurmsim.core.accounting.usage_counters import UsageCounters
from slurmsim.core.records.associations import Branch
from slurmsim.data_classes import dataclass, field, replace
from slurmsim.model.accounting import Limits, Qos, Tres


@dataclass(slots=True, init=False)
class QosUsed:
    """The counters of a QOS, and within it those of the job's user and account."""

    qos: Qos
    all: Used
    user: UsageCounters
    account: UsageCounters

    def __init__(self, qos: Qos, all: Used, user: UsageCounters, account: UsageCounters) -> None:
        self.qos, self.all, self.user, self.account = qos, all, user, account


@dataclass(slots=True)
class JobLimits:
    """All limits of jobs of one association under one QOS in one partition."""

    # what a running job counts in: both QOS with user and account, and every association up to the root
    counters: tuple[UsageCounters, ...]
    # submit, before, after, over: rules at submission, before and after nodes are chosen, and while running
    submit: list[Rule] = field(default_factory=list)
    before: list[Rule] = field(default_factory=list)
    after: list[Rule] = field(default_factory=list)
    over: list[Rule] = field(default_factory=list)
    # factor, factor_safe: UsageFactor, and the factor time limits count with
    factor: float = 1.0
    factor_safe: float = 1.0
    # what has the nodes a job of a group with a node limit is drawn to
    preferred: list[UsageCounters] = field(default_factory=list)
    max_nodes: tuple[int, str] | None = None  # the most nodes a job may get, and the reason it shows when it needs more
    # time limits given to jobs that have none, in minutes; the least counts
    walls_min: list[int] = field(default_factory=list)
    # (position, limit) of the MaxTRESMins in `over`, which time alone breaks
    outruns: list[tuple[int, int]] = field(default_factory=list)
    deny: bool = False  # per-job limits refuse the submission instead of letting the job wait
    min_prio: int = 0  # MinPrioThreshold: pending jobs of lower priority reserve nothing

    def without(self, exempt: str) -> JobLimits:
        """Return the same without the limits that an operator has lifted for the job."""
        lifted = exempt.split(",")
        before, after = ([rule for rule in rules if rule.tres not in lifted] for rules in (self.before, self.after))
        return replace(self, before=before, after=after)


class Hidden:
    """Limits some QOS has set already: by name, or by (name, TRES)."""

    def __init__(self) -> None:
        self.seen: set[object] = set()

    def take(self, name: str, value: int | None) -> int | None:
        """Return `value` if no earlier source has set `name`, else None; from now on it is set."""
        if value is None or name in self.seen:
            return None
        self.seen.add(name)
        return value

    def take_tres(self, name: str, limits: Tres) -> dict[str, int]:
        """Return those of `limits` on TRES that no earlier source has limited under `name`."""
        free = {tres: value for tres, value in limits.items() if (name, tres) not in self.seen}
        self.seen.update((name, tres) for tres in free)
        return free

    def hides(self, name: str) -> bool:
        return name in self.seen

    def left(self, name: str, limits: Tres) -> dict[str, int]:
        """Return those of an association's `limits` no QOS hides; associations hide nothing from each other."""
        return {tres: value for tres, value in limits.items() if (name, tres) not in self.seen}


def inherited(path: tuple[Branch, ...], name: str) -> int | None:
    """Return a max limit of an association: its own or that of the nearest account above that has it."""
    return next((value for b in path if (value := getattr(b.spec.limits, name)) is not None), None)


def inherited_tres(path: tuple[Branch, ...], name: str) -> dict[str, int]:
    """Return the same for TRES limits, TRES by TRES."""
    found: dict[str, int] = {}
    for branch in path:
        for tres, value in getattr(branch.spec.limits, name).items():
            found.setdefault(tres, value)
    return found


def flags_of(qos: Qos) -> set[str]:
    """Return flags in lower case."""
    return {flag.lower() for flag in qos.flags}


def every_tres(limits: Limits) -> Iterator[str]:
    """TRES an association or QOS limits."""
    for tres in (
        limits.grp_tres, limits.grp_tres_mins, limits.grp_tres_run_mins, limits.max_tres, limits.max_tres_per_node,
        limits.max_tres_mins,
    ):  # fmt: skip
        yield from tres
