"""What a job says of its application: how fast it is on which sizes, relative to its largest at full power.

No seconds: those are the driver's, who knows real run times. A workload says it in the column ``app``: a row of
`TABLE` or the six numbers of `Power`, then ``parallelism`` and ``sigma``, ``LeanMD:parallelism=24:sigma=0.2``; and
``points``, if its size may change at scheduling points alone.
"""

from slurmsim.data_classes import dataclass, field, fields
from slurmsim.energy.application import Application, Power
from slurmsim.energy.scaling import share_of_t1
from slurmsim.energy.table import TABLE
from slurmsim.errors import ConfigError

_SCALING = ("parallelism", "sigma")
_POINTS = "points"
_POWER = tuple(one.name for one in fields(Power))
EXAMPLE = "LeanMD:parallelism=24:sigma=0.2"


@dataclass(frozen=True, slots=True)
class Profile:
    """An application and the sizes a job of it may have."""

    application: Application  # its run time is 1 on `max_nodes` nodes at full power
    # min_nodes, max_nodes: the sizes it may have; one size makes it rigid
    min_nodes: int
    max_nodes: int
    malleable: bool  # whether its size may change while it runs, too; else only before
    # its scheduling points: its size may change each time it has done so much more work, in seconds on `max_nodes` at
    # full power, as at the end of an iteration; 0 for at any time
    points_s: float = 0.0
    _found: dict[tuple[int, int], float] = field(default_factory=dict, compare=False, repr=False)

    @property
    def lowest_mw(self) -> int:
        """The lowest cap the model speaks of, milliwatts."""
        return -int(-self.application.p_low_w * 1000 // 1)

    def slowdown(self, nodes: int, cap_mw: int) -> float:
        """Run time on `nodes` nodes capped at `cap_mw` milliwatts over that on the most at full power (equations 9-19).

        Raises ConfigError below one node or `lowest_mw`.
        """
        key = nodes, cap_mw
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = float(self.application.time_s(nodes, cap_mw / 1000))
        return found

    def drawn_mw(self, cap_mw: int) -> int:
        """Return what its processor draws under that cap, milliwatts: no more than it can use."""
        return min(cap_mw, round(self.application.p_high_w * 1000))


def read_profile(text: str, min_nodes: int, max_nodes: int, malleable: bool) -> Profile:
    """Return the profile a workload's columns say. Raises ConfigError, its field ``app``."""
    head, *rest = text.split(":")
    items = rest if head in TABLE else [head, *rest]
    numbers: dict[str, float] = dict(TABLE[head]) if head in TABLE else {}
    if head not in TABLE and "=" not in head:
        raise _wrong(text, f"{head!r} is no row of the table", ", ".join(TABLE))
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or name not in (*_POWER, *_SCALING, _POINTS):
            raise _wrong(text, f"{item!r} is no number of an application", ", ".join((*_POWER, *_SCALING, _POINTS)))
        try:
            numbers[name] = float(value)
        except ValueError:
            raise _wrong(text, f"{item!r} is no number", EXAMPLE) from None
    lacking = [name for name in (*_POWER, *_SCALING) if name not in numbers]
    if lacking:
        raise _wrong(text, f"{lacking[0]} is missing", EXAMPLE)
    points = numbers.pop(_POINTS, 0.0)
    if not (points == 0 or 1 <= points < 1e9):
        raise _wrong(text, f"scheduling points after each {points:g} s", "1 second of work or more")
    try:
        # the run time of a profile is 1 on all its nodes: of one node it is the inverse of their share
        share = float(share_of_t1(max_nodes, max(numbers["parallelism"], 1.0), numbers["sigma"]))
        application = Application(t1_s=1 / share, **numbers) if share > 0 else Application(t1_s=1, **numbers)
    except ConfigError as error:
        raise _wrong(text, error.message, error.expected or EXAMPLE) from None
    return Profile(application, min_nodes, max_nodes, malleable, points)


def _wrong(text: str, message: str, expected: str) -> ConfigError:
    return ConfigError(f"{text!r}: {message}", field="app", expected=expected)
