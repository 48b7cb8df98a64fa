"""slurm.conf scalars into typed options: defaults, resets, contradictions, warnings for what is not modelled.

Mirrors the checks slurmctld makes when it validates its configuration (22.05).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from slurmsim.config.daemon_values import TAKES
from slurmsim.config.findings import Place, Report, Seen
from slurmsim.config.option import Option, Status, earlier, split_words
from slurmsim.config.options import CPU_PARAMETERS, FLAG_NOTES, SCALARS
from slurmsim.config.slurm_conf import Pair
from slurmsim.data_classes import dataclass
from slurmsim.numerals import is_number

_PRIORITY_ONLY = ("PrioritySiteFactorPlugin",)
_SAME_MODE = {"CLUSTER": "OFF", "ON": "SUSPEND"}  # as Slurm reads PreemptMode
_INSTEAD = {("FastSchedule", "2"): "SlurmdParameters=config_overrides"}  # of one value of an obsolete key
_WITHOUT_LISTING = ("cpu", "mem", "node", "billing", "energy", "fs/disk", "vmem", "pages")


@dataclass(frozen=True, slots=True)
class Setting:
    """One scalar as set: its row, the text, where, and the key as errors show it."""

    option: Option
    text: str
    place: Place
    shown: str


def add_setting(settings: dict[str, Setting], option: Option, pair: Pair, place: Place, report: Report) -> None:
    """Note one scalar of a file; the last one of a key counts."""
    if pair.operator:
        report.warning(place, option.name, pair.value, f"{pair.operator}= is read as =, as Slurm does")
    if option.name in settings:
        report.warning(place, option.name, pair.value, "set more than once, the last value is used")
    report.seen.append(Seen(place, "", option.name, pair.value, option))
    settings[option.name] = Setting(option, pair.value, place, option.name)
    if pair.value in option.ignored:
        report.note(place, option.name, pair.value, "obsolete, real Slurm ignores it: remove the line")
    elif not option.known_in(report.release):
        if option.gone:
            instead = _INSTEAD.get((option.name, pair.value), option.instead)
            advice = f"; use {instead}" if instead else ""
            report.fatal_in_strict(place, option.name, pair.value, f"obsolete, real Slurm refuses it{advice}")
        elif report.strict:
            report.error(place, option.name, pair.value, f"Slurm {report.release} does not know this key")


def read_scalars(settings: Mapping[str, Setting], report: Report) -> dict[str, Any]:
    """Typed options by canonical name: every honoured key, with its default when not set, and all others that are set.

    Times are seconds, UNLIMITED and unset memory None, flags bool, lists tuples of str.
    """
    release = report.release
    options = {o.name: o.default_for(release) for o in SCALARS.values() if o.status is Status.HONOURED}
    for name, setting in settings.items():
        option = setting.option
        try:
            options[name], remark = option.read(setting.text)
        except ValueError as error:
            message, *expected = error.args
            report.error(setting.place, setting.shown, setting.text, message, *expected)
            continue
        if remark:
            report.warning(setting.place, setting.shown, setting.text, remark)
        _check_value(setting, options[name], settings, report)
        if option.refuse:
            report.error(setting.place, setting.shown, setting.text, option.why)
    _normalise(options, settings, report)
    _check_select(options, settings, report)
    _check_memory(options, settings, report)
    _check_preemption(options, settings, report)
    for setting in settings.values():
        _warn_not_modelled(setting, options, settings, report)
    return options


def _check_value(setting: Setting, typed: Any, settings: Mapping[str, Setting], report: Report) -> None:
    """Say that the daemons end on this value. Without --strict what another release takes is taken.

    Plug-ins of a PluginDir of the site's own cannot be known.
    """
    option, takes = setting.option, TAKES.get(setting.option.name)
    if refused := option.refused(setting.text):
        report.fatal_in_strict(setting.place, setting.shown, setting.text, refused)
    if takes is None or not option.known_in(report.release):
        return
    refused = takes.refused(setting.text, typed, report.release)
    if refused and takes.kind and "PluginDir" in settings:
        report.note(setting.place, setting.shown, setting.text, "no plug-in of Slurm's: PluginDir must have it")
    elif refused and (report.strict or not takes.known_somewhere(setting.text, typed)):
        report.fatal_in_strict(setting.place, setting.shown, setting.text, refused, takes.expected(report.release))


def _normalise(options: dict[str, Any], settings: Mapping[str, Setting], report: Report) -> None:
    """One spelling for values that have several, and slurmctld's silent resets made audible."""
    scheduler = options["SchedulerType"]
    options["SchedulerType"] = scheduler if scheduler.startswith("sched/") else f"sched/{scheduler}"
    if options["EnforcePartLimits"] == "YES":
        options["EnforcePartLimits"] = "ALL"
    if options["SelectType"] == "select/cons_res":
        setting = settings["SelectType"]
        say = report.note if earlier(report.release, "23.11") else report.fatal_in_strict
        say(setting.place, setting.shown, setting.text, "gone since 23.11: select/cons_tres is used")
        options["SelectType"] = "select/cons_tres"
    if options["MinJobAge"] == 1:
        setting = settings["MinJobAge"]
        report.warning(setting.place, setting.shown, setting.text, "reset to 2, as Slurm does")
        options["MinJobAge"] = 2
    multifactor = options["PriorityType"] == "priority/multifactor"
    without_dbd = options["AccountingStorageType"] == "accounting_storage/none"
    for name in ("PriorityWeightAge", "PriorityWeightFairshare"):
        weight = settings.get(name)
        if weight is not None and options[name] and multifactor and without_dbd:
            report.note(weight.place, weight.shown, weight.text, "ignored without AccountingStorageType="
                        "accounting_storage/slurmdbd, as in real Slurm")  # fmt: skip
    weights = settings.get("PriorityWeightTRES")
    if weights is not None and multifactor:
        check_weights(options["PriorityWeightTRES"], options, weights.place, weights.shown, report)


