"""Users of a cluster are who they are: each has a uid of its own, whatever it is called, and keeps it.

Row "simulated users" of docs/security.md.
"""

from __future__ import annotations

import os
import pwd
import signal
import zlib
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from as_another import as_another, refusal
from asking import ask, opened

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.live import daemon
from slurmsim.live.settings import Settings
from slurmsim.protocol import Client, Refusal
from slurmsim.slurmctld.base.people import FIRST_SIMULATED, FURTHER, N_SIMULATED, People, Person
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.history import History
from slurmsim.slurmctld.history.state_folder import holder
from slurmsim.slurmctld.server import connections

PAIR = ("student110", "student159")  # their checksums leave the same rest: they shared a uid


def test_those_names_did_share_one() -> None:
    one, other = (zlib.crc32(name.encode()) % 5_000 for name in PAIR)
    assert one == other


def test_nobody_cancels_the_job_of_another() -> None:
    with slurmsim.cluster(nodes=2, frozen=True) as c:
        for user in PAIR:
            c.run(["sbatch", "--wrap", "sleep 60"], user=user, check=True)
        shown = c.run(["squeue", "-h", "-o", "%i %u %U"]).stdout.split("\n")
        assert len({line.split()[2] for line in shown if line}) == 2
        refused = c.run(["scancel", "1"], user=PAIR[1])
        assert "Access/permission denied" in refused.stderr and c.job(1).state != "CANCELLED"
        assert c.run(["squeue", "-h", "-u", PAIR[1], "-o", "%i"]).stdout.split() == ["2"]
        c.step(5)  # slurmctld has told slurmdbd of the jobs
        assert c.run(["sacct", "-X", "-n", "-u", PAIR[0], "-o", "jobid"]).stdout.split() == ["1"]
        c.run(["scancel", "1"], user=PAIR[0], check=True)


def test_a_thousand_users_have_a_thousand_uids() -> None:
    people = People({"given": "60007", "phys": "2001:phys:60008"})
    found = {people.by_name(f"student{k}").uid for k in range(1_000)}
    machine = {entry.pw_uid for entry in pwd.getpwall()}
    assert len(found) == 1_000 and not found & {60_007, 60_008} and not found & machine
    assert found <= set(range(FIRST_SIMULATED, FIRST_SIMULATED + N_SIMULATED))
    assert {person.gid for person in people.new} == found


def test_there_are_more_than_five_thousand() -> None:
    people = People({})
    found = [people.by_name(f"u{k}").uid for k in range(N_SIMULATED + 100)]
    assert len(set(found)) == len(found) and max(found) >= FURTHER


def test_a_peers_uid_is_given_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    people = People({})
    wanted = FIRST_SIMULATED + zlib.crc32(b"zoe") % N_SIMULATED
    people.peer(wanted)
    assert people.by_name("zoe").uid != wanted and people.by_uid(wanted).name == str(wanted)


def test_a_peer_with_the_uid_of_a_simulated_user_is_not_that_user(place: Path) -> None:
    with slurmsim.cluster(nodes=1, frozen=True, folder=place / "c") as c:
        c.run(["sbatch", "--wrap", "sleep 60"], user="zoe", check=True)
        zoe = int(c.run(["squeue", "-h", "-o", "%U"]).stdout)
        opened(c.folder)
        said = as_another(lambda: refusal(lambda: ask(c.folder, "kill", job_id="1")), zoe)
        assert "is the uid of the simulated user zoe here" in said
        assert c.run(["squeue", "-h", "-o", "%i"]).stdout == "1\n"


def test_strangers_make_no_users_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in refused requests are not kept: who may connect would fill the cluster's state with them."""
    monkeypatch.setattr(connections, "_peer", lambda _: uids[0])
    uids = [os.getuid()]
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        uids[0] = 4242
        for user, call, arguments in (("mallory1", "ping", {}), (None, "crontab", {"user": "mallory2"}),
                                      (None, "submit", {"job": {"name": "j", "user_name": "mallory3"}})):  # fmt: skip
            client = Client(str(c.folder), user)
            with pytest.raises(Refusal):
                client.call(call, **arguments)
            client.close()
        uids[0] = os.getuid()
        c.stop()
        assert b"mallory" not in (c.folder / "journal").read_bytes()
        c.start()


def uids_of(folder: Path, names: tuple[str, ...]) -> Mapping[str, int]:
    """Who has which uid, in an order that a fresh cluster would give others in."""
    return {name: int(Client(str(folder), name).call("ping")["uid"]) for name in reversed(names)}


