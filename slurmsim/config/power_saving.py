"""Checks of the power saving keys that need to know the nodes and partitions."""

from collections.abc import Iterable, Mapping
from typing import Any

from slurmsim.config.findings import Place, Report
from slurmsim.config.nodes import NodeTable, expand_names, split_known
from slurmsim.config.scalars import Setting
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.hostlist import compress
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.power_action import PowerAction
from slurmsim.model.power_saving import EXCLUDED_STATES, excluded_nodes


def check_power_saving(
    options: Mapping[str, Any], settings: Mapping[str, Setting], table: NodeTable,
    partitions: tuple[PartitionSpec, ...], report: Report,
) -> None:  # fmt: skip
    """SuspendExcNodes and SuspendExcParts name what exists; a SuspendTime without programs is told."""

    def place(key: str) -> Place:
        return settings[key].place if key in settings else Place()

    excluded = options["SuspendExcNodes"]
    try:
        lists = excluded_nodes(excluded)
    except ValueError:
        lists = []
        report.error(place("SuspendExcNodes"), "SuspendExcNodes", excluded, "no count of nodes",
                     "a hostlist, or hostlists with counts (n[1-9]:2,m[1-3]:1)")  # fmt: skip
    for text, _ in lists:
        names_given = expand_names(text, place("SuspendExcNodes"), "SuspendExcNodes", report)
        if unknown := split_known(names_given, table)[1]:
            report.warning(place("SuspendExcNodes"), "SuspendExcNodes", compress(unknown),
                           "no nodes of slurm.conf: left out, as Slurm does")  # fmt: skip
    for word in filter(None, str(options["SuspendExcStates"]).replace("(null)", "").split(",")):
        if word.strip().upper() not in EXCLUDED_STATES:
            report.warning(place("SuspendExcStates"), "SuspendExcStates", word,
                           f"left out: modelled are {' '.join(EXCLUDED_STATES)}")  # fmt: skip
    names = {p.name for p in partitions}
    for name in options["SuspendExcParts"]:
        if name not in names and name != "(null)":
            report.warning(place("SuspendExcParts"), "SuspendExcParts", name,
                           "no partition is called so: left out, as Slurm does")  # fmt: skip
    lacking = [key for key in ("SuspendProgram", "ResumeProgram") if options[key] in ("", "(null)")]
    times = [options["SuspendTime"], *(p.suspend_time_s for p in partitions)]
    saves = any(time is not None and time >= 0 for time in times)
    if lacking or not saves:
        _warn_of_cloud_nodes(table, report)
    if lacking and saves:
        report.note(place("SuspendTime"), "SuspendTime", str(options["SuspendTime"]),
                    f"without effect without {' and '.join(lacking)}, as in real Slurm")  # fmt: skip


def power_actions(conf: Iterable[ConfLine]) -> tuple[PowerAction, ...]:
    """Return what the lines PowerAction say; one without a program or a place was reported, and is none."""
    found = []
    for line in conf:
        if line.pairs[0].key.lower() != "poweraction":
            continue
        given = {pair.key.lower(): pair.value for pair in line.pairs}
        words = tuple(given.get("program", "").split())
        if words and given.get("location", "").lower() in ("slurmctld", "slurmd"):
            found.append(PowerAction(line.pairs[0].value, words, given["location"].lower() == "slurmd"))
    return tuple(found)


def _warn_of_cloud_nodes(table: NodeTable, report: Report) -> None:
    """Say once of each line that its State=CLOUD has no effect."""
    places = {table.attributes[name].place_of("state"): None for name, spec in table.nodes.items()
              if spec.state == "CLOUD"}  # fmt: skip
    for place in places:
        report.warning(place, "State", "CLOUD", "the nodes are up from the start: nothing boots them without "
                       "SuspendProgram, ResumeProgram and SuspendTime")  # fmt: skip
