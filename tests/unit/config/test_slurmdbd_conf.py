"""slurmdbd.conf beside slurm.conf: what is read of it, said of it, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from unit.commands.engine_client import CONF, Cluster

from slurmsim.config.load import examine
from slurmsim.live.settings import copy_conf
from slurmsim.purge_age import ARCHIVE, DAYS, HOURS, MONTHS, parse_purge, text_of

_PLAIN = "StorageType=accounting_storage/mysql\nStoragePass=secret\n"


def _database(tmp_path: Path, text: str, release: str = "26.05", *, strict: bool = False) -> Any:
    (tmp_path / "slurm.conf").write_text(CONF, "utf-8")
    (tmp_path / "slurmdbd.conf").write_text(text, "utf-8")
    return examine(tmp_path / "slurm.conf", release=release, strict=strict)


def test_values_are_typed_and_have_defaults(tmp_path: Path) -> None:
    found = _database(
        tmp_path, _PLAIN + "purgejobafter=2days\nArchiveJobs=yes\nMaxQueryTimeRange=60-0\nPurgeStepMonths=3\n"
    )
    assert found.cluster is not None
    conf = found.cluster.database
    assert conf is not None
    assert conf["PurgeJobAfter"] == 2 | DAYS | ARCHIVE
    assert (conf["PurgeStepAfter"], conf["PurgeUsageAfter"]) == (3 | MONTHS, None)
    assert (conf["MaxQueryTimeRange"], conf["ArchiveDir"], conf["TrackWCKey"]) == (60 * 86400, "/tmp", False)
    assert "StoragePass" not in conf


def test_without_the_file_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF, "utf-8")
    cluster = examine(tmp_path / "slurm.conf").cluster
    assert cluster is not None and cluster.database is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("PurgeJobAfter=soon", "Invalid purge string 'soon'"),
        ("PurgeJobAfter=3weeks", "Invalid purge unit 'weeks'"),
        ("MaxQueryTimeRange=long", "'long' is not a time"),
        ("TrackWCKey=maybe", "'maybe' is not a yes or no"),
        ("DbdPort=x", "DbdPort"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    found = _database(tmp_path, f"{_PLAIN}{line}\n")
    assert found.cluster is None
    assert [(one.severity, one.line) for one in found.report.findings if said in f"{one.key} {one.message}"] == [
        ("error", 3)
    ]


def test_what_is_not_modelled_is_named(tmp_path: Path) -> None:
    found = _database(tmp_path, _PLAIN + "ArchiveScript=/bin/true\nAllowNoDefAcct=no\nPurgeJobEnvAfter=1month\n")
    assert [one.key for one in found.report.findings if one.severity == "warning"] == [
        "ArchiveScript",
        "PurgeJobEnvAfter",
    ]


def test_keys_that_the_release_does_not_know(tmp_path: Path) -> None:
    text = _PLAIN + "DisableRollups=yes\n"
    assert _database(tmp_path, text, "26.05").cluster.database["DisableRollups"] is True
    assert _database(tmp_path, text, "24.11", strict=True).cluster is None
    assert "DisableRollups" not in _database(tmp_path, text, "24.11").cluster.database


def test_a_copy_has_no_password(tmp_path: Path) -> None:
    _database(tmp_path, _PLAIN + "  storagepass = other\nTrackWCKey=yes\n")
    (tmp_path / "copy").mkdir()
    copy_conf(tmp_path / "slurm.conf", tmp_path / "copy")
    text = (tmp_path / "copy" / "slurmdbd.conf").read_text("utf-8")
    assert text == "StorageType=accounting_storage/mysql\nTrackWCKey=yes\n"


def test_ages_are_shown_as_slurm_does() -> None:
    assert [text_of(age) for age in (None, parse_purge("3"), parse_purge("3h"), 5 | HOURS | ARCHIVE)] == [
        "NONE", "3 months", "3 hours", "5 hours*",
    ]  # fmt: skip


def test_show_config_has_what_the_file_says(tmp_path: Path) -> None:
    text = (
        "PurgeJobAfter=2days\nArchiveJobs=yes\nTrackWCKey=yes\nPrivateData=jobs\nMaxQueryTimeRange=60-0\n"
        "Parameters=PreserveCaseUser\nDefaultQOS=normal\n"
    )
    (tmp_path / "slurmdbd.conf").write_text(_PLAIN + text, "utf-8")
    for release, yes, private in (("22.05", "Yes", "jobs"), ("24.11", "yes", "jobs"), ("26.05", "yes", "none")):
        live = Cluster(tmp_path, release=release)
        text = live.text("sacctmgr show config").partition("SlurmDBD configuration:\n")[2]
        shown = {line.split("=")[0].strip(): line.split("=", 1)[1].strip() for line in text.splitlines() if "=" in line}
        assert shown["PurgeJobAfter"] == "2 days*"
        assert (shown["TrackWCKey"], shown["ArchiveJobs"], shown["PrivateData"]) == (yes, yes, private)
        assert (shown["MaxQueryTimeRange"], shown["DefaultQOS"]) == ("60-00:00:00", "normal")


def test_the_database_hides_by_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "slurmdbd.conf").write_text(_PLAIN + "PrivateData=jobs\n", "utf-8")
    live = Cluster(tmp_path, CONF + "PrivateData=accounts\n", release="26.05", accounting=_ACCOUNTS)
    live.submit("alice")
    live.submit("bob")
    assert live.text("sacct -a -X -n -P -o user", "alice").split() == ["alice"]
    assert sorted(live.text("squeue -h -o %u", "alice").split()) == ["alice", "bob"]
    assert "physics" in live.text("sacctmgr -n -P show account format=account", "alice")


def test_coordinators_have_no_rights_where_they_are_disabled(tmp_path: Path) -> None:
    for disabled, code in (("no", 0), ("yes", 1)):
        folder = tmp_path / disabled
        folder.mkdir()
        (folder / "slurmdbd.conf").write_text(f"{_PLAIN}DisableCoordDBD={disabled}\n", "utf-8")
        live = Cluster(folder, release="26.05", accounting=_ACCOUNTS)
        live.run("sacctmgr -i add coordinator account=physics names=alice")
        assert live.run("sacctmgr -i modify user bob where account=physics set fairshare=3", "alice")[0] == code


def test_a_new_database_has_the_qos_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "slurmdbd.conf").write_text(_PLAIN + "DefaultQOS=Short,long\n", "utf-8")
    live = Cluster(tmp_path, release="26.05")
    assert live.text("sacctmgr -n -P show qos format=name,id").split() == ["short|1", "long|2"]
    assert live.text("sacctmgr -n -P show assoc format=account,qos").split()[0] == "root|long,short"


def test_resources_are_counted_and_keep_their_case(tmp_path: Path) -> None:
    (tmp_path / "slurmdbd.conf").write_text(
        _PLAIN + "AllResourcesAbsolute=yes\nParameters=PreserveCaseResource\n", "utf-8"
    )
    for release, name in (("24.11", "lic1"), ("26.05", "LiC1")):
        live = Cluster(tmp_path, release=release)
        assert live.run("sacctmgr -i add resource LiC1 count=20 server=s servertype=t type=license")[0] == 0
        assert live.text("sacctmgr -n -P show resource format=name,flags") == f"{name}|Absolute\n"
        assert live.run("sacctmgr -i modify resource where name=LIC1 set count=30")[0] == 0
        assert live.text("sacctmgr -n -P show resource format=count") == "30\n"


_ACCOUNTS = """\
add account physics
add user alice account=physics
add user bob account=physics
"""
