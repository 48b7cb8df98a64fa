"""Accounting data that make no sense, and logs that do not go with them: one line, exit code 2, nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_input_support import CONF, Case, assert_refused, command, prepare, run_cli

DUMP = """Cluster - 'test':Fairshare=1:QOS='normal'
Parent - 'root'
Account - 'sci':Fairshare=60
Parent - 'sci'
User - 'alice':DefaultAccount='sci'
"""
GIVEN = ("--accounting", "acct.cfg")
ENFORCED = {"slurm.conf": CONF + "AccountingStorageEnforce=associations,qos\n"}
HEADER = "JobIDRaw|User|Account|QOS|Partition|Submit|Start|End|Timelimit|State|NCPUS"
QOS_LOG = f"""{HEADER}
1|alice|sci||debug|1700000000|1700000010|1700000100|30|COMPLETED|4
2|alice|sci|gold|debug|1700000000|1700000010|1700000100|30|COMPLETED|4
"""


def files(text: str, **more: str) -> dict[str, str]:
    return {"acct.cfg": text, **more}


CASES = [
    Case("file that is missing", ("none.cfg", "--accounting"), ("--accounting", "none.cfg")),
    Case("file that is something else", ("acct.cfg:1", "begins no accounting data"), GIVEN, files("hello\n")),
    Case("empty file", ("acct.cfg", "nothing in it"), GIVEN, files("")),
    Case("unknown QOS", ("acct.cfg:3", "QOS", "'fast'"), GIVEN, files(DUMP.replace("=60", "=60:QOS='+fast'"))),
    Case("unknown parent", ("acct.cfg:6", "Parent", "sco"), GIVEN, files(DUMP + "Parent - 'sco'\n")),
    Case("user twice", ("acct.cfg:6", "alice", "twice"), GIVEN, files(DUMP + "User - 'alice'\n")),
    Case("bad limit", ("acct.cfg:3", "MaxJobs", "'few'"), GIVEN, files(DUMP.replace("=60", "=60:MaxJobs=few"))),
    Case(
        "contradictory limits",
        ("acct.cfg:1", "MinTRESPerJob", "contradict"),
        GIVEN,
        files("add qos q MinTRESPerJob=node=4 MaxTRESPerJob=node=2\nadd account a\n"),
    ),
    Case("circle of preemption", ("acct.cfg:2", "Preempt", "a > b > a"), GIVEN,
         files("add qos a\nadd qos b preempt=a\nmodify qos a set preempt=b\nadd account x\n")),
    Case("partition of an unknown QOS", ("PartitionName=", "QOS", "gold"),
         (*GIVEN, "--set", "PartitionName=debug:QOS=gold"), files(DUMP)),
    Case("users the data do not know", ("log.swf", "account", "--unknown-accounts"), GIVEN, files(DUMP, **ENFORCED)),
    Case("QOS the data do not know", ("jobs.txt", "qos", "job 2: QOS 'gold'", "--unknown-accounts"),
         (*GIVEN, "--format", "sacct"), files(DUMP, **ENFORCED, **{"jobs.txt": QOS_LOG}), workload="jobs.txt"),
    Case("unknown choice", ("--unknown-accounts", "perhaps"), (*GIVEN, "--unknown-accounts", "perhaps"), files(DUMP)),
    Case("enforcement without data", ("--set AccountingStorageEnforce", "--accounting"),
         ("--set", "AccountingStorageType=slurmdbd", "--set", "AccountingStorageEnforce=limits")),
    Case("list of a partition without data", ("--set PartitionName", "AllowAccounts", "--accounting"),
         ("--set", "PartitionName=debug:AllowAccounts=sci")),
    Case("unknown word of enforcement", ("AccountingStorageEnforce", "everything"),
         (*GIVEN, "--set", "AccountingStorageEnforce=everything"), files(DUMP)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_refused(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, case)
    assert_refused(run_cli(*command(case)), case.code, case.says)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("choice", ["add", "refuse"])
def test_unknown_users_as_wanted(choice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = Case("", (), (*GIVEN, "--unknown-accounts", choice, "--quiet"), files(DUMP, **ENFORCED))
    prepare(tmp_path, case)
    outcome = run_cli(*command(case))
    assert outcome.code == 0, outcome.err
    manifest = json.loads((tmp_path / "out" / "run.json").read_text())
    workload, counted = manifest["workload"], "repaired" if choice == "add" else "dropped"
    says = {"add": "account unknown to the accounting data: added",
            "refuse": "refused at submission: Invalid account or account/partition combination specified"}  # fmt: skip
    assert workload[counted] == {says[choice]: workload["jobs"]}
    assert manifest["options"]["accounting"] == ["acct.cfg"]
    assert manifest["options"]["unknown_accounts"] == choice
    assert [len(digest) for digest in manifest["accounting_sha256"]] == [64]


def test_check_says_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, Case("", (), files=files(DUMP, **ENFORCED)))
    good = run_cli("check", "slurm.conf", *GIVEN)
    assert (good.code, good.err) == (0, "")
    assert "acct.cfg: 2 accounts, 2 users, 4 associations; 1 QOS: normal" in good.out.splitlines()
    facts = json.loads(run_cli("check", "slurm.conf", *GIVEN, "--json").out)["accounting"]
    assert facts == {"source": "acct.cfg", "accounts": 2, "users": 2, "associations": 4, "qos": ["normal"]}
    (tmp_path / "acct.cfg").write_text(DUMP + "User - 'alice'\n")
    bad = run_cli("check", "slurm.conf", *GIVEN)
    assert bad.code == 2
    assert bad.out.startswith("acct.cfg:6: error: alice: user alice in account sci is defined twice")