def check_weights(
    weights: Sequence[tuple[str, float]], options: Mapping[str, Any], place: Place, shown: str, report: Report
) -> None:
    """Name TRES weights that count nothing: of what AccountingStorageTRES does not list, and of licenses."""
    listed = {word.lower() for word in options["AccountingStorageTRES"]}
    for name, weight in weights:
        if not weight or name in _WITHOUT_LISTING or (name in listed and name.startswith("gres/")):
            continue
        if name in listed:
            report.warning(place, shown, name, "not modelled: counts as 0")
        else:
            report.fatal_in_strict(place, shown, name, "counts as 0, as AccountingStorageTRES does not list it; "
                                   "slurmctld does not start with it")  # fmt: skip


def _check_select(options: dict[str, Any], settings: Mapping[str, Setting], report: Report) -> None:
    """SelectTypeParameters that the select plugin refuses, and its default."""
    words = tuple(word for word in options["SelectTypeParameters"] if word != "NONE")
    options["SelectTypeParameters"] = words
    consumed = [word for word in words if word in CPU_PARAMETERS]
    linear = options["SelectType"] == "select/linear"
    setting = settings.get("SelectTypeParameters")
    if not words or setting is None:
        if not linear:
            options["SelectTypeParameters"] = ("CR_Core_Memory",)
        return
    if linear and consumed:
        report.error(setting.place, setting.shown, setting.text,
                     f"{consumed[0]} cannot be used with select/linear", "CR_Memory or nothing")  # fmt: skip
    elif not linear and not consumed:
        report.error(setting.place, setting.shown, setting.text,
                     f"{options['SelectType']} needs to know what it hands out",
                     f"at least one of {', '.join(CPU_PARAMETERS)}")  # fmt: skip
    elif len({word.removesuffix("_Memory") for word in consumed}) > 1:
        report.error(setting.place, setting.shown, setting.text,
                     f"{consumed[0]} and {consumed[1]} contradict each other", "one of them")  # fmt: skip


def _check_memory(options: dict[str, Any], settings: Mapping[str, Setting], report: Report) -> None:
    for per_cpu, per_node in (("DefMemPerCPU", "DefMemPerNode"), ("MaxMemPerCPU", "MaxMemPerNode")):
        if options.get(per_cpu) is not None and options.get(per_node) is not None:
            setting = settings[per_cpu]
            report.warning(setting.place, setting.shown, setting.text, f"ignored, as {per_node} is set too")
            options[per_cpu] = None


