"""Names of the reasons accounting limits give, as squeue prints them (job_reason_string, 22.05).

A TRES limit names the family of the first TRES that breaks it; the spellings of CPU, memory and node are irregular.
"""

from __future__ import annotations

from typing import Final

# by kind of limit: the names for cpu, mem, node, and the pattern of all others; "" falls back to Unknown
_KINDS: Final[dict[str, tuple[str, str, str, str]]] = {
    "AssocGrp": ("AssocGrpCpuLimit", "AssocGrpMemLimit", "AssocGrpNodeLimit", "AssocGrp{}"),
    "AssocGrpMinutes": ("AssocGrpCPUMinutesLimit", "AssocGrpMemMinutes", "AssocGrpNodeMinutes", "AssocGrp{}Minutes"),
    "AssocGrpRunMinutes": (
        "AssocGrpCPURunMinutesLimit", "AssocGrpMemRunMinutes", "AssocGrpNodeRunMinutes", "AssocGrp{}RunMinutes",
    ),
    "AssocMaxPerJob": (
        "AssocMaxCpuPerJobLimit", "AssocMaxMemPerJob", "AssocMaxNodePerJobLimit", "AssocMax{}PerJob",
    ),
    "AssocMaxMinutesPerJob": (
        "AssocMaxCpuMinutesPerJobLimit", "AssocMaxMemMinutesPerJob", "AssocMaxNodeMinutesPerJob",
        "AssocMax{}MinutesPerJob",
    ),
    "AssocMaxPerNode": ("AssocMaxCpuPerNode", "AssocMaxMemPerNode", "", "AssocMax{}PerNode"),
    "QOSGrp": ("QOSGrpCpuLimit", "QOSGrpMemLimit", "QOSGrpNodeLimit", "QOSGrp{}"),
    "QOSGrpMinutes": ("QOSGrpCPUMinutesLimit", "QOSGrpMemoryMinutes", "QOSGrpNodeMinutes", "QOSGrp{}Minutes"),
    "QOSGrpRunMinutes": (
        "QOSGrpCPURunMinutesLimit", "QOSGrpMemoryRunMinutes", "QOSGrpNodeRunMinutes", "QOSGrp{}RunMinutes",
    ),
    "QOSMaxPerJob": ("QOSMaxCpuPerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxNodePerJobLimit", "QOSMax{}PerJob"),
    "QOSMaxMinutesPerJob": (
        "QOSMaxCpuMinutesPerJobLimit", "QOSMaxMemoryMinutesPerJob", "QOSMaxNodeMinutesPerJob",
        "QOSMax{}MinutesPerJob",
    ),
    "QOSMaxPerNode": ("QOSMaxCpuPerNode", "QOSMaxMemoryPerNode", "", "QOSMax{}PerNode"),
    "QOSMaxPerUser": (
        "QOSMaxCpuPerUserLimit", "QOSMaxMemoryPerUser", "QOSMaxNodePerUserLimit", "QOSMax{}PerUser",
    ),
    "MaxPerAccount": ("MaxCpuPerAccount", "MaxMemoryPerAccount", "MaxNodePerAccount", "Max{}PerAccount"),
    "MaxRunMinsPerUser": (
        "MaxCpuRunMinsPerUser", "MaxMemoryRunMinsPerUser", "MaxNodeRunMinsPerUser", "Max{}RunMinsPerUser",
    ),
    "MaxRunMinsPerAccount": (
        "MaxCpuRunMinsPerAccount", "MaxMemoryRunMinsPerAccount", "MaxNodeRunMinsPerAccount",
        "Max{}RunMinsPerAccount",
    ),
    "QOSMin": ("QOSMinCpuNotSatisfied", "QOSMinMemory", "QOSMinNode", "QOSMin{}"),
}  # fmt: skip
_FAMILIES: Final = {"energy": "Energy", "billing": "Billing", "gres": "GRES", "license": "License", "bb": "BB"}
_NOT_PER_NODE: Final = ("License",)


def tres_reason(kind: str, tres: str) -> str:
    """Return the reason of limit `kind` (``QOSGrp``, ``AssocMaxPerJob`` …) broken by `tres`.

    Examples
    --------
    >>> tres_reason("QOSMaxPerUser", "cpu"), tres_reason("AssocGrp", "gres/gpu")
    ('QOSMaxCpuPerUserLimit', 'AssocGrpGRES')
    """
    *special, pattern = _KINDS[kind]
    if tres in ("cpu", "mem", "node"):
        return special[("cpu", "mem", "node").index(tres)] or pattern.format("Unknown")
    family = _FAMILIES.get(tres.partition("/")[0], "Unknown")
    if kind.endswith("PerNode") and family in _NOT_PER_NODE:
        family = "Unknown"
    if kind == "QOSMaxMinutesPerJob" and family == "BB":
        return "AssocMaxBBMinutesPerJob"  # slurmctld's own slip
    return pattern.format(family)


def _all() -> frozenset[str]:
    """Return every reason a limit can give."""
    probes = ("cpu", "mem", "node", "energy", "billing", "gres/x", "license/x", "bb/x", "other")
    found = {tres_reason(kind, tres) for kind in _KINDS for tres in probes}
    return frozenset(found | _PLAIN)


_PLAIN: Final = frozenset({
    "AssocGrpJobsLimit", "AssocGrpSubmitJobsLimit", "AssocGrpWallLimit", "AssocMaxJobsLimit",
    "AssocMaxSubmitJobLimit", "AssocMaxWallDurationPerJobLimit", "QOSGrpJobsLimit", "QOSGrpSubmitJobsLimit",
    "QOSGrpWallLimit", "QOSMaxJobsPerUserLimit", "QOSMaxSubmitJobPerUserLimit", "QOSMaxWallDurationPerJobLimit",
    "MaxJobsPerAccount", "MaxSubmitJobsPerAccount",
})  # fmt: skip
LIMIT_REASONS: Final = _all()  # every reason a limit can give
