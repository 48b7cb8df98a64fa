"""Parameters of a workload model: declared once, checked when built, parsed from text, listed for the user.

A model's parameters are a frozen dataclass with fields made by `param`. The bounds written there are the checks, the
words the help of ``slurmsim generate --list``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError

P = TypeVar("P")

MOST = 1_000_000_000
"""Largest number in a workload model or a stream: the times, sizes and sums that follow from it fit into int64."""
MOST_JOBS = 1 << 24  # jobs of a workload model, which takes up to 250 bytes a job: 4 GiB

_YES, _NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off")
_EXPECTED = {int: "an integer", float: "a number", bool: "yes or no", str: "text"}


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """What a user needs to know of one parameter; `default` is text as ``-o`` would take it."""

    name: str
    default: str
    unit: str
    help: str


def param(
    default: Any,
    help: str,
    unit: str = "",
    *,
    kind: type | Callable[[str], Any] | None = None,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare a dataclass field as a model parameter.

    Parameters
    ----------
    default
        Default; None means "not given", and then `kind` must say what a given value is.
    help, unit
        Shown by ``slurmsim generate --list``.
    kind
        int, float, bool, str, or a function that makes the value of a text and raises ConfigError.
        By default the type of `default`.
    low, high, above, below
        Bounds of a number: closed (`low`, `high`) or open (`above`, `below`); it is at most `MOST` in any case.
    choices
        Texts allowed.
    """
    meta: dict[str, Any] = {"help": help, "unit": unit, "kind": kind or type(default), "optional": default is None}
    meta |= {"choices": choices, "low": low, "high": high, "above": above, "below": below}
    return dataclasses.field(default=default, metadata=meta)


def _bounds(meta: Mapping[str, Any]) -> str:
    """Return the bounds in words, to follow "a number"."""
    words = {"low": "at least", "above": "above", "high": "at most", "below": "below"}
    return " and ".join(f"{word} {meta[key]:g}" for key, word in words.items() if meta[key] is not None)


def _check_number(name: str, value: Any, meta: Mapping[str, Any]) -> None:
    kind = meta["kind"]
    expected = f"{_EXPECTED[kind]} {_bounds(meta)}".strip()
    number = isinstance(value, int | float) and not isinstance(value, bool)
    most = MOST_JOBS if name == "jobs" else MOST
    if number and abs(value) > most:
        raise ConfigError(f"bad value {str(value)[:40]}", field=name, expected=f"at most {most:,}")
    good = number and math.isfinite(value) and (kind is float or value == int(value))
    if good:
        good = (
            (meta["low"] is None or value >= meta["low"])
            and (meta["high"] is None or value <= meta["high"])
            and (meta["above"] is None or value > meta["above"])
            and (meta["below"] is None or value < meta["below"])
        )
    if not good:
        raise ConfigError(f"bad value {value!r}", field=name, expected=expected)


def check(params: Any) -> None:
    """Check every field of `params` against its declaration.

    Raises
    ------
    ConfigError
        Naming the first bad field and what was expected.
    """
    for f in dataclasses.fields(params):
        meta, value = f.metadata, getattr(params, f.name)
        if meta["optional"] and value is None:
            continue
        if meta["kind"] in (int, float):
            _check_number(f.name, value, meta)
        elif meta["kind"] in (bool, str) and not isinstance(value, meta["kind"]):
            raise ConfigError(f"bad value {value!r}", field=f.name, expected=_EXPECTED[meta["kind"]])
        elif meta["choices"] and value not in meta["choices"]:
            raise ConfigError(f"bad value {value!r}", field=f.name, expected="one of " + ", ".join(meta["choices"]))


def check_load_or_rate(params: Any) -> None:
    """Refuse a `load` together with a rate, `jobs_per_hour`. Raises ConfigError."""
    if params.load is not None and params.jobs_per_hour is not None:
        raise ConfigError("given together with jobs_per_hour", field="load", expected="one of the two")


def check_population(params: Any) -> None:
    """Refuse more `accounts` than `users`. Raises ConfigError."""
    if params.accounts > params.users:
        raise ConfigError(f"bad value {params.accounts}", field="accounts", expected="at most as many as users")


def _parse(f: dataclasses.Field[Any], text: str) -> Any:
    kind = f.metadata["kind"]
    if f.metadata["optional"] and text.lower() == "none":
        return None
    if kind is bool:
        if text.lower() in _YES + _NO:
            return text.lower() in _YES
    elif kind is str:
        return text
    elif kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    else:
        return kind(text)
    expected = f"{_EXPECTED[kind]} {_bounds(f.metadata)}".strip()
    raise ConfigError(f"bad value {text!r}", field=f.name, expected=expected)


def parse(cls: type[P], options: Mapping[str, str]) -> P:
    """Build the parameters `cls` from texts, ``{"jobs": "1000", "load": "0.9"}``.

    Raises
    ------
    ConfigError
        For a name `cls` does not have, a text that is no value of it, or a value outside its bounds.
    """
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, text in options.items():
        if name not in fields:
            raise ConfigError("this model has no such parameter", field=name, expected="one of " + ", ".join(fields))
        values[name] = _parse(fields[name], text)
    return cls(**values)


def _show(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def describe(cls: type) -> list[ParameterInfo]:
    """Return the parameters of `cls` in the order declared."""
    return [
        ParameterInfo(f.name, _show(f.default), f.metadata["unit"], f.metadata["help"]) for f in dataclasses.fields(cls)
    ]
