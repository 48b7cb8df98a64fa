"""Options of power, which a simulation and a live cluster have under the same names, as what is known of watts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slurmsim.csv_rows import columns_are, csv_rows
from slurmsim.errors import ConfigError
from slurmsim.model.power import ALWAYS, KEEP, SCALE, PowerSpec, is_watts, milliwatts
from slurmsim.policy import Policy

Steps = tuple[tuple[int, int], ...]  # from which second on, milliwatts


def option(name: str) -> str:
    """Return an option as it is given: ``--power-cap``."""
    return f"--{name.replace('_', '-')}"


def read_power(given: Mapping[str, str | None], policy: Policy, n_nodes: int, budget: Steps) -> PowerSpec:
    """Return what the texts in `given` say of the watts of `n_nodes` nodes under `policy`, and `budget` of their limit.

    Raises
    ------
    ConfigError
        One is no number of watts, contradicts another one or leaves the idle machine no room.
    """
    limit = given.get("limit") or SCALE
    if limit not in (SCALE, KEEP):
        raise ConfigError(repr(limit), field="--limit", expected=f"{SCALE} or {KEEP}")
    base, full, idle = (
        default if (text := given.get(name)) is None else milliwatts(text, option(name), 0.0)
        for name, default in (("base_w", 56_000), ("full_w", 60_000), ("idle_w", 0))
    )
    text = given.get("power_cap")
    cap = None if text is None else milliwatts(text, "--power-cap", 0.001)
    if cap is not None and cap > full:
        raise ConfigError(f"{cap / 1000:g} W", field="--power-cap", expected=f"at most {full / 1000:g}, see --full-w")
    if idle > base + full:
        raise ConfigError(f"{idle / 1000:g} W", field="--idle-w", expected=f"at most {(base + full) / 1000:g}")
    if cap is not None and policy.reshapes:
        raise ConfigError(f"policy {policy.name} chooses caps itself", field="--power-cap", expected="its levels")
    least = min((watts for _, watts in budget), default=None)
    if least is not None and least < idle * n_nodes:
        raise ConfigError(f"{least / 1000:g} W are less than {n_nodes} idle nodes draw", field="--power-budget",
                          expected=f"{idle * n_nodes / 1000:g} or more")  # fmt: skip
    return PowerSpec(base, full, idle, cap, budget, limit)


def read_budget(text: str | None, policy: Policy, series: Callable[[str], Steps]) -> Steps:
    """Return the budget that `text` or the policy wants; empty for none. Raises ConfigError.

    `series` reads what is no number: the name of a file.
    """
    if text is None:
        return () if policy.budget_w is None else ((ALWAYS, milliwatts(f"{policy.budget_w!r}", "budget_w", 0.001)),)
    if policy.budget_w is not None:
        raise ConfigError("beside the policy's budget_w", field="--power-budget", expected="one of them")
    return ((ALWAYS, milliwatts(text, "--power-budget", 0.001)),) if is_watts(text) else series(text)


def read_series(text: str, file: str, moment: Callable[[str], int]) -> Steps:
    """Return the budget of a CSV file ``time,watts``, with times as `moment` reads them. Raises ConfigError."""
    found: list[tuple[int, int]] = []
    names, rows = csv_rows(text, file, "--power-budget")
    if names != ("time", "watts"):
        raise ConfigError(columns_are(names), file=file, line=1, expected="time,watts")
    for line, row in rows:
        try:
            time = moment((row["time"] or "").strip())
            watts = milliwatts((row["watts"] or "").strip(), "watts", 0.001)
        except ConfigError as error:
            field = "watts" if error.field == "watts" else "time"
            raise ConfigError(error.message, file=file, line=line, field=field, expected=error.expected) from None
        if found and time <= found[-1][0]:
            raise ConfigError(f"{time} is not after {found[-1][0]}", file=file, line=line, field="time",
                              expected="ascending times")  # fmt: skip
        found.append((time, watts))
    if not found:
        raise ConfigError("has no row", file=file, field="--power-budget", expected="time,watts")
    return tuple(found)
