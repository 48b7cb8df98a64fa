"""``sacctmgr archive``: what goes, what comes back, and what is said, as slurmdbd of three releases had it.

The recordings are of a slurmdbd.conf with an age of each kind of rows: two jobs ended at 07:59 and one ran on, a node
was drained and resumed, and an hour later rows of each kind were archived and brought back. Times are left out, and
steps of srun, which simulated scripts do not start.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from golden.oracle_cluster import COMMANDS, CONF
from unit.commands.engine_client import PEOPLE, Cluster

_RECORDED = json.loads(Path(__file__).with_name("recorded_archive.json").read_text("utf-8"))
_BEGIN = 1_767_599_940  # 2026-01-05T07:59:00Z
_AN_HOUR_LATER = 1_767_603_730  # 09:02:10
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_DATABASE = """\
StorageType=accounting_storage/mysql
StorageUser=slurm
PurgeEventAfter=1month
PurgeJobAfter=2days
PurgeResvAfter=1month
PurgeStepAfter=3hours
PurgeSuspendAfter=1month
PurgeTXNAfter=1month
PurgeUsageAfter=24month
ArchiveJobs=yes
PrivateData=jobs
ArchiveDir={folder}
"""


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def _cluster(tmp_path: Path, release: str = "26.05", database: str = _DATABASE) -> Cluster:
    folder = tmp_path / "archive"
    folder.mkdir()
    (tmp_path / "slurmdbd.conf").write_text(database.format(folder=folder), "utf-8")
    return Cluster(tmp_path, CONF, accounting=COMMANDS, release=release, start=_BEGIN)


def _scene(live: Cluster) -> None:
    """Two jobs end, one runs on, a node is drained for a moment, a reservation is gone."""
    live.run("sacctmgr -i add account new")
    live.run("sacctmgr -i add user alice account=new")
    live.run("sacctmgr -i modify user bob set fairshare=11")
    live.submit("alice", 4, n_nodes=2, account="physics")
    live.submit("bob", 2)
    live.submit("bob", 7000, time_limit=120)
    _pass(live, 5)
    live.run("scontrol update nodename=n16 state=drain reason=x")
    live.run("scontrol create reservation reservationname=r1 start=now duration=1 users=alice nodes=n12")
    _pass(live, 2)
    live.run("scontrol update nodename=n16 state=resume")
    live.run("scontrol delete reservation=r1")


def _pass(live: Cluster, seconds: int) -> None:
    live.now += seconds
    live.engine.network.advance(live.now)


def _ours(live: Cluster, user: str, line: str, folder: Path) -> tuple[int, str, str]:
    """Return what a recorded line prints here, its folder being `folder`, and the archives that are there then."""
    command, _, then = line.removeprefix("mkdir /tmp/a; ").replace("/tmp/a", str(folder)).partition("; ")
    code, out, error = live.run(command, user)
    if then:
        code, out = 0, out + "".join(f"{path.name}\n" for path in sorted(folder.iterdir()))
    return code, out, error


@pytest.mark.parametrize("release", sorted(_RECORDED))
def test_rows_go_and_come_back_as_recorded(release: str, tmp_path: Path) -> None:
    live = _cluster(tmp_path, release)
    folder = tmp_path / "archive"
    _scene(live)
    wrong, later = [], False
    for is_later, user, line, rc, said, error in _RECORDED[release]:
        if "echo" in line:
            continue
        if is_later and not later:
            later, live.now = True, _AN_HOUR_LATER
            live.engine.network.advance(live.now)
        line = line.replace("SPAN", "2026-01-05T07:00:00_2026-01-05T07:59:59")
        found = _ours(live, user, line, folder)
        told = (found[0], _plain(found[1], line), found[2])
        if told != (rc, _plain(said.replace("_T_T", "_2026-01-05T07:00:00_2026-01-05T07:59:59"), line), error):
            wrong.append((line, told, (rc, said, error)))
    assert not wrong, "\n".join(map(str, wrong))


def _plain(text: str, line: str) -> str:
    text = _TIME.sub("T", text)
    if "show transactions" in line:
        return "\n".join(sorted({row for row in text.splitlines() if "Associations" in row}))
    if "show reservation" in line:  # of a reservation that is over nothing is listed here
        return text.splitlines()[0].removesuffix("|UnusedWall")
    return text


def test_the_journal_makes_the_same_rows(tmp_path: Path) -> None:
    live = _cluster(tmp_path)
    _scene(live)
    live.now = _AN_HOUR_LATER
    live.engine.network.advance(live.now)
    live.run(f"sacctmgr -i archive dump Directory={tmp_path / 'archive'} Jobs PurgeJobAfter=1hours")
    live.run(f"sacctmgr -i archive dump Directory={tmp_path / 'archive'} TXN PurgeTXNAfter=1hours")
    again = live.again()
    assert again.storage.purges.spans == live.engine.storage.purges.spans != {}
    assert [record.job_id for record in again.storage.page({"end": 1 << 40}, PEOPLE["root"], 0, None)[0]] == [3]


def test_rows_go_by_themselves_when_their_age_has_come(tmp_path: Path) -> None:
    live = _cluster(tmp_path, database="StorageType=accounting_storage/mysql\nPurgeJobAfter=1hour\n")
    _scene(live)
    ids = "sacct -a -X -n -P -o jobid -S2026-01-05"
    assert live.text(ids).split() == ["1", "2", "3"]
    live.now = _AN_HOUR_LATER - 200  # 08:58:50: what ended at 07:59 is younger than the last whole hour but one
    live.engine.network.advance(live.now)
    assert live.text(ids).split() == ["1", "2", "3"]
    live.now = _AN_HOUR_LATER
    live.engine.network.advance(live.now)
    assert live.text(ids).split() == ["3"]


def test_what_slurmdbd_disables_is_refused(tmp_path: Path) -> None:
    live = _cluster(tmp_path, database="StorageType=accounting_storage/mysql\nDisableArchiveCommands=yes\n")
    code, _, error = live.run("sacctmgr -i archive dump Jobs PurgeJobAfter=1hours")
    assert (code, error) == (
        1,
        "sacctmgr: error: Dumping archived data is disabled\n"
        " Problem dumping archive: Requested operation is presently disabled\n",
    )


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    live = _cluster(tmp_path)
    _scene(live)
    live.now = _AN_HOUR_LATER
    live.engine.network.advance(live.now)
    first = tmp_path / "archive" / "oracle_job_table_archive_2026-01-05T07:00:00_2026-01-05T07:59:59"
    first.write_text("mine", "utf-8")
    live.run(f"sacctmgr -i archive dump Directory={tmp_path / 'archive'} Jobs PurgeJobAfter=1hours")
    assert first.read_text("utf-8") == "mine"
    assert json.loads(first.with_name(first.name + ".2").read_text("utf-8"))["rows"] == 2


def test_users_may_not_ask_for_longer_than_the_database_lets_them(tmp_path: Path) -> None:
    live = _cluster(tmp_path, database="StorageType=accounting_storage/mysql\nMaxQueryTimeRange=2-0\n")
    _scene(live)
    asks = "sacct -n -P -X -o jobid -S2026-01-01 -Enow"
    assert live.run(asks, "alice")[0] == 1
    assert "Too wide of a date range in query" in live.run(asks, "alice")[2]
    assert live.run(asks)[0] == live.run(asks + " -j1", "alice")[0] == 0
    assert live.run(shlex.join(["sacct", "-n", "-S2026-01-05"]), "alice")[0] == 0
