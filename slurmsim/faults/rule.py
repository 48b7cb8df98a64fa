"""One injected rule: what goes wrong, for which commands, jobs or nodes, and when."""

from collections.abc import Mapping
from copy import copy
from fnmatch import fnmatchcase
from typing import Any

from slurmsim.data_classes import dataclass, fields
from slurmsim.errors import ConfigError
from slurmsim.faults.draws import draw
from slurmsim.faults.kinds import (
    ANSWER,
    COMMAND,
    COMMANDS,
    JOB,
    KINDS,
    LONGEST_S,
    NODES,
    Parameter,
    check_commands,
    kind_of,
    number,
    text,
    whole,
)

NEVER = -1
_OFTEN = 1 << 31
COMMON: dict[str, Parameter] = {
    "command": Parameter(text, "*", "commands, patterns between commas: sbatch, s*"),
    "user": Parameter(text, "*", "users, patterns between commas"),
    "job": Parameter(text, "*", "names of jobs, patterns between commas"),
    "every": Parameter(whole(1, _OFTEN), 1, "only every n-th of those"),
    "probability": Parameter(number(0, 1), 1, "only with that chance"),
    "after": Parameter(whole(0, _OFTEN), 0, "the first n of those pass"),
    "times": Parameter(whole(1, _OFTEN), None, "at most n of them"),
    "for": Parameter(number(0, LONGEST_S), None, "for so many seconds of the cluster's clock"),
    "seed": Parameter(whole(0, (1 << 63) - 1), 0, "of chance"),
}
"""What may be said of every fault."""
_APPLIES = {COMMAND: frozenset(COMMON), JOB: frozenset(COMMON) - {"command"}, NODES: frozenset({"for"})}


@dataclass(slots=True)
class FaultRule:
    """One injected fault."""

    id: int  # its number: 1, 2 … in the order of injection
    # what, parameters: the kind (a key of `slurmsim.faults.kinds.KINDS`), and what was said of it
    what: str
    parameters: dict[str, Any]
    # command, user, job: patterns of those it concerns, between commas
    command: str
    user: str
    job: str
    # every, probability, after, times, seed: which of them it strikes: of those behind the first `after` every n-th,
    # with that chance, at most `times`
    every: int
    probability: float
    after: int
    times: int | None
    seed: int
    # since, until: when it was injected, and when it ends (`NEVER`: by itself not), seconds since the epoch
    since: int
    until: int
    # seen, met: how many it concerned so far, and how many it struck
    seen: int = 0
    met: int = 0

    @property
    def spent(self) -> bool:
        """True if it has struck as often as it may."""
        return self.times is not None and self.met >= self.times

    def lasts(self, now: int) -> bool:
        """Return True if it may still strike at `now`."""
        return not self.spent and (self.until == NEVER or now < self.until)

    def concerns(self, command: str, user: str, job: str | None) -> bool:
        """Return True if a call or job is one of those; `job` is None where nothing is known of a job."""
        if not self.is_by(command, user):
            return False
        return self.job == "*" if job is None else matches(self.job, job)

    def is_by(self, command: str, user: str) -> bool:
        """Return True if it concerns that user's calls of that command, if they are about one of its jobs."""
        return matches(self.command, command) and matches(self.user, user)

    def strikes(self) -> bool:
        """Count one it concerns; whether it strikes that one."""
        self.seen += 1
        k = self.seen - self.after
        if k <= 0 or k % self.every or self.spent:
            return False
        if self.probability < 1 and self.chance("strike") >= self.probability:
            return False
        self.met += 1
        return True

    def chance(self, purpose: str) -> float:
        """Return the draw for the one seen last."""
        return draw(self.seed, self.id, self.seen, purpose)

    def shown(self) -> dict[str, Any]:
        """As plain data, for people and programs."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def matches(patterns: str, name: str) -> bool:
    """Return True if one of the patterns between commas is that of `name`.

    >>> matches("sbatch,sq*", "squeue"), matches("*", ""), matches("a", "b")
    (True, True, False)
    """
    return any(fnmatchcase(name, pattern.strip()) for pattern in patterns.split(","))


def settings_of(what: str) -> dict[str, Parameter]:
    """Return what may be said of a fault of this kind."""
    kind = KINDS[what]
    return {name: COMMON[name] for name in COMMON if name in _APPLIES[kind.of]} | dict(kind.parameters)


def make_rule(number_: int, what: str, given: Mapping[str, Any], now: int) -> FaultRule:
    """Return the rule that `given` asks for, injected at `now`.

    Raises
    ------
    ConfigError
        Something that was given is wrong: which, and what was expected.
    """
    what, kind = kind_of(what)
    allowed = settings_of(what)
    for name in given:
        if name not in allowed:
            raise ConfigError(f"{what} has no such setting", field=name, expected=", ".join(allowed))
    values = {}
    for name, parameter in allowed.items():
        if given.get(name) is not None:
            values[name] = parameter.read(name, given[name])
        elif parameter.needed:
            raise ConfigError(f"{what} needs it", field=name, expected=parameter.about)
        else:
            values[name] = copy(parameter.default)  # a list of its own
    common = {name: values.get(name, COMMON[name].default) for name in COMMON}
    _check_patterns(what, common)
    lasts = common.pop("for")
    return FaultRule(
        number_, what, {name: values[name] for name in kind.parameters}, **common, since=now,
        until=NEVER if lasts is None else now + max(1, round(lasts)),
    )  # fmt: skip


def _check_patterns(what: str, common: Mapping[str, Any]) -> None:
    """Raise ConfigError for a pattern that can never match."""
    _, kind = kind_of(what)
    for name in ("command", "user", "job"):
        if not all(pattern.strip() for pattern in common[name].split(",")):
            raise ConfigError(f"bad value {common[name]!r}", field=name, expected="patterns between commas")
    if kind.of != COMMAND:
        return
    for pattern in map(str.strip, common["command"].split(",")):
        named = [command for command in COMMANDS if fnmatchcase(command, pattern)]
        if not named:
            raise ConfigError(f"no such command: {pattern!r}", field="command", expected=", ".join(COMMANDS))
        if pattern in COMMANDS:
            check_commands(kind, what, named)
    if what == ANSWER and common["job"] != "*":
        raise ConfigError("a command that only prints has no job", field="job", expected="command or user")
