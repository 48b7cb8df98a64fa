"""Taking names out of a workload while leaving the schedule as it is.

Users, accounts and job names become ``user1``, ``account1``, ``job1`` …; the numbering follows a shuffle drawn from
the seed, so it tells nothing of the alphabet or of who came first, and is the same for the same log and seed. With
`everything`, partitions, QOS, features, GRES types and node names go too. What stays, because the schedule depends
on it: sizes, times, limits, states, job ids, arrays, dependencies. Equal names stay equal, so a user's pattern of work
stays visible: a pseudonym is not a proof of anonymity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from slurmsim import hostlist
from slurmsim.numerals import is_number
from slurmsim.workload import QualityReport, TextColumn, Workload, WorkloadHeader

ALWAYS = {"user": "user", "account": "account", "name": "job"}
NO_CASE = ("account", "qos")  # kinds of names that Slurm's database has in lower case
_LISTED = re.compile(r"[^,]+")
# the type in --gpus-per-node=a100:2, --tres-per-task=gres/gpu:a100:2; a count alone is none
_OPTION_TYPE = re.compile(r"(?<=[=:,])([A-Za-z_][\w.\-]*)(?=:\d)")
_TIMES = ("submit", "begin", "cancel_at", "log_eligible", "log_start", "log_end")
# Facts about the machine and the format; comments of people are not kept.
_HEADER_KEPT = ("Version", "MaxNodes", "MaxProcs", "MaxRuntime", "Preemption", "UnixStartTime", "TimeZone")


Names = Mapping[str, Mapping[str, str]]
"""Pseudonyms by kind: user, account, job, node, partition, qos, feature, type (of GRES), license, reservation."""


def anonymize(
    workload: Workload, seed: int = 0, *, everything: bool = False, shift_s: int = 0, names: Names | None = None
) -> Workload:
    """Return a workload with pseudonyms.

    Parameters
    ----------
    workload
        Left as it is.
    seed
        Of the shuffle that numbers the pseudonyms.
    everything
        Also replace partitions, QOS, constraints, GRES types, licenses, reservations and the names of nodes.
    shift_s
        Seconds taken off every time (submit, begin, cancel, recorded times), so that the dates are not the real ones.
    names
        Pseudonyms chosen before, by kind, as for a configuration that goes with the log; other names are numbered
        after those.

    Returns
    -------
    Workload
        With node lists replaced in any case: node ``n`` of the log's naming order becomes ``node1``, ``node2`` …
        by the same shuffle. Header comments, file name and the places in the quality report are removed.
    """
    texts = dict(workload.texts)
    kinds = _Kinds(names or {}, np.random.Generator(np.random.PCG64(seed)))
    for column, prefix in ALWAYS.items():
        texts[column] = _pseudonyms(texts[column], kinds, prefix)
    lists = ("node_list", "exclude", "log_nodes")
    nodes = kinds.of({node for c in lists for text in _used(texts[c]) for node in hostlist.expand(text)}, "node")
    for column in lists:
        texts[column] = _mapped(texts[column], lambda text: hostlist.compress(nodes[n] for n in hostlist.expand(text)))
    if everything:
        texts["partition"] = _tokens([texts["partition"]], kinds, "partition", _LISTED)[0]
        texts["qos"] = _pseudonyms(texts["qos"], kinds, "qos")
        texts["constraint"] = _tokens([texts["constraint"]], kinds, "feature", re.compile(r"[A-Za-z_][\w.\-]*"))[0]
        texts["gres"], texts["gpus"], texts["options"] = _gres_types(texts, kinds)
        texts["licenses"] = _tokens([texts["licenses"]], kinds, "license", re.compile(r"[A-Za-z_][^,;:|]*"))[0]
        texts["reservation"] = _tokens([texts["reservation"]], kinds, "reservation", _LISTED)[0]
    ints = dict(workload.ints)
    if shift_s:
        for name in _TIMES:
            column_values = ints[name]
            ints[name] = np.where(column_values >= 0, column_values - shift_s, column_values)
    old = workload.header
    kept = {k: v for k, v in old.fields.items() if k in _HEADER_KEPT and not (shift_s and k == "UnixStartTime")}
    epoch = 0 if shift_s else old.epoch
    header = WorkloadHeader("", old.format, epoch, old.max_nodes, old.max_procs, kept)
    old_report = workload.quality
    report = QualityReport(old_report.records, old_report.jobs, dict(old_report.repaired), dict(old_report.dropped))
    return Workload(ints, texts, header, report)


class _Kinds:
    """Pseudonyms given before, and the shuffle that numbers the others."""

    def __init__(self, names: Names, rng: np.random.Generator) -> None:
        self._names, self._rng = names, rng

    def of(self, texts: Iterable[str], kind: str) -> dict[str, str]:
        """Return text -> pseudonym of a kind, numbers of new ones in shuffled order of the sorted texts."""
        given = self._names.get(kind, {})
        found = {text: given[text] for text in texts if text in given}
        if kind in NO_CASE:
            found |= {text: given[text.lower()] for text in texts if text not in given and text.lower() in given}
        return found | numbered((text for text in texts if text not in found), kind, self._rng, len(given))


def numbered(texts: Iterable[str], prefix: str, rng: np.random.Generator, first: int = 0) -> dict[str, str]:
    """Return text -> prefix and number from `first` + 1 on, numbers in shuffled order of the sorted texts."""
    ordered = sorted(set(texts))
    places = rng.permutation(len(ordered))
    return {text: f"{prefix}{first + place + 1}" for text, place in zip(ordered, places, strict=True)}


def _used(column: TextColumn) -> list[str]:
    return [column.values[code] for code in np.unique(column.codes).tolist() if column.values[code]]


def _mapped(column: TextColumn, new: Callable[[str], str]) -> TextColumn:
    """Return the column with `new` applied to each of its texts; unused texts are forgotten."""
    index: dict[str, int] = {"": 0}
    remap = np.zeros(len(column.values), np.int32)
    targets = {code: new(column.values[code]) for code in np.unique(column.codes).tolist() if column.values[code]}
    for code, text in sorted(targets.items(), key=lambda item: (_natural(item[1]), item[0])):
        remap[code] = index.setdefault(text, len(index))
    return TextColumn(remap[column.codes], list(index))


def _natural(text: str) -> tuple[int, str]:
    return len(text), text


def _pseudonyms(column: TextColumn, kinds: _Kinds, kind: str) -> TextColumn:
    names = kinds.of(_used(column), kind)
    return _mapped(column, names.__getitem__)


def _tokens(columns: list[TextColumn], kinds: _Kinds, kind: str, pattern: re.Pattern[str]) -> list[TextColumn]:
    """Pseudonyms for the words inside the texts (partitions of a comma list, features of a constraint)."""
    words = {word for column in columns for text in _used(column) for word in pattern.findall(text)}
    names = kinds.of(words, kind)
    return [_mapped(c, lambda text: pattern.sub(lambda match: names[match[0]], text)) for c in columns]


def _gres_types(texts: Mapping[str, TextColumn], kinds: _Kinds) -> tuple[TextColumn, TextColumn, TextColumn]:
    """GRES names stay (``gpu`` is no secret), types go: ``gpu:a100:2`` becomes ``gpu:type1:2``."""
    gres, gpus, options = (texts[name] for name in ("gres", "gpus", "options"))

    def types_of(text: str, position: int) -> list[str]:
        parts = [item.split(":") for item in text.split(",")]
        return [p[position] for p in parts if len(p) > position and not is_number(p[position][:1])]

    found = {t for text in _used(gres) for t in types_of(text, 1)} | {
        t for text in _used(gpus) for t in types_of(text, 0)
    }
    found |= {match[1] for text in _used(options) for match in _OPTION_TYPE.finditer(text)}
    names = kinds.of(found, "type")

    def rename(text: str) -> str:
        return ",".join(":".join(names.get(part, part) for part in item.split(":")) for item in text.split(","))

    return _mapped(gres, rename), _mapped(gpus, rename), _mapped(
        options, lambda text: _OPTION_TYPE.sub(lambda match: match[0].replace(match[1], names[match[1]]), text)
    )  # fmt: skip
