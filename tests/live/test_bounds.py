"""Ranges and lists of a request are bounded before they are expanded, in commands and, for those who write to the
socket themselves, in the daemon. What is said is real Slurm's (22.05, asked of it)."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

import slurmsim
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import Refusal

CONF = """\
ClusterName=c
SlurmctldHost=h
NodeName=n[1-4] CPUs=4
PartitionName=p Nodes=ALL Default=YES
"""
HUGE = "1-99999999"
MOST_MB = 200
INVALID = "Invalid job id specified"
UNKNOWN = f"{INVALID} for job 1_{HUGE}\n"
UNREAD = f"Unexpected message received for job 1_{HUGE}\n"  # what 22.05 says when it suspends a job it does not know
WIDE = f"_parse_single_range: Too many hosts in range `{HUGE}'"
NODES = "Invalid node name specified"
SAID = (
    (f"scontrol hold 1_[{HUGE}]", 1, UNKNOWN + f"slurm_suspend error: {INVALID}\n"),
    ("scontrol release 1_[1-1001]", 1, f"{INVALID} for job 1_1-1001\nslurm_suspend error: {INVALID}\n"),
    (f"scontrol requeue 1_[{HUGE}]", 1, UNKNOWN),
    (f"scontrol suspend 1_[{HUGE}]", 1, UNREAD),
    (f"scontrol resume 1_[{HUGE}]", 1, UNREAD),
    (f"scontrol top 1_{HUGE}", 1, UNKNOWN),
    (f"scontrol update jobid=1_[{HUGE}] name=x", 1, UNKNOWN),
    (f"scontrol hold [{HUGE}]", 0, f"scontrol: error: {WIDE}\nscontrol: error: Invalid job id: [{HUGE}]\n"),
    ("scontrol hold [3-1]", 0,
     "scontrol: error: _parse_single_range: Invalid range: `3-1'\nscontrol: error: Invalid job id: [3-1]\n"),
    (f"scancel 1_[{HUGE}]", 1, f"scancel: error: {WIDE}\nscancel: error: Invalid job id 1_[{HUGE}]\n"),
    ("scancel 1_[1-10000]", 0, ""),
    (f"sstat 1_[{HUGE}]", 1, "sstat: fatal: Bad job array element specified: 1\n"),
    (f"squeue -w n[{HUGE}]", 1, f"squeue: error: {WIDE}\nsqueue: error: 'n[{HUGE}]' invalid entry for --nodelist\n"),
    ("squeue -w n[1-3000]x[1-300]", 1, "squeue: error: Invalid node name n1x1\n"),
    (f"sinfo -n n[{HUGE}]", 1, f"sinfo: error: {WIDE}\nsinfo: error: 'n[{HUGE}]' invalid entry for --nodes\n"),
    (f"scontrol show hostnames n[{HUGE}]", 0, f"scontrol: error: {WIDE}\nInvalid hostlist: n[{HUGE}]\n"),
    (f"sbatch -w n[{HUGE}] --wrap true", 1, f"sbatch: error: {WIDE}\nsbatch: error: memory allocation failure\n"),
    (f"sbatch -x n[{HUGE}] --wrap true", 1, f"sbatch: error: Batch job submission failed: {NODES}\n"),
    (f"sbatch -a {HUGE} --wrap true", 1,
     "sbatch: error: Batch job submission failed: Invalid job array specification\n"),
    (f"scontrol update nodename=n[{HUGE}] state=drain reason=x", 1, f"slurm_update error: {NODES}\n"),
    (f"scontrol update partition=p nodes=n[{HUGE}]", 1, f"slurm_update error: {NODES}\n"),
    (f"scontrol create reservation nodes=n[{HUGE}] start=now duration=5 users=root", 1,
     f"Error creating the reservation: {NODES}\n"),
)  # fmt: skip
RAW = (
    ("hold_job", {"job_id": f"1_[{HUGE}]", "kind": "hold"}),
    ("hold_job", {"job_id": f"7_{HUGE}", "kind": "hold"}),
    ("update_job", {"job_id": f"1_{HUGE}", "job": {"name": "x"}}),
    ("requeue_job", {"job_id": f"1_{HUGE}"}),
    ("suspend_job", {"job_id": f"1_{HUGE}", "op": "suspend"}),
    ("top_job", {"job_id": f"1_{HUGE}"}),
    ("kill", {"job_id": f"1_[{HUGE}]"}),
    ("steps", {"job_id": f"1_[{HUGE}]", "fields": ["step_id"]}),
    ("jobs", {"job_id": f"1_[{HUGE}]", "fields": ["job_id"]}),
    ("wait_over", {"job_id": f"1_[{HUGE}]"}),
    ("node_action", {"action": "fail", "nodes": f"n[{HUGE}]"}),
    ("update_node", {"names": "n" + "[1-99,1-99]" * 20}),
    ("update_partition", {"partition": {"name": "p", "nodes": "+n[1-1000000]," * 1000}}),
    ("create_reservation", {"reservation": {"node_list": f"n[{HUGE}]", "duration": 5, "users": "root"}}),
    ("accounting_jobs", {"nodes": f"n[{HUGE}]"}),
    ("submit", {"job": {"name": "j", "script": "#!/bin/sh\n", "req_nodes": f"n[{'1-1000000,' * 5000}1]"}}),
    ("submit", {"job": {"name": "j", "script": "#!/bin/sh\n", "array_inx": "1-1000000000"}}),
)  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    conf = tmp_path_factory.mktemp("conf") / "slurm.conf"
    conf.write_text(CONF)
    with slurmsim.cluster(conf=conf, frozen=True) as c:
        c.run(["sbatch", "--hold", "--array=0-3", "--wrap", "sleep 100"], check=True)
        yield c


@pytest.mark.parametrize(("command", "code", "said"), SAID, ids=[one[0] for one in SAID])
def test_what_commands_say_of_too_much(cluster: Cluster, command: str, code: int, said: str) -> None:
    done = cluster.run(command)
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize(("call", "arguments"), RAW, ids=[f"{one[0]}-{k}" for k, one in enumerate(RAW)])
def test_the_daemon_trusts_no_client(cluster: Cluster, call: str, arguments: dict[str, object]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Refusal, match=r"Invalid (job|node|argument)|Unexpected message"):
        cluster.client.call(call, **arguments)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    assert grown < MOST_MB
    assert [job.state for job in cluster.jobs()] == ["PENDING"] * 4


ARRAYS = (
    ("%3", "1_[0%3]"), ("%x", "1_[0]"), ("[]", "1_[0]"), ("1,", "1_[1]"), ("5,%2", "1_[0,5%2]"), (",", "1"), ("", "1"),
    ("1%2-3", "1_[1%2]"), ("[1-2],[4-5]", "1_[1-2,4-5]"), (" 1- 3", "1_[1-3]"),
    ("1-3%99999999999", "1_[1-3%1215752191]"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), ARRAYS)
def test_array_lists_are_read_as_slurmctld_reads_them(text: str, shown: str) -> None:
    with slurmsim.cluster(frozen=True) as c:
        assert c.run(["sbatch", "-H", "-a", text, "--wrap", "true"]).stdout == "Submitted batch job 1\n"
        assert c.run(["squeue", "-h", "-o", "%i"]).stdout == f"{shown}\n"


REFUSED = ("1-", "-1", "1-3:", "1-3:0", "1-1:1001", "1x", "1]]", "1-]3", "[[1]]", "1 -3", "1-99999999999999999999")


@pytest.mark.parametrize("text", REFUSED)
def test_array_lists_that_slurmctld_refuses(cluster: Cluster, text: str) -> None:
    done = cluster.run(["sbatch", "-H", f"--array={text}", "--wrap", "true"])
    assert done.stderr == "sbatch: error: Batch job submission failed: Invalid job array specification\n"


def test_sacct_compares_associations_as_the_database_does() -> None:
    with slurmsim.cluster(frozen=True) as c:
        for text in ("xxx", "", "1,2-3", "-1"):
            done = c.run(["sacct", "-n", "-x", text])
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        done = c.run(["sacct", "-n", "-N", f"n[{HUGE}]"])
        assert (done.returncode, done.stderr) == (22, "sacct: error: Invalid argument\n")


WIDE_COLUMNS = (
    "squeue -o %.99999999999i", "squeue -o %20000000000i", "squeue -O JobID:99999999999999999999",
    "sinfo -o %99999999999P",
    "sacct -o jobid%99999999999", "sacctmgr list user format=user%99999999999", "sshare -o account%99999999999",
    "sstat -o jobid%99999999999 1",
)  # fmt: skip


@pytest.mark.parametrize("command", WIDE_COLUMNS)
def test_widths_of_columns_are_bounded(cluster: Cluster, command: str) -> None:
    done = cluster.run(command)
    assert "Traceback" not in done.stderr
    assert len(done.stdout) < 1 << 20


def test_numbers_of_thousands_of_digits_are_numbers(cluster: Cluster) -> None:
    digits = "9" * 5000
    assert cluster.run(["squeue", "-j", digits]).stderr == f"squeue: error: Invalid job id: {digits}\n"
    assert cluster.run(["scancel", digits]).returncode == 0
    assert cluster.run(["scontrol", "hold", digits]).stderr.startswith(f"{INVALID} for job {digits}")
