"""Taking names out of a workload while leaving the schedule as it is.

Users, accounts and job names become ``user1``, ``account1``, ``job1`` …; the numbering follows a shuffle drawn from
the seed, so it tells nothing of the alphabet or of who came first, and is the same for the same log and seed. With
`everything`, partitions, QOS, features, GRES types and node names go too. What stays, because the schedule depends
on it: sizes, times, limits, states, job ids, arrays, dependencies. Equal names stay equal, so a user's pattern of work
stays visible: a pseudonym is not a proof of anonymity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from slurmsim import hostlist
from slurmsim.numerals import is_number
from slurmsim.workload import QualityReport, TextColumn, Workload, WorkloadHeader

ALWAYS = {"user": "user", "account": "account", "name": "job"}
_TIMES = ("submit", "begin", "cancel_at", "log_eligible", "log_start", "log_end")
# Facts about the machine and the format; comments of people are not kept.
_HEADER_KEPT = ("Version", "MaxNodes", "MaxProcs", "MaxRuntime", "Preemption", "UnixStartTime", "TimeZone")


def anonymize(workload: Workload, seed: int = 0, *, everything: bool = False, shift_s: int = 0) -> Workload:
    """A workload with pseudonyms.

    Parameters
    ----------
    workload
        Left as it is.
    seed
        Of the shuffle that numbers the pseudonyms.
    everything
        Also replace partitions, QOS, constraints, GRES types and the names of nodes.
    shift_s
        Seconds taken off every time (submit, begin, cancel, recorded times), so that the dates are not the real ones.

    Returns
    -------
    Workload
        With node lists replaced in any case: node ``n`` of the log's naming order becomes ``node1``, ``node2`` …
        by the same shuffle. Header comments, file name and the places in the quality report are removed.
    """
    texts = dict(workload.texts)
    rng = np.random.Generator(np.random.PCG64(seed))
    for column, prefix in ALWAYS.items():
        texts[column] = _pseudonyms(texts[column], prefix, rng)
    nodes = _node_pseudonyms((texts[c] for c in ("node_list", "exclude", "log_nodes")), rng)
    for column in ("node_list", "exclude", "log_nodes"):
        texts[column] = _mapped(texts[column], lambda text: _rename_nodes(text, nodes))
    if everything:
        texts["partition"] = _tokens([texts["partition"]], "partition", rng, re.compile(r"[^,]+"))[0]
        texts["qos"] = _pseudonyms(texts["qos"], "qos", rng)
        texts["constraint"] = _tokens([texts["constraint"]], "feature", rng, re.compile(r"[A-Za-z_][\w.\-]*"))[0]
        texts["gres"], texts["gpus"] = _gres_types(texts["gres"], texts["gpus"], rng)
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


def _numbered(texts: Iterable[str], prefix: str, rng: np.random.Generator) -> dict[str, str]:
    """text -> prefix and number, numbers in shuffled order of the sorted texts."""
    ordered = sorted(set(texts))
    return {text: f"{prefix}{number + 1}" for text, number in zip(ordered, rng.permutation(len(ordered)), strict=True)}


def _used(column: TextColumn) -> list[str]:
    return [column.values[code] for code in np.unique(column.codes).tolist() if column.values[code]]


def _mapped(column: TextColumn, new: Callable[[str], str]) -> TextColumn:
    """The column with `new` applied to each of its texts; texts nobody uses are forgotten."""
    index: dict[str, int] = {"": 0}
    remap = np.zeros(len(column.values), np.int32)
    targets = {code: new(column.values[code]) for code in np.unique(column.codes).tolist() if column.values[code]}
    for code, text in sorted(targets.items(), key=lambda item: (_natural(item[1]), item[0])):
        remap[code] = index.setdefault(text, len(index))
    return TextColumn(remap[column.codes], list(index))


def _natural(text: str) -> tuple[int, str]:
    return len(text), text


def _pseudonyms(column: TextColumn, prefix: str, rng: np.random.Generator) -> TextColumn:
    names = _numbered(_used(column), prefix, rng)
    return _mapped(column, names.__getitem__)


def _tokens(
    columns: list[TextColumn], prefix: str, rng: np.random.Generator, pattern: re.Pattern[str]
) -> list[TextColumn]:
    """Pseudonyms for the words inside the texts (partitions of a comma list, features of a constraint)."""
    words = {word for column in columns for text in _used(column) for word in pattern.findall(text)}
    names = _numbered(words, prefix, rng)
    return [_mapped(c, lambda text: pattern.sub(lambda match: names[match[0]], text)) for c in columns]


def _gres_types(gres: TextColumn, gpus: TextColumn, rng: np.random.Generator) -> tuple[TextColumn, TextColumn]:
    """GRES names stay (``gpu`` is no secret), types go: ``gpu:a100:2`` becomes ``gpu:type1:2``."""

    def types_of(text: str, position: int) -> list[str]:
        parts = [item.split(":") for item in text.split(",")]
        return [p[position] for p in parts if len(p) > position and not is_number(p[position][:1])]

    found = {t for text in _used(gres) for t in types_of(text, 1)} | {
        t for text in _used(gpus) for t in types_of(text, 0)
    }
    names = _numbered(found, "type", rng)

    def rename(text: str) -> str:
        return ",".join(":".join(names.get(part, part) for part in item.split(":")) for item in text.split(","))

    return _mapped(gres, rename), _mapped(gpus, rename)


def _node_pseudonyms(columns: Iterable[TextColumn], rng: np.random.Generator) -> dict[str, str]:
    return _numbered(
        {node for column in columns for text in _used(column) for node in hostlist.expand(text)}, "node", rng
    )


def _rename_nodes(text: str, names: dict[str, str]) -> str:
    return hostlist.compress(names[node] for node in hostlist.expand(text))