def preempt_words(text: str) -> tuple[str, ...]:
    """Return the words of a PreemptMode in capitals, one spelling each."""
    return tuple(_SAME_MODE.get(word.upper(), word.upper()) for word in split_words(text))


def _check_preemption(options: dict[str, Any], settings: Mapping[str, Setting], report: Report) -> None:
    """Report combinations of PreemptType and PreemptMode that slurmctld refuses or slurmsim does not model."""
    mode, kind = settings.get("PreemptMode"), settings.get("PreemptType")
    if options["PreemptType"] == "(null)":
        options["PreemptType"] = "preempt/none"
    words = set(preempt_words(mode.text)) if mode else {"OFF"}
    options["PreemptMode"] = tuple(sorted(words))
    if mode is not None:
        for word in sorted(words - {"OFF", "CANCEL", "GANG", "REQUEUE", "SUSPEND", "WITHIN", "PRIORITY"}):
            report.error(mode.place, mode.shown, mode.text, f"unknown mode {word!r}",
                         "OFF, CANCEL, GANG, REQUEUE, SUSPEND, WITHIN or PRIORITY")  # fmt: skip
        if "SUSPEND" in words and "GANG" not in words:
            report.error(mode.place, mode.shown, mode.text, "SUSPEND needs GANG too", "SUSPEND,GANG")
        if "SUSPEND" in words and options["SelectType"] == "select/linear":
            report.error(mode.place, mode.shown, mode.text, "suspension with select/linear is not modelled",
                         "SelectType=select/cons_tres")  # fmt: skip
    acts = bool(words & {"CANCEL", "REQUEUE", "SUSPEND"})
    preempts = options["PreemptType"] != "preempt/none"
    culprit = kind or mode
    if acts != preempts and culprit is not None:
        report.error(culprit.place, culprit.shown, culprit.text,
                     f"PreemptType={kind.text if kind else 'preempt/none'} and "
                     f"PreemptMode={mode.text if mode else 'OFF'} contradict each other")  # fmt: skip
    elif mode is not None and options["PreemptType"] == "preempt/qos" and "SUSPEND" in words:
        report.error(mode.place, mode.shown, mode.text, "suspension by QOS is not modelled", "CANCEL or REQUEUE")
    _check_preempt_parameters(options, settings, report)


_PREEMPT_FLAGS = ("strict_order", "youngest_first")
_PREEMPT_NUMBERS = ("reorder_count", "min_exempt_priority")


def _check_preempt_parameters(options: dict[str, Any], settings: Mapping[str, Setting], report: Report) -> None:
    """Words of PreemptParameters: what is wrong is said and left out, as slurmctld leaves it out silently."""
    setting = settings.get("PreemptParameters")
    kept = []
    for word in options["PreemptParameters"] if setting is not None else ():
        assert setting is not None
        name, _, value = word.partition("=")
        if name in _PREEMPT_FLAGS or (name in _PREEMPT_NUMBERS and is_number(value)):
            kept.append(word)
        elif name in _PREEMPT_NUMBERS:
            report.warning(setting.place, setting.shown, word, f"{value!r} is not a number; its default is used")
        elif name == "reclaim_licenses":
            report.warning(setting.place, setting.shown, word, "not modelled: no job is preempted for its licenses")
        elif name not in ("send_user_signal", "suspend_grace_time"):  # simulated jobs take no signals
            report.warning(setting.place, setting.shown, word, "slurmctld ignores this unknown parameter silently")
    options["PreemptParameters"] = tuple(kept)


def _warn_not_modelled(
    setting: Setting, options: Mapping[str, Any], settings: Mapping[str, Setting], report: Report
) -> None:
    option, name = setting.option, setting.option.name
    if option.status is Status.HONOURED and option.kind == "words":
        for word in options[name]:
            noted = FLAG_NOTES.get((name, word.partition("=")[0]))
            if noted is not None and noted[0] is Status.NOT_MODELLED:
                report.warning(setting.place, setting.shown, word, f"not modelled: {noted[1]}")
    if option.status is not Status.NOT_MODELLED or option.refuse or option.master or option.is_off(setting.text):
        return
    if name in _PRIORITY_ONLY and options["PriorityType"] == "priority/basic":
        return  # without effect
    report.warning(setting.place, setting.shown, setting.text, f"not modelled: {option.why}")
