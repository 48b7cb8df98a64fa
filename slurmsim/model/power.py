"""What is known of the watts of a cluster: of its nodes, its budget, and what it costs a job to change its size."""

from bisect import bisect_right

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError

SCALE, KEEP = "scale", "keep"
ALWAYS = -(1 << 60)  # a budget from then on is one from before every workload
MOST_W = 10**9
OPTIONS = ("power_budget", "power_cap", "base_w", "full_w", "idle_w", "limit", "carbon")
"""Options of power by name, of a run and of a live cluster."""


@dataclass(frozen=True, slots=True)
class PowerSpec:
    """Power as a quantity of a run. Watts are whole milliwatts, so that sums of them are exact."""

    base_mw: int = 56_000  # what a node with a job draws beside its processor: 38 W and 18 W of memory
    full_mw: int = 60_000  # the most a processor draws: the cap of a job that has none
    idle_mw: int = 0  # what a node without a job draws that is not powered down; the paper charges none
    cap_mw: int | None = None  # the cap of every job without a cap of its own; None for none
    # (from this second on, milliwatts), ascending; nothing is limited before the first. Empty: no budget.
    budget: tuple[tuple[int, int], ...] = ()
    # what becomes of time limits: ``scale``, they are meant for the most nodes at full power; or ``keep``
    limit: str = SCALE
    # memory_mb, link_mb_s: memory of a job that moves when it is resized, MB a node, and what a link carries (m and b
    # of equation 20)
    memory_mb: float = 1024.0
    link_mb_s: float = 425.0
    # boot_s, boot_node_s: what it takes to start on further nodes, and on each of them (equation 21)
    boot_s: float = 72.73
    boot_node_s: float = 0.01904
    # carbon intensity as a policy may expect it: (from this second on, milligrams of CO2 a kWh), ascending
    carbon: tuple[tuple[int, int], ...] = ()
    measured: bool = False  # what jobs draw is measured, of some at least: no cap changes it

    def budget_at(self, now: int) -> int | None:
        """Return the budget in force at `now`, milliwatts; None for none."""
        at = bisect_right(self.budget, now, key=lambda step: step[0])
        return self.budget[at - 1][1] if at else None

    def default_cap(self, lowest_mw: int) -> int:
        """Return the cap of a job without one of its own: no lower than the lowest of its application."""
        return max(self.full_mw if self.cap_mw is None else self.cap_mw, lowest_mw)

    def resize_s(self, before: int, after: int) -> float:
        """Seconds a job stands still when it goes from `before` nodes to `after`: t_c + t_b (equations 20 and 21).

        Data move on a 3-D torus; its cuboid has `before` nodes when it grows. The paper has no formula for shrinking:
        the data of the nodes that go move into the cuboid that stays.
        """
        each, two_links = self.memory_mb, 2 * self.link_mb_s
        if after == before:
            return 0.0
        if after < before:
            return float(each * (before - after) / (two_links * after ** (2 / 3)))
        data_s = (each - each * before / after) * before / (two_links * before ** (2 / 3))
        return float(data_s + (after - before) * self.boot_node_s + self.boot_s)


def milliwatts(text: str, field: str, least: float) -> int:
    """Milliwatts of ``30``, ``30.5W``. Raises ConfigError."""
    try:
        watts = float(text.removesuffix("W"))
    except ValueError:
        raise ConfigError(f"{text!r}", field=field, expected="watts: 30 or 30.5W") from None
    if not least <= watts <= MOST_W or abs(watts * 1000 - round(watts * 1000)) > 1e-6:
        raise ConfigError(f"{text}", field=field, expected=f"watts from {least:g} to {MOST_W}, whole milliwatts")
    return round(watts * 1000)


def is_watts(text: str) -> bool:
    """Return True if that is a number, and no name of a file."""
    try:
        float(text.removesuffix("W"))
    except ValueError:
        return False
    return True
