"""Keys that end slurmctld together with others, or by more than one word: each rule is a row with its reason.

What one key takes by itself stands in `daemon_values`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from slurmsim.config.findings import Report
from slurmsim.config.option import OLDEST, earlier, split_words
from slurmsim.config.scalars import Setting, preempt_words
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.data_classes import dataclass

_MOST_BYTES = {"max_script_size": 512 * 1024 * 1024, "max_submit_line_size": 2 * 1024 * 1024}


@dataclass(frozen=True, slots=True)
class Given:
    """The scalars of a configuration: as written, and typed with the defaults of the release."""

    settings: Mapping[str, Setting]
    options: Mapping[str, Any]
    release: str
    n_nodes: int

    def text(self, key: str) -> str:
        """Return `key` as written; "" when it is not set."""
        return self.settings[key].text if key in self.settings else ""

    def words(self, key: str) -> frozenset[str]:
        """Return the words of a comma list as written, lower case."""
        return frozenset(word.lower() for word in split_words(self.text(key)))


@dataclass(frozen=True, slots=True)
class Rule:
    """`key`, where it is set, ends slurmctld if `broken`; `why` goes on "slurmctld does not start: "."""

    key: str
    why: str
    broken: Callable[[Given], bool]


def check_rules(settings: Mapping[str, Setting], options: Mapping[str, Any], n_nodes: int, report: Report) -> None:
    """Say which rules a configuration breaks: errors with --strict, else warnings."""
    given = Given(settings, options, report.release, n_nodes)
    for rule in _RULES:
        setting = settings.get(rule.key)
        if setting is not None and rule.broken(given):
            report.fatal_in_strict(setting.place, setting.shown, setting.text, f"slurmctld does not start: {rule.why}")
    _check_qos(given, report)


def check_hosts(lines: Iterable[ConfLine], report: Report) -> None:
    """SlurmctldHost lines: HOST or HOST(ADDRESS), each host once."""
    hosts: set[str] = set()
    for line in lines:
        text = line.pairs[0].value
        found = re.fullmatch(r"([^()]+)(?:\([^()]*\))?", text)
        if found is None:
            report.fatal_in_strict(line.place, "SlurmctldHost", text, "slurmctld takes HOST or HOST(ADDRESS)")
        elif found[1] in hosts:
            report.fatal_in_strict(line.place, "SlurmctldHost", text, "slurmctld does not start: a host is named twice")
        else:
            hosts.add(found[1])


def check_power_action(line: ConfLine, report: Report) -> None:
    """Check that a PowerAction line says where the action runs."""
    given = {pair.key.lower(): pair.value.lower() for pair in line.pairs}
    if given.get("location") not in ("slurmctld", "slurmd"):
        report.fatal_in_strict(line.place, "PowerAction", line.pairs[0].value,
                               "slurmctld does not start: it needs Location=slurmctld or Location=slurmd")  # fmt: skip


def _check_qos(given: Given, report: Report) -> None:
    """QOS of partitions where no slurmdbd knows one: fatal since 25.11, for AllowQos, DenyQos and QOS."""
    if given.options["AccountingStorageType"] != "accounting_storage/none" or earlier(report.release, "25.11"):
        return
    for seen in report.seen:
        if seen.key in ("AllowQos", "DenyQos", "QOS") and seen.value.upper() not in ("ALL", "", "(NULL)"):
            report.fatal_in_strict(seen.place, seen.key, seen.value, "slurmctld does not start: no QOS without "
                                   "AccountingStorageType=accounting_storage/slurmdbd")  # fmt: skip


def _number(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else 0


def _ports(given: Given) -> bool:
    """Return True for a port, or a first and a higher last one."""
    found = re.fullmatch(r"([1-9][0-9]{0,17})(?:-([0-9]{1,18}))?", given.text("SlurmctldPort"))
    return found is None or (found[2] is not None and int(found[2]) <= int(found[1]))


def _twice(given: Given) -> bool:
    """More than one of the words that say how tasks are bound."""
    words = [word.lower() for word in split_words(given.text("TaskPluginParam"))]
    return sum(word in ("none", "sockets", "cores", "threads") for word in words) > 1 or (
        sum(word.startswith("autobind=") for word in words) > 1)  # fmt: skip


def _ids(given: Given) -> bool:
    most = given.options.get("MaxJobId")
    return most is not None and given.options.get("FirstJobId", 1) > most


def _too_long(name: str, since: str = OLDEST) -> Callable[[Given], bool]:
    """Return a sub-option of SchedulerParameters above its bound, fatal from `since` on."""

    def broken(given: Given) -> bool:
        pairs = [word.partition("=") for word in given.words("SchedulerParameters")]
        beyond = any(key == name and _number(size) > _MOST_BYTES[name] for key, _, size in pairs)
        return beyond and not earlier(given.release, since)

    return broken


def _own_state(given: Given) -> bool:
    """Return True if a word of HealthCheckNodeState that has to stand alone has others beside it."""
    words = given.words("HealthCheckNodeState")
    return len(words) > 1 and bool(words & {"start_only", "reboot_only"}) and not earlier(given.release, "26.05")


def _without_database(given: Given) -> bool:
    """Return True for a TRES that only slurmdbd can number."""
    named = given.words("AccountingStorageTRES") - {"fs/disk"}
    return given.options["AccountingStorageType"] == "accounting_storage/none" and any("/" in word for word in named)


def _unknown_tres(given: Given) -> bool:
    known = ("billing", "cpu", "energy", "mem", "node", "pages", "vmem")
    return any(word not in known and not re.match("(fs|gres|ic|license|bb)/.", word)
               for word in given.words("AccountingStorageTRES"))  # fmt: skip


def _bad_modes(given: Given) -> bool:
    """Words of PreemptMode that do not go together: two actions, or WITHIN and PRIORITY with GANG or without one."""
    words = frozenset(preempt_words(given.text("PreemptMode")))
    actions = words & {"CANCEL", "REQUEUE", "SUSPEND", "OFF"}
    unknown = "PRIORITY" in words and earlier(given.release, "25.05")
    more = bool(words & {"WITHIN", "PRIORITY"})
    return unknown or len(actions) > 1 or (more and ("GANG" in words or not actions))


def _no_container(key: str) -> Callable[[Given], bool]:
    def broken(given: Given) -> bool:
        text = given.text(key).lower()
        set_up = text.endswith("/tmpfs") or (not earlier(given.release, "25.11") and "none" not in text)
        return set_up and "contain" not in given.words("PrologFlags")

    return broken


_RULES: tuple[Rule, ...] = (
    Rule("AccountingStorageTRES", "this TRES needs AccountingStorageType=accounting_storage/slurmdbd",
         _without_database),
    Rule("AccountingStorageTRES", "TRES are billing, cpu, energy, mem, node, pages, vmem, fs/, gres/, ic/ and license/",
         _unknown_tres),
    Rule("CommunicationParameters", "DisableIPv4 without EnableIPv6",
         lambda g: "disableipv4" in g.words("CommunicationParameters")
         and "enableipv6" not in g.words("CommunicationParameters")),
    Rule("FirstJobId", "it is above MaxJobId", _ids),
    Rule("HealthCheckNodeState", "START_ONLY and REBOOT_ONLY go with no other word", _own_state),
    Rule("JobAcctGatherParams", "UsePSS and NoShared exclude each other",
         lambda g: {"usepss", "noshared"} <= g.words("JobAcctGatherParams")),
    Rule("JobContainerType", "it needs PrologFlags=Contain", _no_container("JobContainerType")),
    Rule("LaunchParameters", "enable_nss_slurm and disable_send_gids exclude each other",
         lambda g: {"enable_nss_slurm", "disable_send_gids"} <= g.words("LaunchParameters")),
    Rule("MaxNodeCount", "it needs SelectType=select/cons_tres",
         lambda g: g.options["SelectType"] == "select/linear"),
    Rule("MaxNodeCount", "slurm.conf has more nodes",
         lambda g: g.options.get("MaxNodeCount") is not None and g.options["MaxNodeCount"] < g.n_nodes),
    Rule("MCSParameters", "it needs an MCSPlugin", lambda g: not g.text("MCSPlugin")),
    Rule("MCSPlugin", "mcs/group needs MCSParameters",
         lambda g: g.text("MCSPlugin") == "mcs/group" and not g.text("MCSParameters")),
    Rule("NamespaceType", "it needs PrologFlags=Contain", _no_container("NamespaceType")),
    Rule("PreemptMode", "it takes one of OFF, CANCEL, REQUEUE, SUSPEND; with it GANG, WITHIN or, from 25.05, PRIORITY",
         _bad_modes),
    Rule("PriorityDecayHalfLife", "0 needs a PriorityUsageResetPeriod",
         lambda g: g.options.get("PriorityDecayHalfLife") == 0 and not g.text("PriorityUsageResetPeriod")),
    Rule("PrologFlags", "NoHold goes with neither Contain nor X11",
         lambda g: "nohold" in g.words("PrologFlags") and bool({"contain", "x11"} & g.words("PrologFlags"))),
    Rule("PrologFlags", "X11 does not go with proctrack/linuxproc",
         lambda g: "x11" in g.words("PrologFlags") and g.text("ProctrackType") == "proctrack/linuxproc"),
    Rule("SchedulerParameters", "max_script_size is at most 536870912", _too_long("max_script_size")),
    Rule("SchedulerParameters", "max_submit_line_size is at most 2097152", _too_long("max_submit_line_size", "23.11")),
    Rule("SlurmctldPort", "it takes one port, or FIRST-LAST with LAST above FIRST", _ports),
    Rule("SlurmSchedLogLevel", "it needs a SlurmSchedLogFile",
         lambda g: bool(g.options.get("SlurmSchedLogLevel")) and not g.text("SlurmSchedLogFile")),
    Rule("SelectTypeParameters", "it has no word NONE", lambda g: "none" in g.words("SelectTypeParameters")),
    Rule("TaskPluginParam", "OOMKillStep needs TaskPlugin=task/cgroup",
         lambda g: "oomkillstep" in g.words("TaskPluginParam") and "task/cgroup" not in g.text("TaskPlugin")),
    Rule("TaskPluginParam", "one of none, sockets, cores and threads, and one autobind", _twice),
    Rule("TopologyPlugin", "select/linear does not go with topology/tree since 23.11",
         lambda g: g.options["SelectType"] == "select/linear" and g.options["TopologyPlugin"] == "topology/tree"
         and not earlier(g.release, "23.11")),
)  # fmt: skip
