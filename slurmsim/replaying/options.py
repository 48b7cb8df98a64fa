"""What a run depends on: the options of ``slurmsim run``, which are the keywords of `slurmsim.run`.

An option is declared here, and its words for the command line in `slurmsim.cli.run`. One object takes all options to
`prepare`; no function hands them on one by one.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack, get_type_hints

from slurmsim.config.option import OLDEST
from slurmsim.data_classes import dataclass, fields
from slurmsim.policy import GivenPolicy, Policy
from slurmsim.policy.given import as_option
from slurmsim.replaying.instances import MOST

FileName = str | Path
Pairs = tuple[tuple[str, str], ...]


class RunKeywords(TypedDict, total=False):
    """The options beside `workload` and `out` as `slurmsim.run` may be given them (docs/python-api.md)."""

    conf: FileName | None
    nodes: int | None
    cpus_per_node: int | None
    format: str | None
    policy: str | type[Policy] | Policy | None
    set: Mapping[str, object] | Iterable[tuple[str, object]] | None
    option: Mapping[str, object] | Iterable[tuple[str, object]] | None
    seed: int
    until: str | int | None
    jobs: int | None
    node_events: FileName | None
    reservations: FileName | None
    mtbf: int | None
    mttr: int | None
    boot_time: int | str | None
    epilog_time: int
    term_time: int
    accounting: FileName | Sequence[FileName]
    unknown_accounts: str
    groups: FileName | Sequence[FileName]
    impossible_jobs: str
    shares: int | None
    as_live: bool
    solver_latency: int | None
    checkpoint: str | None
    malleable: str | float | None
    save_instances: FileName | None
    max_instances: int
    streams: FileName | None
    feedback: bool
    power_budget: float | FileName | None
    carbon: FileName | None
    prices: FileName | None
    power_cap: float | str | None
    base_w: float | str | None
    full_w: float | str | None
    idle_w: float | str | None
    limit: str | None
    window: str | None
    weeks: int | None
    load: float | None
    load_by: str
    jitter: int
    fair_start: int
    pass_limit: float | None
    release: str


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything a run depends on, as the command line names it; times in seconds."""

    workload: str
    out: str
    conf: str | None = None
    nodes: int | None = None
    cpus_per_node: int | None = None
    format: str | None = None
    policy: str | GivenPolicy | None = None
    set: Pairs = ()
    seed: int = 0
    until: str | None = None
    jobs: int | None = None
    option: Pairs = ()
    node_events: str | None = None
    mtbf: int | None = None
    mttr: int | None = None
    accounting: tuple[str, ...] = ()
    unknown_accounts: str = "stop"
    shares: int | None = None
    boot_time: int | str | None = None
    reservations: str | None = None
    impossible_jobs: str = "stop"
    as_live: bool = False
    groups: tuple[str, ...] = ()
    epilog_time: int = 0
    term_time: int = 0
    solver_latency: int | None = None
    checkpoint: str | None = None
    malleable: str | None = None
    save_instances: str | None = None
    max_instances: int = MOST
    streams: str | None = None
    feedback: bool = False
    power_budget: str | None = None
    carbon: str | None = None
    prices: str | None = None
    power_cap: str | None = None
    base_w: str | None = None
    full_w: str | None = None
    idle_w: str | None = None
    limit: str | None = None
    window: str | None = None
    weeks: int | None = None
    load: float | None = None
    load_by: str = "arrivals"
    jitter: int = 0
    fair_start: int = 0
    pass_limit: float | None = None
    release: str = OLDEST

    @classmethod
    def of(cls, workload: FileName, out: FileName, **given: Unpack[RunKeywords]) -> RunOptions:
        """Return the options as they are given, each in its one form. Raises TypeError for one that there is not."""
        known = {field.name for field in fields(cls)}
        for name in given:
            if name not in known:
                raise TypeError(f"run() got an unexpected keyword argument {name!r}")
        found: dict[str, Any] = {name: _FORMS.get(name, lambda one: one)(value) for name, value in given.items()}
        return cls(str(workload), str(out), **found)

    def as_dict(self) -> dict[str, Any]:
        """Return what was asked for and is not the default, for the manifest, under the names manifests have."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "out" or (value == field.default and field.name != "seed"):
                continue
            if field.name in ("set", "option"):
                value = [f"{k}={v}" for k, v in value]
            elif isinstance(value, GivenPolicy):
                value = str(value)
            found[_IN_MANIFEST.get(field.name, field.name)] = value
        return found

    def command(self) -> str:
        """Return the words of ``slurmsim run`` that give these options, for a shell."""
        words = ["slurmsim", "run", "--workload", self.workload]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("workload", "out") or value == field.default:
                continue
            name = "--" + field.name.replace("_", "-")
            if field.name in ("set", "option"):
                words += [word for key, one in value for word in (name, f"{key}={one}")]
            elif isinstance(value, tuple):
                words += [word for one in value for word in (name, one)]
            elif value is True:
                words.append(name)
            else:
                words.append(f"{name}={value}")
        return shlex.join([*words, "--out", self.out])


def with_run_keywords(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of `function` with each of its ``**options`` by name, for ``help`` and tests."""
    signature = inspect.signature(function)
    *own, _ = signature.parameters.values()
    defaults = {field.name: field.default for field in fields(RunOptions)}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind)
        for name, kind in get_type_hints(RunKeywords).items()
    ]
    return signature.replace(parameters=[*own, *options])


_IN_MANIFEST = {
    "mtbf": "mtbf_s", "mttr": "mttr_s", "shares": "shares_s", "boot_time": "boot_s", "epilog_time": "epilog_s",
    "term_time": "term_s", "solver_latency": "solver_latency_s",
}  # fmt: skip


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _texts(value: FileName | Sequence[FileName]) -> tuple[str, ...]:
    return (str(value),) if isinstance(value, str | Path) else tuple([str(one) for one in value])


def _pairs(value: Mapping[str, object] | Iterable[tuple[str, object]] | None) -> Pairs:
    items = value.items() if isinstance(value, Mapping) else value or ()
    return tuple([(key, str(one)) for key, one in items])


_FORMS: dict[str, Callable[[Any], Any]] = {
    "policy": as_option, "conf": _text, "node_events": _text, "reservations": _text, "until": _text,
    "save_instances": _text, "malleable": _text, "carbon": _text, "prices": _text, "streams": _text,
    "power_budget": _text, "power_cap": _text, "base_w": _text, "full_w": _text, "idle_w": _text, "limit": _text,
    "accounting": _texts, "groups": _texts, "set": _pairs, "option": _pairs,
}  # fmt: skip
