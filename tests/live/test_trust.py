"""Whom a daemon trusts: a folder nobody else could have put anything into, and the user at the end of a socket."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.errors import ConfigError, OutputError
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import SOCKET, Client, Refusal
from slurmsim.slurmctld.history.state_folder import StateFolder
from slurmsim.slurmctld.server import connections

STRANGER = 4242


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a cluster there has been."""
    found = tmp_path / "c"
    old = os.umask(0)  # the most careless of users
    try:
        with slurmsim.cluster(nodes=1, frozen=True, folder=found) as c:
            c.run(["sbatch", "-o", "/dev/null", "--wrap", "true"], check=True)
    finally:
        os.umask(old)
    return found


def refusal(folder: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        StateFolder.take(folder)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_folder_that_was_made_here(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    StateFolder.take(folder).close()
    folder.chmod(0o755)  # whoever lets others look
    StateFolder.take(folder).close()


def test_a_folder_of_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    before = sorted(os.listdir(folder))
    assert f"{folder}: it belongs to " in refusal(folder) and f"not to uid {STRANGER}" in refusal(folder)
    assert sorted(os.listdir(folder)) == before


def test_a_folder_others_may_write_to(folder: Path) -> None:
    folder.chmod(0o1777)
    assert refusal(folder) == f"{folder}: others may write to it (mode 1777) (expected chmod go-w)"
    empty = folder.parent / "empty"
    empty.mkdir()
    empty.chmod(0o770)
    refusal(empty)
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("name", ["journal", "slurm.conf", "calls", "jobs", "bin", "log", "lock", "var", "bin/sbatch"])
def test_links_are_not_followed(folder: Path, name: str) -> None:
    target, path = folder.parent / "target", folder / name
    target.write_text("precious")
    if path.is_dir():
        path.rename(folder.parent / "aside")
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    if name == "lock":
        with pytest.raises(OutputError, match="lock: "):
            StateFolder.take(folder)
    else:
        assert refusal(folder) == f"{path}: it is a link (expected a file or a folder)"
    assert target.read_text() == "precious"


def test_what_others_could_have_written(folder: Path) -> None:
    (folder / "slurm.conf").chmod(0o666)
    StateFolder.take(folder).close()  # nobody else gets there
    folder.chmod(0o711)
    assert refusal(folder) == f"{folder / 'slurm.conf'}: others may write to it (mode 0666) (expected chmod go-w)"
    (folder / "slurm.conf").chmod(0o644)
    (folder / "spool" / "n1").mkdir(parents=True)
    (folder / "spool" / "n1").chmod(0o777)
    assert str(folder / "spool" / "n1") in refusal(folder)


def test_what_the_configuration_includes(tmp_path: Path) -> None:
    """A folder of included files is the owner's like the rest, at a start and when they are read again."""
    (tmp_path / "parts" / "more").mkdir(parents=True)
    (tmp_path / "parts" / "more" / "nodes.conf").write_text("NodeName=n1\n")
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=c\nSlurmctldHost=h\nInclude parts/more/nodes.conf\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True, folder=tmp_path / "c") as c:
        c.folder.chmod(0o755)
        assert c.run(["scontrol", "reconfigure"]).returncode == 0
        inner = c.folder / "parts" / "more"
        inner.chmod(0o777)
        assert "others may write to it" in c.run(["scontrol", "reconfigure"]).stderr
        c.stop()
        with pytest.raises((ConfigError, OutputError), match=f"{inner}: others may write to it"):
            c.start()
        inner.chmod(0o755)
        (inner / "nodes.conf").chmod(0o666)
        with pytest.raises((ConfigError, OutputError), match=r"nodes\.conf: others may write to it"):
            c.start()
        (inner / "nodes.conf").chmod(0o644)
        c.start()


def test_what_is_not_ours_does_not_matter(folder: Path) -> None:
    (folder / "results").symlink_to("/tmp")
    StateFolder.take(folder).close()


def test_a_copy_of_anothers_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as m:
        m.setattr(os, "getuid", lambda: STRANGER)
        m.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid)
        with pytest.raises(OutputError, match=f"made by uid {STRANGER}"):
            slurmsim.cluster(nodes=1, frozen=True, folder=tmp_path / "c").__enter__()


# -- peers ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster that runs jobs, and takes whoever calls for `STRANGER` once `peer` says so."""
    monkeypatch.setattr(connections, "_peer", lambda _: PEER[0])
    PEER[0] = os.getuid()
    with slurmsim.cluster(nodes=1, jobs="run", folder=tmp_path / "c") as c:
        yield c
        PEER[0] = os.getuid()


PEER = [0]


def ask(
    c: Cluster, name: str, user: str | None = None, *, peer: int = STRANGER, **arguments: object
) -> dict[str, object]:  # fmt: skip
    """One call of a peer with that uid."""
    PEER[0] = peer
    client = Client(str(c.folder), user, 30.0)
    try:
        return client.call(name, **arguments)
    finally:
        client.close()
        PEER[0] = os.getuid()


def job(script: str, **more: object) -> dict[str, object]:
    return {"name": "j", "script": script, "work_dir": "/", "std_out": "/dev/null", **more}


