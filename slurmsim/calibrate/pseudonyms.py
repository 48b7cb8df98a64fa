"""Pseudonyms for whatever a site's configuration and accounting data name, one set for all of its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from slurmsim import hostlist
from slurmsim.config.option import split_words
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.model.accounting import Accounting, Association, Limits, Qos
from slurmsim_workloads.transforms.anonymize import numbered

Lines = Sequence[ConfLine]
_WEIGHED = ("tresbillingweights", "priorityweighttres", "accountingstoragetres")


def chosen_names(
    lines: Lines, beside: Mapping[str, Lines], accounting: Accounting | None, seed: int
) -> dict[str, dict[str, str]]:
    """Pseudonyms by kind; `beside` are gres.conf and topology.conf.

    Nodes keep the order of their table, which decides which of equal ones a job gets; others are shuffled. Slurm's own
    names (the QOS normal, the account and user root) tell nothing, mean something, and stay.
    """
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    qos = {word.lower() for word in _words(lines, "allowqos", "denyqos", "qos")}
    accounts = {word.lower() for word in _words(lines, "allowaccounts", "denyaccounts")}
    users: set[str] = set()
    if accounting is not None:
        qos |= {one.name for one in accounting.qos}
        accounts |= {one.account for one in accounting.associations}
        users = {one.user for one in accounting.associations if one.user}
    types, licenses = _counted(lines, beside, accounting)
    named = {
        "partition": {text for text in _values(lines, "partitionname") if text.upper() != "DEFAULT"},
        "set": set(_values(lines, "nodeset")),
        "feature": _words(lines, "features", "feature"),
        "type": types,
        "license": licenses,
        "qos": qos - {"normal"},
        "account": accounts - {"root"},
        "user": users - {"root"},
        "switch": set(_values(beside.get("topology.conf", ()), "switchname")),
    }
    found = {kind: numbered(texts, kind, rng) for kind, texts in named.items()}
    found["node"] = _nodes(lines)
    found["qos"]["normal"] = "normal"
    found["account"]["root"] = found["user"]["root"] = "root"
    return found


def _nodes(lines: Lines) -> dict[str, str]:
    names = {name for text in _values(lines, "nodename") if text.upper() != "DEFAULT" for name in hostlist.expand(text)}
    width = len(str(len(names)))
    return {name: f"node{i:0{width}d}" for i, name in enumerate(sorted(names, key=hostlist.natural_key), 1)}


def _counted(lines: Lines, beside: Mapping[str, Lines], accounting: Accounting | None) -> tuple[set[str], set[str]]:
    """Types of GRES, and licenses."""
    tres = {item.partition("=")[0] for item in _words(lines, *_WEIGHED)}
    tres |= set(_limited(accounting)) if accounting is not None else set()
    types = {part for text in _values(lines, "gres") for part in _types(text)}
    types |= set(_values(beside.get("gres.conf", ()), "type"))
    types |= {name.partition(":")[2] for name in tres if name.lower().startswith("gres/") and ":" in name}
    licenses = {item.partition(":")[0] for item in _words(lines, "licenses")}
    licenses |= {name.partition("/")[2] for name in tres if name.lower().startswith("license/")}
    return types, licenses


def _values(lines: Iterable[ConfLine], key: str) -> list[str]:
    return [pair.value for line in lines for pair in line.pairs if pair.key.lower() == key and pair.value]


def _words(lines: Lines, *keys: str) -> set[str]:
    return {word for key in keys for text in _values(lines, key) for word in split_words(text)}


def _types(gres: str) -> list[str]:
    parts = [item.split("(")[0].split(":") for item in split_words(gres)]
    return [part for found in parts for part in found[1:] if not part[:1].isdigit() and part != "no_consume"]


def _limited(accounting: Accounting) -> Iterable[str]:
    """Names of the TRES that limits are about."""
    items: list[Association | Qos] = [*accounting.associations, *accounting.qos]
    limited: list[Limits | Qos] = [*(item.limits for item in items), *accounting.qos]
    for one in limited:
        for value in (getattr(one, name) for name in one.__dataclass_fields__):
            if isinstance(value, Mapping):
                yield from value
