"""The options of each dispatcher, as ``--policy NAME:key=value`` and requests give them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from slurmsim.errors import ConfigError
from slurmsim.policy import PolicyOption
from slurmsim_policies.choices import one_of, positive, whole
from slurmsim_policies.cp.listing import ORDERS

EURORA_MODELS = ("mks", "wt", "nl", "mks_wt_nl", "wt_mks_nl", "nl_mks_wt")
CRITERIA = ("slowdown", "mks", "wt", "nl")
CUTS = ("time", "positions", "ordered", "disjunctive", "dominance")
AUTO = "auto"


def _cuts(text: str) -> str:
    words = [] if text == "none" else text.split("+")
    if len(set(words)) != len(words) or not set(words) <= set(CUTS):
        raise ValueError(text)
    return text


def _delta(text: str) -> Fraction:
    try:
        delta = Fraction(text)
    except ZeroDivisionError:  # 1/0
        raise ValueError(text) from None
    if delta < 1:
        raise ValueError(text)
    return delta


def _limit_or_auto(text: str) -> float | str:
    return AUTO if text == AUTO else positive(text)


def _guard(text: str) -> float | None:
    return None if text == "none" else positive(text)


def interval_limit(given: float | str, variables: int, share: int = 1) -> float:
    """Deterministic seconds of a first call for an interval model of so many variables.

    A deterministic second of it is 2 to 25 seconds of CPU below 300 variables, 13 to 28 at 800 and 37 to 49 at 2,000.
    So one limit for all would end small models after some milliseconds, without a proof. The least limit, which large
    models have, is divided by `share`, the number of calls of one activation.
    """
    return min(0.1, max(0.005 / share, 10 / max(1, variables))) if isinstance(given, str) else given


def _common(limit: float | str) -> dict[str, PolicyOption]:
    told = "deterministic seconds of a first call of the solver"
    by_size = PolicyOption(_limit_or_auto, limit, f"{told}; auto: 0.005, of small models more, up to 0.1")
    return {
        "limit": by_size if limit == AUTO else PolicyOption(positive, limit, told),
        "seed": PolicyOption(whole(0), 1, "seed of the solver"),
        "hint": PolicyOption(whole(0, 1), 1, "1: the solver is given a list schedule; 0: it is not"),
        "search": PolicyOption(
            one_of("paper", "solver"),
            "solver",
            "paper: earliest job first, by slowdown, at its earliest start; solver: as it likes",
        ),
        "linearization": PolicyOption(whole(0, 2), 0, "CP-SAT's linearization_level, 0 to 2"),
        "guard": PolicyOption(_guard, None, "seconds of a call after which it is given up, not repeatable; or none"),
        "admit": PolicyOption(one_of("all", "now"), "all", "which jobs enter: all, or now: those that could start now"),
    }


_POOLED = {
    "pooled": PolicyOption(whole(0, 1), 1, "1: also the cumulative over all nodes, implied and not in the paper; or 0"),
}
OPTIONS: dict[str, dict[str, PolicyOption]] = {
    "list": {
        "order": PolicyOption(one_of(*ORDERS), "arrival", "who is first: one of " + ", ".join(ORDERS)),
        "scheme": PolicyOption(
            one_of("parallel", "serial"), "parallel",
            "parallel: any job that fits starts; serial: no job delays one before it",
        ),
        "model": PolicyOption(one_of(*CRITERIA), "slowdown", "what single plans are judged by: " + ", ".join(CRITERIA)),
    },
    "cp_eurora": {
        "model": PolicyOption(one_of(*EURORA_MODELS), "mks_wt_nl", "one of " + ", ".join(EURORA_MODELS)),
        "delta": PolicyOption(_delta, Fraction(2), "what composites may lose of the other two: at least 1"),
        **_POOLED,
        **_common(AUTO),
    },
    "pcp19": {
        **_POOLED,
        **_common(AUTO),
    },
    "hcp19": _common(0.1),
    "pcp20": {
        "cuts": PolicyOption(_cuts, "time+positions+ordered", "none, or some of " + "+".join(CUTS)
                             + "; dominance can remove the optimum"),
        **_common(0.1),
    },
    "cp_classes": {
        "model": PolicyOption(one_of(*CRITERIA), "slowdown", "what is minimised: " + ", ".join(CRITERIA)),
        "cuts": PolicyOption(whole(0, 5), 2, "how many plans that cannot be placed are forbidden, at most 5"),
        **_common(0.1),
    },
}  # fmt: skip


def parse(dispatcher: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of `dispatcher`, those `given` read. Raises ConfigError for an unknown one and for a bad value."""
    if dispatcher not in OPTIONS:
        raise ConfigError(f"no dispatcher is called {dispatcher!r}", field="dispatcher", expected=", ".join(OPTIONS))
    known = OPTIONS[dispatcher]
    values = {key: option.default for key, option in known.items()}
    for key, value in given.items():
        if key not in known:
            raise ConfigError(f"unknown option {key!r} of policy {dispatcher}", field="--policy",
                              expected=f"one of: {', '.join(known)}")  # fmt: skip
        try:
            values[key] = known[key].parse(str(value).lower() if value is None else str(value))
        except ValueError:
            raise ConfigError(f"bad value {str(value)!r} for option {key} of policy {dispatcher}", field="--policy",
                              expected=known[key].help) from None  # fmt: skip
    return values
