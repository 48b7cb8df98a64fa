"""One bad byte in what a cluster keeps: it is named in a line, and all else is still there."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import ConfigError
from slurmsim.sessions import session_file

CONF = """\
ClusterName=c
SlurmctldHost=h
MinJobAge=10
AccountingStorageType=accounting_storage/slurmdbd
NodeName=n[1-2] CPUs=4
PartitionName=p Nodes=ALL Default=YES
"""
SACCT = ["sacct", "-a", "-X", "-n", "-P", "-o", "JobID,JobName,State"]


def begin(folder: Path) -> slurmsim.Cluster:
    conf = folder / "slurm.conf"
    conf.write_text(CONF)
    return slurmsim.cluster(conf=conf, frozen=True, start="2026-01-05T08:00:00Z", folder=folder / "c")


def damage(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    at = data.index(old)
    path.write_bytes(data[:at] + new + data[at + len(old) :])


def test_a_bad_byte_in_the_database_costs_one_row(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """sacct goes on with the others; the log, and `slurmsim status`, name the row."""
    with begin(tmp_path) as c:
        for k in range(60):
            job = {"name": f"work-{k}", "script": "#!/bin/sh\n", "work_dir": "/", "environment": {"A": "b"}}
            c.client.call("submit", job=job)
        c.step(300)
        before = c.run(SACCT, check=True).stdout.splitlines()
        assert len(before) == 60
        c.stop()
        damage(c.folder / "accounting.db", b"work-41", b"w\xffrk-41")
        c.start()
        assert c.run(SACCT, check=True).stdout.splitlines() == [line for line in before if "work-41" not in line]
        assert "a row of an ended job is damaged and put aside: row 42 (job 42)" in capfd.readouterr().err
        assert main(["status", "--state", str(c.folder)]) == 0
        assert "rows     1 damaged and put aside: row 42 (job 42)\n" in capfd.readouterr().out
        fields = "ReqTRES,AllocTRES,WorkDir"
        assert c.run(["sacct", "-j", "42", "-n", "-o", fields]).stdout == ""
        assert c.run(["sreport", "-n", "-P", "cluster", "AccountUtilizationByUser"]).returncode == 0


@pytest.mark.parametrize("new", [b'"argw"', b'"arg\xff"', b'\0argv"'])
def test_a_damaged_line_of_the_calls_is_left_out_and_named(
    tmp_path: Path, new: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with begin(tmp_path) as c:
        for command in ("sinfo", "squeue", "sacct"):
            c.run([command], check=True)
        damage(c.folder / "calls", b'"argv"', new)
        assert [call.argv for call in c.calls()] == [["squeue"], ["sacct"]]
        assert main(["calls", "--state", str(c.folder)]) == 0
        assert capsys.readouterr().err == "slurmsim: warning: damaged lines are left out: calls:1\n"


def test_a_damaged_line_of_a_recorded_session_is_named(tmp_path: Path) -> None:
    """One that was cut off by a kill is left out."""
    path = tmp_path / "session"
    with begin(tmp_path) as c:
        c.client.call("record", action="start", path=str(path))
        for command in ("sinfo", "squeue", "sacct"):
            c.run([command], check=True)
        c.client.call("record", action="stop")
    whole = path.read_bytes()
    assert len(session_file.read(path).commands) == 3
    path.write_bytes(whole.replace(b'"argv"', b'"arg\x00"', 1))
    with pytest.raises(ConfigError, match=r"session:2: "):
        session_file.read(path)
    lines = whole.split(b"\n")
    lines[1] = lines[1][:40]
    path.write_bytes(b"\n".join(lines))
    assert len(session_file.read(path).commands) == 2
