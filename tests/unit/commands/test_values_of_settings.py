"""Values that sacctmgr cannot read, as real 22.05, 24.11 and 26.05 answered."""

from pathlib import Path

import pytest
from engine_client import Cluster

NOTHING = " You didn't give me anything to set\n"
DONE = " Modified qos...\n  high\n"
UNKNOWN = "Use keyword 'where' to modify condition\n"
OLD_FLAGS = ("DenyOnLimit,EnforceUsageThreshold,NoReserve,PartitionMaxNodes,PartitionMinNodes,OverPartQOS,"
             "PartitionTimeLimit,RequiresReservation,NoDecay,")  # fmt: skip
NEW_FLAGS = ("DenyOnLimit,EnforceUsageThreshold,PartitionMinNodes,PartitionMaxNodes,PartitionTimeLimit,"
             "RequiresReservation,OverPartQOS,NoReserve,NoDecay,Relative,UsageFactorSafe")  # fmt: skip


def cluster_of(folder: Path, release: str) -> Cluster:
    cluster = Cluster(folder, release=release)
    for words in ("add account chem", "add qos high"):
        assert cluster.run(f"sacctmgr -i {words}")[0] == 0
    return cluster


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("priority=x", "Priority (x)"),
        ("gracetime=x", "GraceTime (x)"),
        ("maxjobsperuser=x", "MaxJobsPU (x)"),
        ("maxsubmitjobsperuser=x", "MaxSubmitJobsPU (x)"),
        ("maxjobspa=x", "MaxJobsPA (x)"),
        ("maxjobsaccruepu=x", "MaxJobsAccruePU (x)"),
        ("grpsubmitjobs=x", "GrpSubmitJobs (x)"),
        ("minprio=x", "MinPrioThresh (x)"),
    ],
)
@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_number_that_is_none_sets_nothing(release: str, setting: str, told: str, tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, release)
    note = f"sacctmgr: error: Invalid value for {told}\n"
    assert cluster.run(f"sacctmgr -i modify qos high set {setting}") == (1, "", note + NOTHING)
    assert cluster.run(f"sacctmgr -i modify qos high set {setting} maxwall=5") == (0, DONE, note)


@pytest.mark.parametrize(
    ("release", "flags"),
    [("22.05", f"{OLD_FLAGS}UsageFactorSafe"), ("24.11", f"{OLD_FLAGS}Relative,UsageFactorSafe"), ("26.05", NEW_FLAGS)],
)
def test_flags_that_are_none_are_listed(release: str, flags: str, tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, release)
    for value in ("nothing", ""):
        text = f" Unknown QOS flag used in:\n  '{value}'\n Valid QOS flags are\n  '{flags}'\n"
        assert cluster.run(f"sacctmgr -i modify qos high set flags={value}") == (1, "", text)
    code, out, _ = cluster.run("sacctmgr -i modify qos high set flags=nothing,denyonlimit")
    assert (code, out) == ((1, "") if release == "26.05" else (0, DONE))
    cluster.run("sacctmgr -i modify qos high set flags=overpartqos,nodecay,noreserve,partitionminnodes")
    shown = cluster.text("sacctmgr -n -P show qos high format=flags")
    assert shown.strip() == ",".join(
        f for f in flags.split(",") if f in ("OverPartQOS", "NoDecay", "NoReserve", "PartitionMinNodes")
    )


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_amounts_of_tres_have_no_such_unit(release: str, tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, release)

    def after(setting: str) -> tuple[int, str, str]:
        code, _, err = cluster.run(f"sacctmgr -i modify qos high set grptres={setting}")
        return code, cluster.text("sacctmgr -n -P show qos high format=grptres").strip(), err

    note = "sacctmgr: error: Invalid unit type '{}'. Possible options are 'KMGTP'\n".format
    assert after("cpu=x") == (0, "cpu=0", note("x"))
    assert after("cpu=5x") == (0, "cpu=5", note("x"))
    assert after("cpu=5.5,node=3xyz") == (0, "cpu=5,node=3", note(".") + note("x"))
    assert after("cpu=5k") == (0, "cpu=5120,node=3", "")
    assert after("cpu=") == (0, "cpu=0,node=3", "")
    assert after("cpu") == (1, "cpu=0,node=3", "sacctmgr: error: slurmdb_format_tres_str: no TRES id found for cpu\n")
    assert after("5")[2] == "sacctmgr: error: slurmdb_format_tres_str: no value given as TRES type/id.\n"


def test_numbers_are_read_to_their_end_by_newer_releases(tmp_path: Path) -> None:
    for release in ("24.11", "26.05"):
        (tmp_path / release).mkdir()
        cluster, strict = cluster_of(tmp_path / release, release), release == "26.05"
        for setting, told in (
            ("priority=5x", "Invalid value for Priority (5x)"), ("gracetime=5x", "Invalid value for GraceTime (5x)"),
            ("usagefactor=1x", "UsageFactor value (1x) is not a valid number"),
        ):  # fmt: skip
            wanted = (1, "", f"sacctmgr: error: {told}\n{NOTHING}") if strict else (0, DONE, "")
            assert cluster.run(f"sacctmgr -i modify qos high set {setting}") == wanted
        code, _, err = cluster.run("sacctmgr -i modify account chem set maxjobs=5x")
        assert (code, err.splitlines()[:1]) == (
            (1, ["sacctmgr: error: Invalid value for MaxJobs (5x)"]) if strict else (0, [])
        )
        assert cluster.run("sacctmgr -i modify qos high set usagefactor=")[0] == 0
        assert cluster.text("sacctmgr -n -P show qos high format=usagefactor").strip() == "0.000000"


def test_a_factor_that_is_none(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, "24.11")
    for name in ("UsageFactor", "LimitFactor"):
        assert cluster.run(f"sacctmgr -i modify qos high set {name.lower()}=x") == (
            1, "", f"sacctmgr: error: Invalid value for {name} (x)\n{NOTHING}"
        )  # fmt: skip


def test_a_mode_that_is_none_is_told_as_it_was_written(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, "26.05")
    told = " Bad Preempt Mode given: preemptmode=cancel,x\n"
    assert cluster.run("sacctmgr -i modify qos high set preemptmode=cancel,x") == (1, "", told)
