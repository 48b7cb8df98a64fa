"""The engine a journal's header describes, at its first instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from slurmsim.config.files import Carried
from slurmsim.duration import parse_duration
from slurmsim.errors import ConfigError
from slurmsim.model.power import PowerSpec
from slurmsim.numerals import is_number
from slurmsim.policy import Policy, configured_policy
from slurmsim.sim.carbon import parse_signal
from slurmsim.sim.network import BOOT_S
from slurmsim.sim.power_options import option, read_budget, read_power, read_series
from slurmsim.sim.sources import load_streams
from slurmsim.slurmctld.base.association_database import engine_database
from slurmsim.slurmctld.base.people import People
from slurmsim.slurmctld.base.simulated import behaviour
from slurmsim.slurmctld.database.completion_log import completion_log
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.reconfiguration import Configuration, read_configuration, texts_of
from slurmsim.toml_file import texts_from


def make_engine(header: Mapping[str, Any], folder: Path, configuration: Configuration | None = None) -> Engine:
    """Return the engine a header describes, at its first instant."""
    conf = configuration or read_configuration(header, folder, header.get("texts"))
    texts = header.get("texts") if configuration is None else configuration.texts
    files = Carried(folder, texts or {})
    policy = _policy(conf.cluster.option("SchedulerType"), folder / str(header["conf"]), files)
    cluster = replace(conf.cluster, watched=True, power=_power(header, policy, len(conf.cluster.nodes), texts or {}))
    database = engine_database(cluster, conf.accounting, int(header["owner"]), int(header["start"]))
    engine = Engine(
        cluster, policy, int(header["start"]), People(header["users"]), int(header["owner"]), database=database,
        run_time=behaviour, release=str(header["release"]), runs_jobs=header["jobs"] == "run",
        boot_s=int(header.get("boot_s", BOOT_S)),
    )  # fmt: skip
    engine.flavour = str(header.get("flavour") or "debian")  # all were before there was a choice
    engine.dies_slowly = bool(header.get("completing"))
    engine.runs_programs = header.get("programs") is True
    database.operators = frozenset(map(str, header.get("operators", ())))
    engine.conf, engine.host = conf.facts, conf.host
    if header["conf"]:
        engine.conf_path = str(folder / str(header["conf"]))
    stored = str(header.get("storage") or engine.conf.scalar("AccountingStorageType"))  # else slurm.conf decides
    engine.storage.enabled = stored.lower().removeprefix("accounting_storage/") != "none"
    engine.storage.completed = completion_log(engine, folder)
    if header.get("streams"):
        with texts_from(texts_of(files, folder / str(header["conf"]))):
            engine.let_submit(load_streams(str(header["streams"])))
    return engine


def _policy(scheduler_type: str, conf: Path, files: Carried) -> Policy:
    """Return the policy a configuration names, with options. Raises ConfigError for one that needs an oracle."""
    policy = configured_policy(scheduler_type, texts_of(files, conf))
    if (predictor := policy.predictor) is not None and predictor.oracle:
        raise ConfigError(f"predictor {predictor.name} needs real run times, which a live cluster does not know",
                          field="SchedulerType", expected="a predictor that is no oracle")  # fmt: skip
    return policy


def _power(
    header: Mapping[str, Any], policy: Policy, n_nodes: int, texts: Mapping[str, str]
) -> PowerSpec | None:  # fmt: skip
    """Return the model of power; None where no option and no policy asks for it. A budget may be a file of `texts`.

    Raises ConfigError for options that cannot be, and where scripts really run.
    """
    given: Mapping[str, str] = header.get("power") or {}
    if not given and not (policy.chooses_sizes or policy.reshapes) and policy.budget_w is None:
        return None
    if header["jobs"] == "run":
        if given:
            raise ConfigError("what nodes draw is modelled: no process keeps to it", field=option(next(iter(given))),
                              expected="--jobs simulate beside it")  # fmt: skip
        raise ConfigError(f"policy {policy.name} changes sizes and power of running jobs, which no process bears",
                          field="SchedulerType", expected="--jobs simulate, or another policy")  # fmt: skip
    if given.get("power_cap") is not None and header.get("streams"):
        raise ConfigError("jobs of streams have no application, which a cap needs", field="--power-cap",
                          expected="one of them")  # fmt: skip
    moment = partial(_moment, int(header["start"]))
    budget = read_budget(given.get("power_budget"), policy, lambda name: read_series(texts[name], name, moment))
    spec = read_power(given, policy, n_nodes, budget)
    if (name := given.get("carbon")) is not None:
        spec = replace(spec, carbon=parse_signal(texts[name], name, moment).forecast)
    if lacking := policy.lacks(None, spec.full_mw / 1000):
        raise ConfigError(f"policy {policy.name} {lacking}", field="SchedulerType")
    return spec


def _moment(start: int, text: str) -> int:
    """Seconds since the epoch of ``+1-02:00:00``, which is after `start`, of a date, or of themselves.

    A date is local time unless it ends with Z. Raises ConfigError.
    """
    try:
        if text.startswith("+"):
            seconds = parse_duration(text[1:])
            if seconds is None:
                raise ValueError(text)
            return start + seconds
        if is_number(text):
            return int(text)
        found = datetime.fromisoformat(text.removesuffix("Z"))
        return int((found.replace(tzinfo=UTC) if text.endswith("Z") else found).timestamp())
    except (ValueError, OverflowError):
        expected = "+D-HH:MM:SS after the first instant, YYYY-MM-DDThh:mm:ss, or Unix time"
        raise ConfigError(f"{text!r} is no time", field="time", expected=expected) from None
