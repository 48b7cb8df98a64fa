"""What has happened never happens again: after an upgrade, a change of the configuration, or a format of long ago."""

from __future__ import annotations

import io as streams
import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from other_release import OTHER, written_by

import slurmsim
from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.errors import InvariantError, OutputError
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.database.record_store import RecordStore
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history import journal_format1
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.history.history import History
from slurmsim.slurmctld.history.journal import Journal, read
from slurmsim.slurmctld.history.noting import note_decisions
from slurmsim.slurmctld.history.replaying import OURS

FORMAT1 = Path(__file__).parent / "fixtures" / "format1"
ROOT = Person("root", 0, "root", 0, "/root")
START = "2026-01-05T08:00:00Z"
CONF = """\
ClusterName=c
SlurmctldHost=h
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MailProg=/bin/mail
KillWait=30
NodeName=n[1-2] CPUs=4
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""


class InProcess:
    """What commands ask instead of a daemon."""

    timeout_s = 1.0
    patience_s = 0.0

    def __init__(self, engine: Engine) -> None:
        self.engine, self.release = engine, engine.release
        self.user: str | None = None

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.engine.execute(self.engine.now, name, arguments, ROOT)


def printed(engine: Engine, command: str) -> str:
    program, *words = shlex.split(command)
    module = import_module(MODULES[program])
    out, client = streams.StringIO(), InProcess(engine)
    world = Io(client, stdin=streams.StringIO(), stdout=out, stderr=out, environ={"USER": "root"}, cwd="/",
               now=lambda: engine.now)  # type: ignore[arg-type]  # fmt: skip
    module.run(words, world)
    return out.getvalue()


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the folder made by slurmsim 0.1.0."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield Path(shutil.copytree(FORMAT1, tmp_path / "state"))
    monkeypatch.undo()
    time.tzset()


def opened(folder: Path) -> Engine:
    history = History(folder, None)
    history.journal.sync()
    history.journal.close()
    rows = RecordStore()  # of its own: the file is for whoever opens the folder next
    history.store.flush()
    history.store._connection.backup(rows._connection)
    history.store.close()
    history.restored.engine.storage.store = rows
    return history.restored.engine


def nearly(name: str, output: str) -> str:
    """`output` without what format 1 did not write down: when simulated jobs began is decided by the rules of today.

    That moves some by a second, and with them the usage of their users.
    """
    if name == "sshare":
        return "\n".join("|".join(line.split("|")[:4]) for line in output.splitlines())
    if name == "squeue":  # priority and plan of who waits follow the rules of today
        output = re.sub(r"(\|PENDING\|.*)\|\d+\|[^|]*\|[^|]*\|", r"\1||||", output)
    return re.sub(r"T08:0[34]:(?:0[23]|4[234]|2[34])\b", "T", output)


# -- a journal of format 1 ------------------------------------------------------------------------------------------


def test_a_folder_of_release_0_1_0_answers_as_before(old: Path) -> None:
    before = (old / "journal").read_bytes()
    answers = json.loads((old / "answers.json").read_text())
    for _ in range(2):  # migrated, and as a journal of today's format
        engine = opened(old)
        for name, answer in answers.items():
            assert nearly(name, printed(engine, answer["command"])) == nearly(name, answer["output"])
    assert (old / "journal.format1").read_bytes() == before
    found = read(old / "journal")
    assert (found.format, found.header["format"]) == (2, 2)
    assert sorted(found.header["texts"]) == ["accounting-0", "gres.conf", "nodes.conf", "slurm.conf"]
    decisions = [one[1] for _, entry in found.entries if entry[1] == "decided" for one in entry[4]]
    assert {"start", "end", "requeue", "suspend"} <= set(decisions)


def test_no_id_of_a_migrated_cluster_is_given_twice(old: Path) -> None:
    engine = opened(old)
    known = {live.id for live in engine.jobs.values()} | set(engine.job_table.arrays)
    job = {"name": "new", "script": "#!/bin/sh\n", "work_dir": "/", "environment": {"HOME": "/"}}
    assert engine.execute(engine.now, "submit", {"job": job}, ROOT)["job_id"] > max(known)


def test_what_ended_under_format_1_never_runs_again(old: Path) -> None:
    """By our rules job 1 would still wait for its nodes when the news of its end come: it is over all the same."""
    text = (old / "nodes.conf").read_text()
    (old / "nodes.conf").write_text(text + "DownNodes=n[1-3] State=DOWN\n")
    engine = opened(old)
    rows = {row.job.id: row.core for row in engine.job_table.rows()}
    assert (rows[1].state, rows[1].exit_code) == ("FAILED", "5:0")
    assert (rows[2].state, rows[2].exit_code) == ("COMPLETED", "0:0")
    assert rows[3].exit_code == "0:9"
    calls = [entry[1] for _, entry in read(old / "journal").entries]
    assert calls.count("over") >= 3
    assert printed(opened(old), "squeue -a -t all") == printed(engine, "squeue -a -t all")


def test_a_damaged_journal_of_format_1_is_refused(old: Path) -> None:
    data = (old / "journal").read_bytes()
    (old / "journal").write_bytes(data[:5000] + b"?" + data[5001:])
    with pytest.raises(OutputError, match="damaged in the middle"):
        opened(old)
    assert not (old / "journal.format1").exists()


def test_the_fixture_is_of_format_1() -> None:
    entries, _, damaged = journal_format1.read((FORMAT1 / "journal").read_bytes())
    assert (entries[0]["version"], damaged) == (1, False)


# -- decisions ------------------------------------------------------------------------------------------------------


def session(folder: Path, conf: str = CONF) -> None:
    """A cluster that has done this and that, and is stopped."""
    (folder.parent / "slurm.conf").write_text(conf)
    with cluster(folder) as c:
        for k in range(6):
            c.run(["sbatch", f"-n{k + 1}", "-t", "10", "--wrap", f"sleep {30 * (k + 1)}"], check=True)
        c.run(["sbatch", "-a", "1-3%1", "-t", "10", "--wrap", "sleep 20"], check=True)
        c.run(["sbatch", "-n99", "--wrap", "true"])
        c.step(45)
        c.run(["scancel", "4"], check=True)
        c.run(["sbatch", "-t1", "--wrap", "sleep 3000"], check=True)
        c.step(400)
        c.run(["sbatch", "-n8", "-t", "30", "--wrap", "sleep 1000"], check=True)
        c.run(["sbatch", "-n8", "-t", "30", "--wrap", "sleep 1000"], check=True)
        c.step(60)


@contextmanager
def cluster(folder: Path) -> Iterator[slurmsim.Cluster]:
    conf = None if (folder / "journal").is_file() else folder.parent / "slurm.conf"  # one that exists keeps its own
    with slurmsim.cluster(conf=conf, frozen=True, start=START, folder=folder) as c:
        yield c


def table(engine: Engine) -> str:
    return printed(engine, "squeue -a -t all -S i -o '%i %T %N'") + printed(
        engine, "sacct -a -X -D -P -S 2026-01-01 -E 2026-06-01 -o JobID,State,ExitCode,Start,End,NodeList,AllocCPUS"
    )


def rewrite(folder: Path, change: Any) -> None:
    """Change the entries of a journal, or its header."""
    found = read(folder / "journal")
    entries = [entry for _, entry in found.entries]
    header = dict(found.header)
    change(header, entries)
    writer = header["writer"]
    journal = Journal(folder / "journal")
    journal.begin(header, entries=b"\n".join(map(Journal.text, entries)))
    journal.close()
    if writer != OURS:  # which `begin` knows better
        written_by(writer, folder / "journal")


def decisions(entries: list[Any]) -> list[Any]:
    return [one for entry in entries if entry[1] == "decided" for one in entry[4]]


def other_version(header: dict[str, Any], entries: list[Any]) -> None:
    header["writer"] = OTHER


def test_decisions_are_in_the_journal(tmp_path: Path) -> None:
    session(folder := tmp_path / "c")
    found = decisions([entry for _, entry in read(folder / "journal").entries])
    begun = next(one for one in found if one[1] == "start")
    assert begun[2:] == [1, 0, 1, "p", "n1", "1"]
    assert (
        sum(one[1] == "start" for one in found) - sum(one[1] == "end" and one[4] != "CANCELLED" for one in found) == 1
    )
    before = table(opened(folder))
    assert table(opened(folder)) == before


@pytest.mark.parametrize("what", ["nodes", "missing", "more"])
def test_the_same_version_that_decides_otherwise_says_so(tmp_path: Path, what: str) -> None:
    session(folder := tmp_path / "c")

    def change(header: dict[str, Any], entries: list[Any]) -> None:
        entry = next(entry for entry in entries if entry[1] == "decided" and entry[4][0][1] == "start")
        if what == "nodes":
            entry[4][0][6] = "n2"
        elif what == "missing":
            del entry[4][0]
        else:
            entry[4].append([entry[0], "start", 99, 0, 99, "p", "n1", "1"])

    rewrite(folder, change)
    data = (folder / "journal").read_bytes()
    with pytest.raises(InvariantError, match=r"journal: line \d+: recorded: .*; found: .*a defect of slurmsim"):
        opened(folder)
    assert (folder / "journal").read_bytes() == data


def test_another_version_follows_what_was_decided(tmp_path: Path) -> None:
    session(folder := tmp_path / "c")
    before = table(opened(folder))
    rewrite(folder, other_version)
    assert table(opened(folder)) == before  # followed
    calls = [entry[1] for _, entry in read(folder / "journal").entries]
    assert calls.count("writer") == 1
    assert table(opened(folder)) == before  # followed as far as it goes, then as ours
    with cluster(folder) as c:  # and normal life goes on
        c.until_idle()
        assert {job.state for job in c.jobs() if job.num_cpus != 99} == {"COMPLETED", "CANCELLED", "TIMEOUT"}
    opened(folder)


def test_starts_that_our_rules_would_not_make_are_followed(tmp_path: Path) -> None:
    """Another version started job 1 on the other node, half a minute later, and it ended otherwise."""
    session(folder := tmp_path / "c")

    def change(header: dict[str, Any], entries: list[Any]) -> None:
        other_version(header, entries)
        del entries[1:]  # the submission of job 1
        at = entries[0][0]
        entries += [
            [at + 33, "decided", 0, "", [[at + 33, "start", 1, 0, 1, "p", "n2", "1"]]],
            [at + 40, "decided", 0, "", [[at + 40, "end", 1, 0, "FAILED", "7:0"]]],
        ]

    rewrite(folder, change)
    engine = opened(folder)
    core = next(iter(engine.job_table.rows())).core
    assert (core.start_time, core.end_time) == (engine.network.start_time + 33, engine.network.start_time + 40)
    assert (core.state, core.exit_code, engine.controller.state.cluster.node_list(core.alloc)) == (
        "FAILED",
        "7:0",
        "n2",
    )
    assert printed(opened(folder), "squeue -a -t all") == printed(engine, "squeue -a -t all")


@pytest.mark.parametrize(
    "decision", [[1, 0, 1, "p", "n3", "1"], [77, 0, 77, "p", "n1", "1"], [1, 0, 1, "p", "n1", "3"]]
)
def test_what_cannot_be_followed_stops_the_start(tmp_path: Path, decision: list[Any]) -> None:
    session(folder := tmp_path / "c")

    def change(header: dict[str, Any], entries: list[Any]) -> None:
        other_version(header, entries)
        del entries[1:]
        entries.append([entries[0][0] + 3, "decided", 0, "", [[entries[0][0] + 3, "start", *decision]]])

    rewrite(folder, change)
    with pytest.raises(OutputError, match=r"line 3: start of job \d+ .* is not possible"):
        opened(folder)


def test_a_submission_that_another_version_took_is_not_refused(tmp_path: Path) -> None:
    session(folder := tmp_path / "c")

    def change(header: dict[str, Any], entries: list[Any]) -> None:
        other_version(header, entries)
        entries[0][5] = {"job_id": 700, "last_id": 700}
        del entries[1:]

    rewrite(folder, change)
    assert [live.id for live in opened(folder).jobs.values()] == [700]

    def refused(header: dict[str, Any], entries: list[Any]) -> None:
        other_version(header, entries)
        entries[0][5] = {"refused": 1, "last_id": 1}
        del entries[1:]

    rewrite(folder, refused)
    with pytest.raises(OutputError, match=r"job 1: submit at .* would be accepted by this version's rules"):
        opened(folder)


# -- the configuration ----------------------------------------------------------------------------------------------


def test_an_edited_conf_does_not_rewrite_history(tmp_path: Path) -> None:
    session(folder := tmp_path / "c")
    before = table(opened(folder))
    conf = folder / "slurm.conf"
    conf.write_text(conf.read_text().replace("n[1-2] CPUs=4", "n[1-9] CPUs=1").replace("KillWait=30", "KillWait=99"))
    message = r"cannot change: node n1, node n2, node n3 is new.*put the files back"
    with pytest.raises(OutputError, match=message), cluster(folder):
        pass
    assert (folder / "conf.running" / "slurm.conf").read_text() == CONF
    shutil.copy(folder / "conf.running" / "slurm.conf", conf)
    with cluster(folder) as c:
        c.stop()
    assert table(opened(folder)) == before


def test_a_conf_that_is_gone_or_broken_is_said(tmp_path: Path) -> None:
    session(folder := tmp_path / "c")
    (folder / "slurm.conf").write_text("NodeName\n")
    with pytest.raises(OutputError, match=r"slurm.conf:1: .*conf.running"), cluster(folder):
        pass
    (folder / "slurm.conf").unlink()
    with pytest.raises(OutputError, match=r"conf\.running"), cluster(folder):
        pass


def test_changes_no_engine_is_made_of_hold_from_now_on(tmp_path: Path) -> None:
    session(folder := tmp_path / "c")
    before = table(opened(folder))
    conf = folder / "slurm.conf"
    conf.write_text("# mine\n" + conf.read_text().replace("/bin/mail", "/bin/post"))
    with cluster(folder) as c:
        assert re.search(r"MailProg\s*= /bin/post", c.run(["scontrol", "show", "config"]).stdout)
        conf.write_text(conf.read_text().replace("/bin/post", "/bin/pigeon"))
        assert c.run(["scontrol", "reconfigure"]).returncode == 0
        assert re.search(r"MailProg\s*= /bin/pigeon", c.run(["scontrol", "show", "config"]).stdout)
        conf.write_text(conf.read_text().replace("=CR_Core", "=CR_CPU"))
        refused = c.run(["scontrol", "reconfigure"])
        assert refused.returncode == 1
        assert "SelectTypeParameters (slurm.conf:5)" in refused.stderr
        conf.write_text(conf.read_text().replace("=CR_CPU", "=CR_Core"))
    assert table(opened(folder)) == before
    assert [entry[1] for _, entry in read(folder / "journal").entries].count("conf") == 2


def test_included_files_belong_to_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("NodeName=n[1-2] CPUs=4\n")
    session(folder := tmp_path / "c", CONF.replace("NodeName=n[1-2] CPUs=4", "Include nodes"))
    (folder / "nodes").write_text("NodeName=n[1-2] CPUs=8\n")
    with pytest.raises(OutputError, match="node n1, node n2"), cluster(folder):
        pass


# -- one that breaks ------------------------------------------------------------------------------------------------


def test_no_room_for_decisions_lets_them_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session(folder := tmp_path / "c")
    history = History(folder, None)
    engine = history.restored.engine
    engine.network.advance(engine.now + 5000)
    made = list(engine.network.decided)
    assert made
    with monkeypatch.context() as patched:
        patched.setattr(history.journal, "reserve", lambda size: (_ for _ in ()).throw(OutputError("full")))
        with pytest.raises(OutputError, match="full"):
            note_decisions(engine, history.journal)
    assert engine.network.decided == made
    note_decisions(engine, history.journal)
    history.journal.close()
    assert decisions([read(folder / "journal").entries[-1][1]]) == made


def test_only_the_start_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    header = new_header(start=0, mode="frozen", rate=1.0, nodes=1, cpus=1, owner=os.geteuid())
    History(tmp_path, header).close()
    history = History(tmp_path, None, lambda done, total: told.append((done, total)))
    assert told
    told.clear()
    history.remade()  # long after the daemon is ready, when nobody listens any more
    history.close()
    assert told == []
