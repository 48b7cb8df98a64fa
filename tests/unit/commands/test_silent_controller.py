"""A controller that is there and does not answer: what each command says, and that it says so after MessageTimeout.

Asked of real Slurm 22.05.8, 24.11.5 and 26.05.5: with ``MessageTimeout=3`` slurmctld, and for sacct, sacctmgr and
sreport slurmdbd, got SIGSTOP; then alice (root: reconfigure, add account) typed these words. Real sacct, sacctmgr and
sreport wait 35 s longer than MessageTimeout; here there is one daemon, and all wait as long.
"""

from __future__ import annotations

import io
import json
import os
import socket
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.protocol import SOCKET, Client

SILENT = "Socket timed out on send/recv operation"
UNEXPECTED = "Unexpected message received"
DATABASE = ("{0}: error: slurm_persist_conn_open: No response to persist_init\n"
            "{0}: error: Sending PersistInit msg: Resource temporarily unavailable\n")  # fmt: skip
SAID = {
    ("squeue",): (1, f"slurm_load_jobs error: {SILENT}\n"),
    ("squeue", "--start"): (1, f"slurm_load_jobs error: {SILENT}\n"),
    ("sinfo",): (1, f"slurm_load_partitions: {SILENT}\n"),
    ("sbatch", "--wrap", "sleep 1"): (1, f"sbatch: error: Batch job submission failed: {SILENT}\n"),
    ("scancel", "1"): (140, f"scancel: error: Kill job error on job id 1: {SILENT}\n"),
    ("scancel", "-u", "alice"): (1, f"slurm_load_jobs error: {SILENT}\n"),
    ("scontrol", "show", "job", "1"): (1, f"slurm_load_jobs error: {SILENT}\n"),
    ("scontrol", "show", "node", "n01"): (1, f"slurm_load_node error: {SILENT}\n"),
    ("scontrol", "show", "partition"): (1, f"slurm_load_partitions error: {SILENT}\n"),
    ("scontrol", "show", "config"): (1, f"slurm_load_ctl_conf error: {SILENT}\n"),
    ("scontrol", "hold", "1"): (1, f"{UNEXPECTED} for job 1\nslurm_suspend error: {UNEXPECTED}\n"),
    ("scontrol", "update", "jobid=1", "comment=a"): (1, f"{UNEXPECTED} for job 1\n"),
    ("scontrol", "requeue", "1"): (1, f"{UNEXPECTED} for job 1\n"),
    ("scontrol", "reconfigure"): (1, f"slurm_reconfigure error: {SILENT}\n"),
    ("scontrol", "token"): (1, f"scontrol: error: slurm_fetch_token: error receiving response: {SILENT}\n"),
    ("srun", "true"): (1, f"srun: error: Unable to allocate resources: {SILENT}\n"),
    ("salloc", "true"): (1, f"salloc: error: Job submit/allocate failed: {SILENT}\n"),
    ("sprio",): (255, f"Couldn't get priority factors from controller: {SILENT}\n"),
    ("sshare",): (255, f"Couldn't get shares from controller: {SILENT}\n"),
    ("sdiag",): (255, f"slurm_get_statistics: {SILENT}\n"),
    ("sstat", "1"): (0, "sstat: error: couldn't get steps for job 1\n"),
    ("strigger", "--get"): (1, f"slurm_get_triggers: {SILENT}\n"),
    ("sattach", "1.0"): (1, f"sattach: error: Could not get job step info: {SILENT}\n"),
    ("squeue", "--json"): (1, f"slurm_load_jobs error: {SILENT}\n"),
    ("sacct",): (1, DATABASE.format("sacct")
                 + "sacct: error: Problem talking to the database: Resource temporarily unavailable\n"),
    ("sacct", "-j", "1"): (1, DATABASE.format("sacct")
                           + "sacct: error: Problem talking to the database: Resource temporarily unavailable\n"),
    ("sacctmgr", "-n", "show", "qos"): (1, DATABASE.format("sacctmgr")),
    ("sacctmgr", "-i", "add", "account", "xyz"): (1, DATABASE.format("sacctmgr")),
    ("sreport", "cluster", "utilization"): (
        1, DATABASE.format("sreport")
        + "sreport: fatal: Problem connecting to the database: Resource temporarily unavailable\n"),
}  # fmt: skip
OTHERWISE = {
    "22.05": {
        ("scontrol", "token"): (1, SAID["scontrol", "token"][1] + "Error fetching token\n"),
        ("squeue", "--json"): (0, ""),  # a document that says so
    },
    "24.11": {},
    "26.05": {
        ("scontrol", "hold", "1"): (1, f"{UNEXPECTED} for job 1\nslurm_suspend error:{UNEXPECTED}\n"),
        ("scontrol", "show", "config"): (1, f"slurm_load_ctl_conf error:{SILENT}\n"),
        ("scontrol", "reconfigure"): (1, f"slurm_reconfigure error:{SILENT}\n"),
        ("sstat", "1"): (0, "sstat: error: couldn't get steps for JobId=1\n"),
    },
}
TIMEOUT_S = 0.05


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A cluster's folder whose daemon has stopped: who connects is taken in by the system, and never heard."""
    there = os.getcwd()
    os.chdir(tmp_path)  # a socket's name is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(SOCKET)
        os.chdir(there)
        listening.listen(100)
        yield tmp_path


def said(words: tuple[str, ...], folder: Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    client = Client(str(folder), None, TIMEOUT_S, 1.0)
    world = Io(client, stdin=io.StringIO(), stdout=out, stderr=err, environ={"PATH": "/usr/bin:/bin"}, cwd=str(folder))
    code = import_module(MODULES[words[0]]).run(list(words[1:]), world)
    return int(code) & 0xFF, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("release", OTHERWISE)
def test_each_command_says_what_slurms_says(folder: Path, release: str) -> None:
    """Its release is told by the first line of the journal."""
    (folder / "journal").write_text(f"00000000 0 {json.dumps({'release': release})}\n")
    for words, expected in (SAID | OTHERWISE[release]).items():
        began = time.monotonic()
        code, out, err = said(words, folder)
        assert (code, err) == expected, (release, words)
        assert bool(out) == (code == 0), (release, words, out)  # those print something all the same
        assert time.monotonic() - began < 5  # once the timeout, and not once a question


def test_a_ping_says_that_it_is_down(folder: Path) -> None:
    code, out, err = said(("scontrol", "ping"), folder)
    assert (code, err) == (1, "")
    assert out.endswith(" is DOWN\n")


def test_a_client_waits_once_for_a_daemon_that_never_answered(folder: Path) -> None:
    client = Client(str(folder), None, 0.5, 1.0)
    began = time.monotonic()
    for _ in range(20):
        with pytest.raises(Exception, match="timed out"):
            client.call("ping")
    assert time.monotonic() - began < 5