@pytest.mark.parametrize("how", ["stopped", "killed", "snapshot"])
def test_they_keep_it(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those who only looked, and whatever the order in which they come back."""
    names = (*PAIR, "student74", "student182", "zoe")
    folder = tmp_path / "c"
    daemon.start(folder, daemon.prepare(folder, Settings(mode="frozen")))
    before = {name: int(Client(str(folder), name).call("ping")["uid"]) for name in names}
    assert len(set(before.values())) == len(names)
    job = {"name": "j", "script": "#!/bin/sh\nsleep 60\n", "work_dir": "/", "environment": {"A": "b"}}
    Client(str(folder), names[1]).call("submit", job=job)
    if how == "killed":
        pid = holder(folder)
        assert pid
        os.kill(pid, signal.SIGKILL)
    elif how == "stopped":
        daemon.stop(folder)
    else:
        for k in range(60):  # more entries than a clean stop leaves
            Client(str(folder), names[0]).call("submit", job={**job, "name": f"j{k}"})
        daemon.stop(folder)
        assert list(folder.glob("snapshot-*"))
    daemon.start(folder, daemon.prepare(folder, Settings()))
    try:
        assert uids_of(folder, names) == before
        with pytest.raises(Refusal, match="Access/permission denied"):
            Client(str(folder), names[0]).call("kill", job_id="1")
        Client(str(folder), names[1]).call("kill", job_id="1")
    finally:
        daemon.stop(folder)


def test_those_who_shared_one_are_parted() -> None:
    """A cluster of 0.6.0 goes on: the first keeps the uid, others get one."""
    people = People({"ann": "2001"})
    shared = people.bound(PAIR[0], 60_017)
    assert people.bound(PAIR[1], 60_017).uid == shared.uid  # as it was recorded then
    people.bound("root", 0)
    people.bound("4711", 4711)
    changed = people.parted()
    ((before, now),) = changed.items()
    assert (before.name, before.uid, now.name) == (PAIR[1], 60_017, PAIR[1]) and now.uid != 60_017
    assert people.by_uid(60_017) == shared and people.by_name(PAIR[1]) == now and people.parted() == {}
    assert people.new == [now]


def test_a_cluster_of_an_earlier_release_goes_on(tmp_path: Path) -> None:
    """Its journal has two users with one uid, one of which cancelled the other's job: that has happened."""
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=c\nSlurmctldHost=h\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    header = new_header(start=1_767_600_000, mode="frozen", rate=1.0, conf="slurm.conf")
    made = History(tmp_path, header)
    whole = dict(made.header)
    job = {"name": "j", "script": "#!/bin/sh\nsleep 900\n", "work_dir": "/", "environment": {"A": "b"}}
    entries = [
        [1_767_600_000, "submit", 60_017, PAIR[0], {"job": job}],
        [1_767_600_001, "submit", 60_017, PAIR[1], {"job": job}],
        [1_767_600_002, "submit", 60_017, PAIR[0], {"job": job}],
        [1_767_600_003, "kill", 60_017, PAIR[1], {"job_id": "1"}],
    ]
    made.journal.begin(whole, 0, b"\n".join(map(made.journal.text, entries)))
    made.close()
    seen = []
    for _ in range(2):
        again = History(tmp_path, None)
        jobs = {live.id: live for live in again.restored.engine.jobs.values()}
        seen.append({number: (live.person.name, live.person.uid) for number, live in jobs.items()})
        again.close()
    assert seen[0] == seen[1] and seen[0][1] == seen[0][3] == (PAIR[0], 60_017)
    assert seen[0][2][0] == PAIR[1] and seen[0][2][1] != 60_017
    assert str(jobs[1].core.state) == "CANCELLED" and str(jobs[3].core.state) == "PENDING"
    assert (tmp_path / "journal").read_bytes().count(b',"met",') == 1


def test_what_the_journal_says_holds() -> None:
    people = People({})
    mine = people.by_name("zoe")
    assert people.met("zoe", mine.uid) == {} and people.new == []
    assert people.met("zoe", 61_234) == {mine: Person("zoe", 61_234, "zoe", 61_234, "/home/zoe")}
    assert people.met("yan", 61_235) == {} and people.by_name("yan").uid == 61_235


def test_two_users_with_one_uid_are_refused() -> None:
    with pytest.raises(ConfigError, match="ann and ben have one uid"):
        Settings(users={"ann": "2001", "ben": "2001:phys"})


def test_names_of_all_kinds_are_different_people() -> None:
    names = ["é", "e\u0301", "É", "0", "60000", "a b", "x" * 900, "\udcff"]
    people = People({})
    for one, other in combinations(names, 2):
        assert people.by_name(one).uid != people.by_name(other).uid
