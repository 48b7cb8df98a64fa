"""What a run knows of watts: its options, and whether there is anything to know."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from slurmsim.errors import ConfigError
from slurmsim.input_file import read_text
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.power import OPTIONS, PowerSpec
from slurmsim.policy import Policy
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.signals import read_signal
from slurmsim.replaying.until import parse_moment, parse_until
from slurmsim.sim.applications import Applications, has_applications
from slurmsim.sim.measured import Measured, is_measured
from slurmsim.sim.power_options import Steps, read_budget, read_power, read_series
from slurmsim.workload import Workload


def power_spec(options: RunOptions, policy: Policy, workload: Workload, cluster: ClusterSpec) -> PowerSpec | None:
    """Return the watts of a run; None where no option asks for them and no job has an application.

    Raises
    ------
    ConfigError
        An option is no number of watts, contradicts another one, would change nothing or leaves the idle machine no
        room; or a cap meets a job without an application.
    """
    told, measured = has_applications(workload), is_measured(workload)
    asked = [options.power_budget, options.power_cap, options.base_w, options.full_w, options.idle_w]
    if options.limit is not None and not told:
        raise ConfigError("changes nothing: no job has an application", field="--limit", expected="a column app")
    if options.carbon is not None:
        asked.append(options.carbon)
    if measured:
        _check_measured(options, policy, workload)
    if not (told or measured) and all(one is None for one in asked) and not policy.reshapes and policy.budget_w is None:
        return None
    given = {name: getattr(options, name) for name in OPTIONS}
    budget = read_budget(options.power_budget, policy, lambda name: _read_budget(Path(name), workload))
    spec = replace(read_power(given, policy, len(cluster.nodes), budget), measured=measured)
    if options.carbon is not None:
        signal = read_signal(Path(options.carbon), lambda moment: parse_moment(moment, workload))
        spec = replace(spec, carbon=signal.forecast)
    _check_applications(options, workload, spec)
    return spec


def _check_measured(options: RunOptions, policy: Policy, workload: Workload) -> None:
    """Raise ConfigError for a budget over measured watts, which nothing can cap; WorkloadError for what are none."""
    Measured(workload)
    budget = options.power_budget is not None or options.power_cap is not None
    if budget or policy.reshapes or policy.budget_w is not None:
        what = f"policy {policy.name}" if not budget else "a budget or cap"
        raise ConfigError(f"{what} beside measured watts, which no cap can change", file=options.workload,
                          field="watts", expected="one of the two (convert --option power=no)")  # fmt: skip


def _check_applications(options: RunOptions, workload: Workload, spec: PowerSpec) -> None:
    """Raise WorkloadError for an application that is none; ConfigError for a lack of them, and beyond `full_mw`."""
    applications = Applications(workload, spec)
    needs = "" if spec.cap_mw is None else "--power-cap"
    column = workload.texts["app"]
    without = np.flatnonzero(~column.said())
    if needs and len(without):
        job = int(workload.ints["job_id"][without[0]])
        raise ConfigError(f"job {job} has no application, which {needs} needs", file=options.workload, field="app",
                          expected="a row's name, parallelism and sigma (docs/workloads.md)")  # fmt: skip
    for profile in applications.known:
        if profile.lowest_mw > spec.full_mw:
            raise ConfigError(f"an application draws at least {profile.lowest_mw / 1000:g} W", field="--full-w",
                              file=options.workload, expected="more than any p_low_w")  # fmt: skip


def _read_budget(path: Path, workload: Workload) -> Steps:
    """Return a series of budgets, times as in ``--until``. Raises ConfigError with file and line."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path}: {what}", field="--power-budget", expected="watts, or a CSV file") from None
    return read_series(text, str(path), lambda moment: parse_until(moment, workload))