def test_the_socket_is_the_owners(cluster: Cluster) -> None:
    assert stat.S_IMODE((cluster.folder / SOCKET).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("calls", {}),
        ("down", {}),
        ("clock", {"action": "freeze"}),
        ("clock", {"action": "step", "seconds": 3600}),
        ("last_id", {"id": 7}),
        ("node_action", {"action": "fail", "nodes": "n1"}),
        ("update_node", {"names": "n1", "state": "DRAIN", "reason": "x"}),
        ("kill", {"job_id": "1"}),
        ("ended", {"core_id": 1, "restarts": 0, "status": 0}),
        ("complete_job", {"job_id": 1, "status": 0}),
        ("allocation", {"job_id": 1}),
        ("wait_allocation", {"job_id": 1, "hold": True}),
        ("wait_mail", {"job_id": 1, "after": 0, "hold": True}),
        ("step_create", {"step": {"job_id": 1, "num_tasks": 1, "cpu_count": 1}}),
        ("batch_script", {"job_id": 1}),
        ("snapshot", {"path": "/nowhere/file"}),
        ("inject", {"what": "timeout", "given": {}}),
    ],
)
def test_strangers_get_what_slurm_would_give_them(cluster: Cluster, call: str, arguments: dict[str, object]) -> None:
    mine = ask(cluster, "submit", peer=os.getuid(), job=job("#!/bin/sh\n#SLURMSIM runtime=600\n"))
    assert mine == {"job_id": 1}
    with pytest.raises(Refusal) as refused:
        ask(cluster, call, **arguments)
    assert refused.value.text in ("Access/permission denied", "Invalid user id"), refused.value.text
    assert [one.state for one in cluster.jobs()] in (["RUNNING"], ["PENDING"])


def test_strangers_are_nobody_else(cluster: Cluster) -> None:
    for user in ("root", "alice", os.environ.get("USER", "root")):
        for call in ("ping", "submit", "log_call"):
            with pytest.raises(Refusal, match="Access/permission denied"):
                ask(cluster, call, user, job=job("#!/bin/sh\n#SLURMSIM runtime=1\n"), argv=["squeue"])
    with pytest.raises(Refusal, match="Access/permission denied"):
        ask(cluster, "submit", job=job("#!/bin/sh\n#SLURMSIM runtime=1\n", user_name="root"))
    assert ask(cluster, "ping")["uid"] == STRANGER
    ask(cluster, "log_call", argv=["squeue"], rc=0)
    assert [one.user for one in cluster.calls()] == [str(STRANGER)]


def test_scripts_of_strangers_do_not_run(cluster: Cluster, tmp_path: Path) -> None:
    script = f"#!/bin/sh\nid > {tmp_path / 'ran'}\n"
    with pytest.raises(Refusal, match=r"Access/permission denied: scripts run as .* here, and not as"):
        ask(cluster, "submit", job=job(script))
    with pytest.raises(Refusal, match="Access/permission denied: scripts run as"):
        ask(cluster, "submit", job=job(script, array_inx="1-3"))
    with pytest.raises(Refusal, match="Access/permission denied: scripts run as"):
        entry = {"job": job(script), "spec": "* * * * *", "first": 1, "last": 1}
        ask(cluster, "update_crontab", crontab="* * * * * id\n", jobs=[entry])
    assert ask(cluster, "submit", job=job("#!/bin/sh\n#SLURMSIM runtime=600\n")) == {"job_id": 1}  # seems to run
    assert ask(cluster, "submit", job=job(script), will_run=True)
    (row,) = cluster.jobs()
    assert (row.user, (tmp_path / "ran").exists()) == (str(STRANGER), False)
    ask(cluster, "kill", job_id="1")
    assert ask(cluster, "submit", "alice", peer=os.getuid(), job=job(script))  # played by the owner: it is his
    cluster.until_idle()
    assert (tmp_path / "ran").exists()


def test_whoever_looks_on_does_not_hold_a_job(cluster: Cluster) -> None:
    ask(cluster, "submit", peer=os.getuid(), job=job("#!/bin/sh\n#SLURMSIM runtime=600\n"))
    PEER[0] = STRANGER
    client = Client(str(cluster.folder), None, 30.0)
    client.post("wait_over", job_id=1, hold=True)
    cluster.run("sleep 0.5")
    client.close()
    PEER[0] = os.getuid()
    cluster.run("sleep 1.5")
    assert cluster.job(1).state in ("RUNNING", "PENDING")


def test_scripts_and_environments_are_the_owners_to_read(tmp_path: Path) -> None:
    """Also where the folder has been opened, so that others can connect."""
    with slurmsim.cluster(nodes=1, folder=tmp_path / "c", jobs="run") as c:
        c.run("sbatch --wrap 'sleep 30'", env={"SECRET": "no word"}, check=True)
        last = time.monotonic() + 20
        while c.job(1).state != "RUNNING" and time.monotonic() < last:
            time.sleep(0.05)
        c.folder.chmod(0o711)
        c.snapshot(tmp_path / "file")
        found = [path for path in (*c.folder.rglob("*"), tmp_path / "file") if path.is_file()]
        secret = [path for path in found if b"no word" in path.read_bytes()]
        assert secret
        for path in secret:
            above = [one for one in path.parents if c.folder in one.parents]
            assert not path.stat().st_mode & 0o077 or any(not one.stat().st_mode & 0o011 for one in above), path
