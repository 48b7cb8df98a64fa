"""Tables of scheduling bins: ranges of nodes, longest wall time, boost; two of OLCF's, and anybody's in TOML.

    limit = 4             # jobs a user may have in the queue; left out: any number

    [[bin]]
    nodes = [126, 312]    # from, to
    hours = 6             # longest wall time; left out: any
    boost_days = 0        # how much older a job counts than it is

Source: OLCF's published queue policies of Titan and of Eos (its batch queue of 700 nodes, which had no boosts).
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.policy import Discipline, Sight
from slurmsim.toml_file import only_keys, read_toml, whole_number

DAY_S, HOUR_S = 86_400, 3_600
TOO_LARGE, TOO_LONG = "PartitionNodeLimit", "PartitionTimeLimit"


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin."""

    # low, high: nodes, both included; `high` None for any number
    low: int = 1
    high: int | None = None
    longest_s: int | None = None  # longest time limit, seconds; None for any
    boost_s: int = 0  # seconds its jobs count as older than they are

    def takes(self, n_nodes: int) -> bool:
        """Return True if a job of `n_nodes` goes here."""
        return self.low <= n_nodes and (self.high is None or n_nodes <= self.high)

    def __str__(self) -> str:
        return f"{self.low}-{'…' if self.high is None else self.high} nodes"


@dataclass(frozen=True, slots=True)
class Table:
    """Bins and the limit on a user's jobs in the queue; `file` is where they come from, empty for ours."""

    bins: tuple[Bin, ...] = (Bin(),)
    limit: int | None = None
    file: str = ""

    def __str__(self) -> str:
        return self.file or "none"


TITAN = Table(
    (
        Bin(11_250, 18_688, 24 * HOUR_S, 15 * DAY_S),
        Bin(3_750, 11_249, 24 * HOUR_S, 5 * DAY_S),
        Bin(313, 3_749, 12 * HOUR_S),
        Bin(126, 312, 6 * HOUR_S),
        Bin(1, 125, 2 * HOUR_S),
    ),
    limit=4,
)
EOS = Table((Bin(351, 700, 4 * HOUR_S), Bin(176, 350, 12 * HOUR_S), Bin(1, 175, 24 * HOUR_S)), limit=2)


class Binned(Discipline):
    """Who enters the queue by a table of bins.

    Parameters
    ----------
    limit
        A user's jobs in the queue; None for any number.
    boosts
        Whether boosts count.
    hold
        True if a job longer than its bin allows never enters; else the longest wall times do not count.
    """

    def __init__(self, table: Table, limit: int | None, *, boosts: bool = True, hold: bool = True) -> None:
        self.table, self.limit, self.boosts, self.hold = table, limit, boosts, hold

    def bin_of(self, n_nodes: int) -> Bin | None:
        """Return the bin of a job of so many nodes."""
        return next((one for one in self.table.bins if one.takes(n_nodes)), None)

    def refusal(self, job: Sight) -> str:
        found = self.bin_of(job.n_nodes)
        if found is None:
            return TOO_LARGE
        too_long = self.hold and found.longest_s is not None and job.time_limit_s > found.longest_s
        return TOO_LONG if too_long else ""

    def ahead_s(self, job: Sight) -> int:
        found = self.bin_of(job.n_nodes)
        return found.boost_s if self.boosts and found is not None else 0

    def check(self, n_nodes: int) -> None:
        """Every bin of a user's own table has to be one that jobs of the cluster can go to."""
        for number, one in enumerate(self.table.bins, 1):
            if self.table.file and one.low > n_nodes:
                raise ConfigError(f"bin {number} takes {one}, and the cluster has {n_nodes}: no job fits it",
                                  file=self.table.file, field=f"bin {number}.nodes",
                                  expected=f"nodes up to {n_nodes}")  # fmt: skip


def read_table(file: str) -> Table:
    """Return the bins of a TOML file. Raises ConfigError naming file and field."""
    found = read_toml(file, "a table of bins in TOML")
    only_keys(file, "", found, ("limit", "bin"))
    limit = whole_number(file, "", found, "limit", 1)
    rows = found.get("bin")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ConfigError("has no bins", file=file, field="bin", expected="[[bin]] with nodes = [from, to]")
    bins = tuple(_bin(file, f"bin {number}", row) for number, row in enumerate(rows, 1))
    order = sorted(range(len(bins)), key=lambda k: bins[k].low)
    for a, b in pairwise(order):
        high = bins[a].high
        if high is None or high >= bins[b].low:
            raise ConfigError(f"bins {a + 1} ({bins[a]}) and {b + 1} ({bins[b]}) overlap", file=file,
                              field=f"bin {b + 1}.nodes", expected="ranges that do not overlap")  # fmt: skip
    return Table(bins, limit, file)


def _bin(file: str, name: str, row: Mapping[str, Any]) -> Bin:
    only_keys(file, f"{name}.", row, ("nodes", "hours", "boost_days"))
    nodes = row.get("nodes")
    whole = isinstance(nodes, list) and len(nodes) == 2 and all(type(n) is int for n in nodes)
    if not whole:
        raise ConfigError(f"{nodes!r} is no range" if "nodes" in row else "missing", file=file, field=f"{name}.nodes",
                          expected="[from, to], whole numbers")  # fmt: skip
    low, high = nodes  # type: ignore[misc]
    if low < 1 or high < low:
        raise ConfigError(f"[{low}, {high}]: no job fits it", file=file, field=f"{name}.nodes",
                          expected="[from, to] with 1 <= from <= to")  # fmt: skip
    hours, boost = _number(file, row, name, "hours"), _number(file, row, name, "boost_days")
    if hours is not None and round(hours * HOUR_S) < 1:
        raise ConfigError(f"{hours:g} hours: no job fits it", file=file, field=f"{name}.hours", expected="more than 0")
    longest = None if hours is None else round(hours * HOUR_S)
    return Bin(low, high, longest, round((boost or 0) * DAY_S))


def _number(file: str, row: Mapping[str, Any], name: str, key: str) -> float | None:
    value = row.get(key)
    if value is not None and (type(value) not in (int, float) or not 0 <= value <= 1e6):
        raise ConfigError(f"{value!r}", file=file, field=f"{name}.{key}", expected="a number, at least 0")
    return value
