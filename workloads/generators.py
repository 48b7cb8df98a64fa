"""The workload models by name: what ``slurmsim generate`` offers."""

from collections.abc import Callable, Mapping
from typing import Any

from slurmsim.data_classes import dataclass, fields
from slurmsim.errors import ConfigError, nearest
from slurmsim.workload import Workload
from slurmsim_workloads.models import inference, interactive, llm_training, lomonosov, lublin, mix, mix_params, titan
from slurmsim_workloads.parameters import ParameterInfo, describe, parse


@dataclass(frozen=True, slots=True)
class Model:
    """A workload model: its name, one sentence, its parameters' class and its function of (parameters, seed)."""

    name: str
    summary: str
    params: type
    generate: Callable[[Any, int], Workload]

    def parameters(self) -> list[ParameterInfo]:
        """Name, default, unit and meaning of each parameter."""
        return describe(self.params)

    def has(self, parameter: str) -> bool:
        return any(f.name == parameter for f in fields(self.params))


MODELS: dict[str, Model] = {
    m.name: m
    for m in (
        Model(
            "lublin",
            "Lublin-Feitelson 2003: rigid parallel jobs with a daily cycle, sizes in processors",
            lublin.LublinParams,
            lublin.generate,
        ),
        Model(
            "mix",
            "Poisson and lognormal mix with partitions, memory, GPUs, arrays, failures and cancels",
            mix_params.MixParams,
            mix.generate,
        ),
        Model(
            "titan",
            "synthetic year of Titan: 562,079 whole-node jobs for 18,688 nodes",
            titan.TitanParams,
            titan.generate,
        ),
        Model(
            "lomonosov-regular4",
            "synthetic four weeks of Lomonosov's partition regular4: bursts of 60 users a day on 2,000 nodes",
            lomonosov.LomonosovParams,
            lomonosov.generate,
        ),
        Model(
            "llm-training",
            "gangs of GPU nodes that train for days and fail with their nodes, and short evaluations",
            llm_training.LlmTrainingParams,
            llm_training.generate,
        ),
        Model(
            "inference",
            "days of services on GPUs: replicas follow the demand of the hour",
            inference.InferenceParams,
            inference.generate,
        ),
        Model(
            "interactive",
            "days of interactive work: sessions of short jobs in working hours",
            interactive.InteractiveParams,
            interactive.generate,
        ),
    )
}


def model(name: str) -> Model:
    """Return the model called `name`. Raises ConfigError when there is none."""
    if name not in MODELS:
        hint = nearest(name, MODELS)
        raise ConfigError(f"no workload model {name!r}{hint}", field="MODEL", expected="one of " + ", ".join(MODELS))
    return MODELS[name]


def generate(name: str, options: Mapping[str, str], seed: int) -> Workload:
    """Make a workload of the model `name`.

    Parameters
    ----------
    name
        A key of `MODELS`.
    options
        Parameters as texts, ``{"jobs": "1000"}``; the others keep their defaults.
    seed
        Seed (>= 0); equal arguments give equal workloads.

    Raises
    ------
    ConfigError
        For an unknown model or parameter, or a bad value, naming it.
    """
    if seed < 0:
        raise ConfigError(f"bad value {seed}", field="seed", expected="an integer of at least 0")
    chosen = model(name)
    workload = chosen.generate(parse(chosen.params, options), seed)
    given = " ".join(f"{key}={value}" for key, value in sorted(options.items()))
    workload.header.fields["Generator"] = f"slurmsim {name}, seed {seed}" + (f", {given}" if given else "")
    return workload
