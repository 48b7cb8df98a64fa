"""A slurm.conf, gres.conf or topology.conf with other names, and nothing in it but what decides a schedule.

Kept are the keys slurmsim honours, as far as their values are numbers, times and words of Slurm's; names of nodes,
partitions, accounts, QOS, features, GRES types, licenses and switches are replaced. Everything else is left out:
comments, hosts, addresses, paths, reasons, users, and every key that has no effect here.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from slurmsim import hostlist
from slurmsim.config.line_options import GRES_KEYS, LINE_TABLES, SWITCH_KEYS
from slurmsim.config.option import Option, Status, split_words
from slurmsim.config.options import find_scalar
from slurmsim.config.scheduler_options import SUB_OPTIONS, split_parameters
from slurmsim.config.slurm_conf import ConfLine, Pair
from slurmsim.data_classes import dataclass, field
from slurmsim.errors import ConfigError
from slurmsim.numerals import is_number

_PLAIN = frozenset({
    "flag", "count", "count or unlimited", "minutes", "time", "duration", "memory", "memory or none", "memory limit",
    "choice", "exit codes", "seconds",
})  # fmt: skip
"""Kinds with values that hold no name."""
_PROGRAM = "/program"  # that there is one counts, not which
# Words of lists that have no table of choices.
_WORDS = {
    "dependencyparameters": ("kill_invalid_depend", "disable_remote_singleton"),
    "prologflags": ("alloc", "contain", "x11", "deferbatch", "nohold", "forcerequeueonfail", "serial"),
    "slurmdparameters": ("config_overrides",),
    "preemptmode": ("off", "cancel", "requeue", "suspend", "gang", "within", "priority"),
}
_PREEMPTION = re.compile(r"(min_exempt_priority|reorder_count)=\d+|strict_order|youngest_first", re.IGNORECASE)
_OPENING = {"nodename": "node", "downnodes": "node", "partitionname": "partition", "nodeset": "set",
            "switchname": "switch"}  # fmt: skip


@dataclass(slots=True)
class Renaming:
    """Pseudonyms by kind, and what was kept and left out: keys, without their values."""

    names: Mapping[str, Mapping[str, str]]
    kept: dict[str, None] = field(default_factory=dict)
    left_out: dict[str, None] = field(default_factory=dict)

    def name(self, kind: str, text: str) -> str:
        """Return the pseudonym of a name. Raises KeyError where it has none."""
        found = self.names.get(kind, {})
        return found[text] if text in found else found[text.lower()]

    def type(self, text: str) -> str:
        """Return the pseudonym of a type of GRES."""
        return self.name("type", text)

    def hosts(self, text: str) -> str:
        """Return a hostlist with other nodes; ALL and DEFAULT stay, names of node sets are replaced as such."""
        if text.upper() in ("ALL", "DEFAULT", ""):
            return text
        words, sets = [], self.names.get("set", {})
        for word in hostlist.expand(text):
            words.append(sets[word] if word in sets else self.name("node", word))
        return hostlist.compress(words)

    def tres(self, text: str) -> str:
        """``gres/gpu:a100=2,license/x=1`` with other types and licenses."""
        return ",".join(self._tres(item) for item in split_words(text))

    def _tres(self, item: str) -> str:
        key, equals, value = item.partition("=")
        kind, slash, rest = key.partition("/")
        if kind.lower() == "license":
            rest = self.name("license", rest)
        elif kind.lower() == "gres" and ":" in rest:
            gres, _, type_ = rest.partition(":")
            rest = f"{gres}:{self.name('type', type_)}"
        return f"{kind}{slash}{rest}{equals}{value}"

    def gres(self, text: str) -> str:
        """``gpu:a100:4`` with another type."""
        return ",".join(self._gres(item) for item in split_words(text))

    def _gres(self, item: str) -> str:
        types = self.names.get("type", {})
        first, *parts = re.sub(r"\([^()]*\)|:no_consume", "", item).split(":")
        return ":".join([first, *(part if is_number(part[:1]) else types[part] for part in parts)])


def renamed_conf(lines: Iterable[ConfLine], names: Renaming) -> str:
    """Return the text of a slurm.conf. Raises ConfigError for a value that has to stay and may hold names."""
    return "".join(_line(line, names) for line in lines)


def renamed_gres(lines: Iterable[ConfLine], names: Renaming) -> str:
    """Return the text of a gres.conf: counts instead of devices."""
    found = []
    for line in lines:
        values = {pair.key.lower(): pair.value for pair in line.pairs}
        if "name" not in values:
            continue
        if "count" not in values and "file" in values:
            values["count"] = str(len(hostlist.expand(values["file"])))
        pairs: dict[str, Callable[[str], str]] = {
            "NodeName": names.hosts, "Name": str, "Type": names.type, "Count": str,
        }  # fmt: skip
        kept = [f"{key}={change(values[key.lower()])}" for key, change in pairs.items() if values.get(key.lower())]
        _note(names, "gres.conf", values, {key.lower() for key in pairs}, GRES_KEYS)
        found.append(" ".join(kept) + "\n")
    return "".join(found)


def renamed_topology(lines: Iterable[ConfLine], names: Renaming) -> str:
    found = []
    for line in lines:
        values = {pair.key.lower(): pair.value for pair in line.pairs}
        kept = [f"SwitchName={names.name('switch', values['switchname'])}"]
        if nodes := values.get("nodes"):
            kept.append(f"Nodes={names.hosts(nodes)}")
        if switches := values.get("switches"):
            below = [names.name("switch", one) for one in hostlist.expand(switches)]
            kept.append(f"Switches={hostlist.compress(below)}")
        _note(names, "topology.conf", values, {"switchname", "nodes", "switches"}, SWITCH_KEYS)
        found.append(" ".join(kept) + "\n")
    return "".join(found)


def _note(names: Renaming, file: str, values: Mapping[str, str], kept: set[str], table: Mapping[str, Option]) -> None:
    for key in values:
        shown = f"{file} {table[key].name if key in table else key}"
        (names.kept if key in kept else names.left_out)[shown] = None


def _line(line: ConfLine, names: Renaming) -> str:
    opening = line.pairs[0].key.lower()
    if opening in LINE_TABLES:
        return _object(line, opening, names)
    return "".join(_scalar(pair, names) for pair in line.pairs)


def _object(line: ConfLine, opening: str, names: Renaming) -> str:
    """Return a NodeName, PartitionName, DownNodes or NodeSet line."""
    table = LINE_TABLES[opening]
    if opening not in _OPENING:
        names.left_out[line.pairs[0].key] = None
        return ""
    found = []
    for i, pair in enumerate(line.pairs):
        option = table.get(pair.key.lower())
        value = _opened(pair, _OPENING[opening], names) if i == 0 else _of_object(option, pair, names)
        shown = f"{line.pairs[0].key} {option.name if option else pair.key}"
        (names.kept if value is not None else names.left_out)[shown] = None
        if value is not None:
            assert option is not None
            found.append(f"{option.name}={value}")
    return " ".join(found) + "\n"


def _opened(pair: Pair, kind: str, names: Renaming) -> str:
    if pair.value.upper() == "DEFAULT":
        return "DEFAULT"
    return names.hosts(pair.value) if kind == "node" else names.name(kind, pair.value)


def _of_object(option: Option | None, pair: Pair, names: Renaming) -> str | None:
    """Return the value of a key of a line; None to leave it out."""
    if option is None or option.status is not Status.HONOURED:
        return None
    if option.kind in _PLAIN:
        return _parsed(option, pair.value)
    change = _OBJECT_VALUES.get(option.name)
    return change(names, pair.value) if change is not None else None


def _parsed(option: Option, text: str) -> str | None:
    try:
        option.parse(text)
    except ValueError:
        return None
    return text


def _listed(kind: str) -> Callable[[Renaming, str], str]:
    return lambda names, text: (
        text if text.upper() == "ALL" else ",".join(names.name(kind, w) for w in split_words(text))
    )


def _if(pattern: str) -> Callable[[Renaming, str], str | None]:
    known = re.compile(pattern, re.IGNORECASE)
    return lambda names, text: text if known.fullmatch(text) else None


_SHARING = r"(NO|EXCLUSIVE|YES|FORCE)(:\d+)?"
_OBJECT_VALUES: Mapping[str, Callable[[Renaming, str], str | None]] = {
    "OverTimeLimit": _if(r"-?\d+|UNLIMITED|INFINITE"), "Features": _listed("feature"), "Gres": Renaming.gres,
    "State": _if("[A-Z]+"), "CPUSpecList": _if(r"[\d,-]+"),
    "Nodes": Renaming.hosts, "OverSubscribe": _if(_SHARING), "Shared": _if(_SHARING), "PreemptMode": _if(r"[A-Z,]+"),
    "TRESBillingWeights": Renaming.tres, "AllowAccounts": _listed("account"), "DenyAccounts": _listed("account"),
    "AllowQos": _listed("qos"), "DenyQos": _listed("qos"), "QOS": _listed("qos"),
    "Feature": _listed("feature"),
}  # fmt: skip


def _scalar(pair: Pair, names: Renaming) -> str:
    option = find_scalar(pair.key)
    value = None
    if option is not None and option.status is Status.HONOURED:
        value = _parsed(option, pair.value) if option.kind in _PLAIN else _scalar_value(option, pair.value, names)
    shown = option.name if option is not None else pair.key
    (names.kept if value else names.left_out)[shown] = None
    return f"{shown}={value}\n" if value else ""


def _scalar_value(option: Option, text: str, names: Renaming) -> str | None:
    key = option.name.lower()
    if key in _SCALAR_VALUES:
        return _SCALAR_VALUES[key](names, text)
    if option.choices:
        return _parsed(option, text)
    if key in _WORDS:
        return ",".join(word for word in split_words(text) if word.lower() in _WORDS[key])
    return None


def _scheduler(names: Renaming, text: str) -> str:
    if "/" in text.removeprefix("sched/") or "=" in text:
        raise ConfigError("options of a policy may name files and people: they are not put into a bundle",
                          field="SchedulerType", expected="one of Slurm's")  # fmt: skip
    return text


def _parameters(names: Renaming, text: str) -> str:
    kept = []
    for name, value in split_parameters(text).items():
        option = SUB_OPTIONS.get(name.lower())
        if option is not None and option.status is Status.HONOURED and (not value or is_number(value.lstrip("-"))):
            kept.append(f"{option.name}={value}" if value else option.name)
    return ",".join(kept)


def _licenses(names: Renaming, text: str) -> str:
    items = [re.split("[:=]", item, maxsplit=1) for item in split_words(text)]
    return ",".join(":".join([names.name("license", name), *count]) for name, *count in items)


_SCALAR_VALUES: Mapping[str, Callable[[Renaming, str], str | None]] = {
    "clustername": lambda names, text: "cluster", "schedulertype": _scheduler, "schedulerparameters": _parameters,
    "licenses": _licenses, "priorityweighttres": Renaming.tres, "accountingstoragetres": Renaming.tres,
    "grestypes": lambda names, text: text,
    "epilog": lambda names, text: _PROGRAM if text else None,
    "suspendprogram": lambda names, text: _PROGRAM, "resumeprogram": lambda names, text: _PROGRAM,
    "suspendexcnodes": Renaming.hosts, "suspendexcparts": _listed("partition"),
    "preemptparameters": lambda names, text: ",".join(w for w in split_words(text) if _PREEMPTION.fullmatch(w)),
}  # fmt: skip
