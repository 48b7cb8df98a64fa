"""sacct, sacctmgr, sprio, sshare, sdiag, sreport: what is stored, who may change it, and that the scheduler obeys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import CONF, PEOPLE, START, Cluster

from slurmsim.protocol import Refusal


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """alice in physics, bob in chem."""
    made = Cluster(tmp_path)
    for command in (
        "add account physics,chem", "add user alice account=physics", "add user bob account=chem",
        "add qos high priority=10", "modify user alice set qos+=high",
    ):  # fmt: skip
        code, _, error = made.run(f"sacctmgr -i {command}")
        assert code == 0, error
    return made


def states(cluster: Cluster, *words: str) -> list[str]:
    return cluster.text(f"sacct -anPX -o jobid,state {' '.join(words)}").split()


def test_jobs_that_slurmctld_has_forgotten_are_still_told_of(cluster: Cluster) -> None:
    cluster.submit()
    cluster.submit(seconds=7000, time_limit=200)
    cluster.now += 2000
    assert states(cluster) == ["1|COMPLETED", "2|RUNNING"]
    assert 1 not in cluster.engine.jobs
    assert cluster.text("sacct -nP -j 1 -a -o jobid,elapsed,exitcode").split() == [
        "1|00:01:40|0:0",
        "1.batch|00:01:40|0:0",
    ]


def test_a_job_of_which_a_step_was_named_is_told_of_where_no_steps_are(cluster: Cluster) -> None:
    """As slurmdbd has it: who wants no steps is not asked which (seen of 22.05.8)."""
    cluster.submit()
    cluster.now += 200
    assert cluster.text("sacct -anP -j 1.batch -o jobid").split() == ["1.batch"]
    assert cluster.text("sacct -anPX -j 1.batch -o jobid").split() == ["1"]


def test_every_run_of_a_requeued_job_is_a_row_with_d(cluster: Cluster) -> None:
    cluster.submit(requeue=1)
    cluster.now += 10
    assert cluster.run("scontrol requeue 1")[0] == 0
    assert states(cluster, "-j 1") == ["1|PENDING"]
    assert sorted(states(cluster, "-j 1 -D")) == ["1|PENDING", "1|REQUEUED"]


def test_a_job_that_had_ended_is_requeued_as_one_that_ran_until_then(cluster: Cluster) -> None:
    cluster.submit(requeue=1)
    cluster.now += 150
    assert states(cluster) == ["1|COMPLETED"]
    before = cluster.text("squeue -h -t all -o %Q")
    assert cluster.run("scontrol requeue 1")[0] == 0
    assert cluster.text("sacct -anPX -o jobid,state,elapsed").split() == ["1|REQUEUED|00:02:27"]
    assert cluster.text("squeue -h -t all -o %Q") == before
    assert states(cluster, "-j 1") == ["1|PENDING"]


@pytest.mark.parametrize("how", ["conf", "switch"])
def test_a_cluster_that_stores_nothing_says_so(tmp_path: Path, how: str) -> None:
    conf = CONF.replace("/slurmdbd", "/none").replace("AccountingStorageEnforce=associations,limits,qos\n", "")
    cluster = Cluster(tmp_path, conf if how == "conf" else CONF, "none" if how == "switch" else "")
    assert cluster.run("sacct") == (1, "", "Slurm accounting storage is disabled\n")
    assert cluster.run("sacctmgr show account")[0] == 1


def test_without_a_database_jobs_are_stored_all_the_same(tmp_path: Path) -> None:
    conf = "".join(f"{line}\n" for line in CONF.splitlines() if not line.startswith("AccountingStorage"))
    cluster = Cluster(tmp_path, conf)
    cluster.submit()
    cluster.now += 10
    assert states(cluster) == ["1|RUNNING"]


@pytest.mark.parametrize(("release", "nodes"), [("22.05", "1"), ("24.11", "1-1"), ("26.05", "1-1")])
@pytest.mark.parametrize("limit", ["grpwall=1", "grpjobs=0"])
def test_no_nodes_are_looked_for_over_a_limit_of_jobs_or_wall(
    limit: str, release: str, nodes: str, tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path, CONF, release=release)
    cluster.text("sacctmgr -i add account chem")
    cluster.text("sacctmgr -i add user bob account=chem")
    cluster.submit("bob", seconds=90)
    cluster.now += 200
    cluster.text(f"sacctmgr -i modify user bob set {limit}")
    cluster.text("sbatch --wrap true", "bob")
    shown = cluster.text("scontrol show job 2")
    assert f"Reason=AssocGrp{'Wall' if 'wall' in limit else 'Jobs'}Limit" in shown
    assert shown.partition("NumNodes=")[2].split()[0] == nodes


def test_a_limit_holds_from_the_moment_it_is_set(cluster: Cluster) -> None:
    cluster.submit("bob", seconds=50)
    assert cluster.text("sacctmgr -i modify user bob set maxjobs=1").startswith(" Modified user associations...\n")
    cluster.submit("bob")
    cluster.now += 10
    assert states(cluster) == ["1|RUNNING", "2|PENDING"]
    assert "AssocMaxJobsLimit" in cluster.text("squeue -h -o %r -j 2")
    cluster.text("sacctmgr -i modify user bob set maxjobs=-1")
    cluster.now += 70
    assert states(cluster) == ["1|COMPLETED", "2|RUNNING"]
    cluster.engine.controller.check()


def test_whom_the_database_no_longer_knows_may_not_submit(cluster: Cluster) -> None:
    assert cluster.text("sacctmgr -i delete user bob") == " Deleting users...\n  bob\n"
    with pytest.raises(Refusal, match="Invalid account or account/partition combination specified"):
        cluster.submit("bob")


def test_shares_follow_changes(cluster: Cluster) -> None:
    cluster.submit("alice", seconds=5000, time_limit=200)
    cluster.now += 1000
    before = cluster.text("sshare -anP -o account,user,normshares")
    cluster.text("sacctmgr -i modify account chem set fairshare=3")
    after = cluster.text("sshare -anP -o account,user,normshares")
    assert before != after
    assert " chem||0.600000" in after


def test_only_administrators_and_coordinators_change_things(cluster: Cluster) -> None:
    assert cluster.run("sacctmgr -i add account more", "alice")[0] == 1
    cluster.text("sacctmgr -i add coordinator account=physics names=alice")
    code, _, error = cluster.run("sacctmgr -i modify user where name=alice account=physics set maxjobs=3", "alice")
    assert (code, error) == (0, "")
    cluster.text("sacctmgr -i modify user bob set adminlevel=operator")
    assert cluster.run("sacctmgr -i add account more", "bob")[0] == 0
    assert "Add Accounts|bob|" in cluster.text("sacctmgr -nP list transactions format=action,actor,where")


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_his_own_default_qos_everybody_may_choose(cluster: Cluster, release: str) -> None:
    """As 22.05.8 and 26.05.5 answered; what else is asked for beside it is left out."""
    cluster.release = cluster.engine.release = release
    first = " Modified user associations...\n" if release == "26.05" else ""
    more = "sacctmgr -i modify user alice set fairshare=3"
    code, out, error = cluster.run(more, "alice")
    assert (code, out) == (1, f"{first}{' ' if first else ''} Nothing modified\n")
    assert error.startswith("sacctmgr: accounting_storage/slurmdbd: acct_storage_p_modify_assocs") == (not first)
    assert cluster.run(f"{more} defaultqos=high", "alice")[0] == 0
    assert cluster.text("sacctmgr -nP show assoc user=alice format=fairshare,defaultqos") == "1|high\n"
    assert cluster.run("sacctmgr -i modify user where account=physics set defaultqos=high", "alice")[0] == 1
    assert cluster.run("sacctmgr -i modify user alice set defaultqos=normal", "bob")[0] == 1
    cluster.text("sacctmgr -i add coordinator account=chem names=alice")  # who has rights has no more than those
    assert cluster.run("sacctmgr -i modify user alice set defaultqos=normal", "alice")[0] == 1


@pytest.mark.parametrize("parent", ["physics", "sub"])
def test_an_account_below_itself(cluster: Cluster, parent: str) -> None:
    cluster.text("sacctmgr -i add account sub parent=physics")
    cluster.release = cluster.engine.release = "26.05"
    said = f"{parent} is a child of physics on cluster tux. Please re-parent {parent} before using it as a parent."
    found = cluster.run(f"sacctmgr -i modify account physics set parent={parent}")
    assert found == (0, f" Modified account associations...\n  Requested parent account {said}\n", "")
    assert (
        cluster.text("sacctmgr -nP show assoc account=physics format=account,parentname").split()[0] == "physics|root"
    )


BELOW = {
    "22.05": ["tux root", "tux chem bob", "tux root root"],
    "24.11": ["tux root", "tux root root", "tux chem", "tux physics"],
    "26.05": ["tux root", "tux root root", "tux chem", "tux chem bob", "tux physics"],
}


@pytest.mark.parametrize("release", BELOW)
def test_whom_new_limits_of_an_account_are_told_to(cluster: Cluster, release: str) -> None:
    cluster.release = cluster.engine.release = release
    cluster.text("sacctmgr -i modify user alice set maxjobs=7")
    shown = cluster.text("sacctmgr -i modify cluster tux set maxjobs=9 fairshare=3")
    head, told = shown.split(" Modified cluster defaults for associations...\n")
    assert head.split() == ["Setting", "Default", "Limits:", "Fairshare", "=", "3", "MaxJobs", "=", "9"]
    words = [" ".join(line.replace("=", "").split()[1::2]) for line in told.splitlines()]
    assert words == BELOW[release]
    of_account = cluster.text("sacctmgr -i modify account physics set maxtres=cpu=5")
    assert [line.split()[-1] for line in of_account.splitlines()[1:]] == ["root", "alice"]
    again = cluster.text("sacctmgr -i modify account physics set maxjobs=3 grpjobs=4")  # alice has one of her own
    assert [line.split()[-1] for line in again.splitlines()[1:]] == ["root"]


@pytest.mark.parametrize(("release", "twice"), [("22.05", "alice,alice"), ("24.11", "alice")])
def test_coordinators_of_accounts_below(cluster: Cluster, release: str, twice: str) -> None:
    cluster.release = cluster.engine.release = release
    cluster.text("sacctmgr -i add account optics parent=physics")
    cluster.text("sacctmgr -i add account lenses parent=optics")
    cluster.text("sacctmgr -i add coordinator account=physics,lenses names=alice")
    shown = cluster.text("sacctmgr -nP show account format=account,coordinators withcoord").split()
    assert shown == ["chem|", f"lenses|{twice}", "optics|alice", "physics|alice", "root|"]
    assert "alice|lenses,optics,physics" in cluster.text("sacctmgr -nP show user format=user,coordinators withcoord")
    code, _, error = cluster.run("sacctmgr -i add user bob account=optics", "alice")
    assert (code, error) == (0, "")
    assert cluster.run("sacctmgr -i add user alice account=chem", "alice")[0] == 1
    if release != "22.05":
        (optics,) = json.loads(cluster.text("sacctmgr show account optics --json withcoord"))["accounts"]
        assert optics["coordinators"] == [{"name": "alice", "direct": False}]


def test_a_hold_of_a_held_job_by_a_user_leaves_no_trace(cluster: Cluster) -> None:
    """As 22.05.8 answered: what it waited for last is the hold of the administrator."""
    job = cluster.submit(begin_time=cluster.now + 3600)
    for command, user in (("hold", "root"), ("hold", "alice"), ("release", "root")):
        cluster.now += 1
        assert cluster.run(f"scontrol {command} {job}", user) == (0, "", "")
    cluster.text(f"scontrol update jobid={job} starttime=now")
    cluster.now += 300
    assert cluster.text(f"sacct -anPX -j {job} -o state,reason") == "COMPLETED|JobHeldAdmin\n"


@pytest.mark.parametrize(
    ("before", "words", "after"),
    [
        ("qos=high,low", "qos=+limited", "high,limited,low"), ("qos=high,low", "qos=-high", "low"),
        ("qos=", "qos=+limited", "limited,normal"), ("qos=high,low", "qos=+limited,-high", "limited,low"),
        ("qos=high,low", "qos+=limited,-high", "limited,low"), ("qos=high,low", "qos+=+limited", "high,limited,low"),
        ("qos=high,low", "qos-=+high", "high,low"),
    ],
)  # fmt: skip
def test_a_list_of_qos_with_signs_edits_the_present_one(cluster: Cluster, before: str, words: str, after: str) -> None:
    """As 22.05.8, 24.11.5 and 26.05.5 answered."""
    cluster.text("sacctmgr -i add qos low,limited")
    cluster.run(f"sacctmgr -i modify user bob set {before}")
    assert cluster.run(f"sacctmgr -i modify user bob set {words}")[0] == 0
    assert cluster.text("sacctmgr -nP show assoc user=bob format=qos") == f"{after}\n"


@pytest.mark.parametrize("words", ["qos=+limited,high", "qos=high,+limited"])
def test_a_list_of_qos_is_either_new_or_an_edit(cluster: Cluster, words: str) -> None:
    """As 22.05.8, 24.11.5 and 26.05.5 answered."""
    cluster.text("sacctmgr -i add qos limited")
    assert cluster.run(f"sacctmgr -i modify user alice set {words}") == (
        1,
        "",
        "sacctmgr: error: You can't set qos equal to something and then add or subtract from it in the same line\n"
        f" Unknown option: {words}\n Use keyword 'where' to modify condition\n",
    )


def test_signs_in_a_list_of_qos_to_preempt(cluster: Cluster) -> None:
    """As 22.05.8 answered."""
    cluster.text("sacctmgr -i add qos low,limited")
    cluster.text("sacctmgr -i modify qos high set preempt=low")
    cluster.text("sacctmgr -i modify qos high set preempt=+limited,-low")
    assert cluster.text("sacctmgr -nP show qos high format=preempt") == "limited\n"


def defaults(cluster: Cluster) -> str:
    return cluster.text("sacctmgr -nP show user where name=alice,bob,dave format=user,defaultaccount")


def test_a_coordinator_chooses_no_default_account_but_for_new_users(cluster: Cluster) -> None:
    """As 24.11.5 answered: dave is new, bob has an account of his own."""
    cluster.release = cluster.engine.release = "24.11"
    cluster.text("sacctmgr -i add coordinator account=physics names=alice")
    code, out, error = cluster.run("sacctmgr -i add user bob account=physics defaultaccount=physics", "alice")
    assert (code, error) == (0, "") and "Default Account" not in out
    assert cluster.text("sacctmgr -nP show assoc user=bob format=account").split() == ["chem", "physics"]
    assert cluster.run("sacctmgr -i add user dave account=physics defaultaccount=physics", "alice")[0] == 0
    assert defaults(cluster).split() == ["alice|physics", "bob|chem", "dave|physics"]
    new = {"action": "put_association", "account": "physics", "user": "bob", "is_default": True}
    cluster.call("account_change", PEOPLE["alice"], new)
    assert "bob|chem" in defaults(cluster)
    cluster.call("account_change", PEOPLE["root"], new)
    assert "bob|physics" in defaults(cluster), "of an operator"


def test_a_default_account_of_a_coordinator_is_not_sent(cluster: Cluster) -> None:
    """As 22.05.8 answered; a user the database does not know is not asked for a level."""
    cluster.text("sacctmgr -i add coordinator account=physics names=alice")
    words = "sacctmgr -i add user bob account=physics defaultaccount=physics"
    uid = PEOPLE["alice"].uid
    why = f" Your user/uid (alice/{uid}) is not AdminLevel >= Operator, you cannot set DefaultAccount.\n"
    assert cluster.run(words, "alice") == (1, "", why)
    assert cluster.text("sacctmgr -nP show assoc user=bob format=account") == "chem\n"
    assert cluster.run(words)[0] == 0
    assert "bob|physics" in defaults(cluster)
    cluster.text("sacctmgr -i delete user bob")
    code, _, error = cluster.run(words, "bob")
    assert code == 1 and error and "you cannot set" not in error, "slurmdbd refuses, not sacctmgr"


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_new_user_may_use_the_default_qos(cluster: Cluster, release: str) -> None:
    cluster.release = cluster.engine.release = release
    cluster.text("sacctmgr -i modify account chem set defaultqos=normal")
    code, out, error = cluster.run("sacctmgr -i add user alice account=chem qos=high")
    if release == "22.05":
        assert (code, error) == (0, "")
        return
    said = "This request would make it so some associations would not have access to their default qos."
    twice = f" ({said})" if release == "26.05" else ""
    assert (code, out + error) == (1, f" error: Problem adding user associations: {said}{twice}\n")


def test_the_journal_makes_the_database_and_the_rows_again(cluster: Cluster) -> None:
    cluster.text("sacctmgr -i modify user bob set maxjobs=1")
    for user in ("alice", "bob", "bob"):
        cluster.submit(user)
    cluster.now += 2000
    shown = [
        cluster.text(c) for c in ("sacct -aP", "sacctmgr -P show assoc", "sshare -aP", "sacctmgr -P list transactions")
    ]
    cluster.engine = cluster.again()
    assert shown == [
        cluster.text(c) for c in ("sacct -aP", "sacctmgr -P show assoc", "sshare -aP", "sacctmgr -P list transactions")
    ]


def test_priorities_diagnostics_and_reports(cluster: Cluster) -> None:
    cluster.submit("alice", seconds=8000, time_limit=200, num_tasks=8)
    cluster.submit("bob", num_tasks=8)
    cluster.now += 5400
    assert cluster.text("sprio -h -o %i").split() == ["2"]
    counters = cluster.text("sdiag")
    assert "Jobs submitted: 2\n" in counters
    assert "REQUEST_SUBMIT_BATCH_JOB" in counters
    cluster.run("sdiag -r")
    assert "Jobs submitted: 0\n" in cluster.text("sdiag")
    used = cluster.text(
        "sreport -nP cluster AccountUtilizationByUser start=2026-01-05T08:00:00 end=2026-01-05T09:00:00"
    )
    assert used.splitlines()[0].startswith("tux|root|||")
    assert cluster.journal[0][0] == START


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_json_documents(cluster: Cluster, release: str) -> None:
    cluster.submit()
    cluster.now += 30
    cluster.release = release
    for command, key in (
        ("sacct -a", "jobs"), ("sacctmgr show account", "accounts"), ("sacctmgr show user", "users"),
        ("sacctmgr show assoc", "associations"), ("sacctmgr show qos", "qos"), ("sacctmgr show tres", "TRES"),
        ("sacctmgr show cluster", "clusters"), ("sshare -a", "shares"), ("sdiag", "statistics"),
    ):  # fmt: skip
        document = json.loads(cluster.text(f"{command} --json"))
        assert list(document) == [key, "meta", "errors", "warnings"]
        assert document[key]
    (job,) = json.loads(cluster.text("sacct -a --json"))["jobs"]
    assert (job["state"]["current"], job["time"]["elapsed"]) == (["RUNNING"], job["time"]["elapsed"])


UNKNOWN = " Unknown option: {}\n Use keyword 'where' to modify condition\n"
DENIED = " Error with request: Access/permission denied\n"
PRIVILEGE = "sacctmgr: error: Your user doesn't have privilege to perform this action\n"


@pytest.mark.parametrize(
    ("command", "user", "code", "out", "error"),
    [
        ("modify qos high set maxtrespj=cpu=6", "root", 1, UNKNOWN.format("maxtrespj=cpu=6"), ""),
        ("modify qos high set preempt=high", "root", 1, "",
         "sacctmgr: error: QOS Preemption loop detected\n Error with request: QOS Preemption loop detected\n"),
        ("modify account chem set parent=chem", "root", 1, " Nothing modified\n", ""),
        ("list problem", "bob", 1, "", "sacctmgr: error: Access/permission denied\n" + DENIED),
        ("list wckey", "bob", 1, "", PRIVILEGE + DENIED),
        ("list runaway", "bob", 1, "",
         "sacctmgr: error: You must have an AdminLevel>=Operator to fix runaway jobs\n"),
        ("list runaway", "root", 0, "Runaway Jobs: No runaway jobs found on cluster tux\n", ""),
        ("clear stats", "root", 0, "", ""),
        ("clear stats", "bob", 1, "", ""),
        ("-nP list account withassoc format=account,user", "root", 0,
         "chem|\nchem|alice\nchem|bob\nphysics|\nphysics|alice\nroot|\nroot|root\n", ""),
        ("-nP list reservation format=name,tres", "root", 0, "a|cpu=4\nr|cpu=4\n", ""),
    ],
)  # fmt: skip
def test_what_the_database_says(cluster: Cluster, command: str, user: str, code: int, out: str, error: str) -> None:
    cluster.text("sacctmgr -i add user alice account=chem")
    for name, node in (("r", "n1"), ("a", "n2")):
        cluster.text(
            f"scontrol create reservation reservationname={name} starttime=now+1hour duration=60 users=bob nodes={node}"
        )
    assert cluster.run(f"sacctmgr -i {command}", user) == (code, out, error)


def test_the_begin_time_of_who_can_never_start_comes_all_the_same(cluster: Cluster) -> None:
    cluster.submit("alice", seconds=8000, time_limit=200)
    cluster.run("scancel 1")
    cluster.run("sbatch -b now+60 -d afterok:1 --wrap true", "alice")
    assert cluster.text("sprio -h -o %i") == ""
    cluster.now += 100
    assert cluster.text("sprio -h -o %i").split() == ["2"]


def test_a_begin_time_that_passes_before_the_job_can_never_start_is_gone(cluster: Cluster) -> None:
    cluster.submit("alice", seconds=8000, time_limit=200)
    cluster.run("sbatch -b now+60 -d afterok:1 --wrap true", "alice")
    cluster.now += 100
    assert "EligibleTime=Unknown" in cluster.text("scontrol show job 2")
    cluster.run("scancel 1")
    cluster.now += 100
    assert cluster.text("squeue -h -o %r") == "DependencyNeverSatisfied\n"
    assert cluster.text("sprio -h -o %i") == ""


def test_sprio_tells_its_options(cluster: Cluster) -> None:
    assert cluster.text("sprio -h -w -o '%T %t.'") == "(null) .\n"
    assert "\nformat     = (null)\njob_flag   = 0\n" in cluster.text("sprio -v")


def test_who_may_use_a_reservation_has_an_association(cluster: Cluster) -> None:
    create = "scontrol create reservation reservationname=r starttime=now+1hour duration=60 nodes=n1 users=alice,bob"
    assert "Invalid account or account/partition" in cluster.run(f"{create} accounts=chem")[2]
    cluster.text(create)
    code, _, error = cluster.run("scontrol update reservationname=r accounts=physics")
    assert code == 1 and "Invalid account or account/partition combination specified" in error


def test_what_sacct_cannot_read(cluster: Cluster) -> None:
    assert cluster.run("sacct -f /dev/null") == (1, "", "/dev/null is not a valid file\n")
    assert cluster.run("sacct -F frob")[2] == "sacct: error: str_2_job_flags: Invalid job flag frob\n"


@pytest.mark.parametrize("waits", [{"dependency": "afterany:1"}, {"begin_time": START + 4300}, {"array_inx": "1-9%1"}])
def test_priorities_of_jobs_outside_the_queue_are_recalculated(cluster: Cluster, waits: dict[str, object]) -> None:
    cluster.now += 301  # new users have no factor before
    cluster.submit(seconds=900, time_limit=30)
    job = cluster.submit(seconds=900, time_limit=30, **waits)
    cluster.now += 10
    before = cluster.text(f"squeue -h -t pd -j {job} -o %Q")
    cluster.now += 400
    after = cluster.text(f"squeue -h -t pd -j {job} -o %Q")
    assert int(after) < int(before)  # alice has run something since


@pytest.mark.parametrize(("change", "code"), [("delayboot=1", 0), ("minmemorynode=50", 1)])
def test_an_update_works_out_the_priority_of_a_running_job(cluster: Cluster, change: str, code: int) -> None:
    cluster.now += 301  # new users have no factor before
    job = cluster.submit(seconds=900, time_limit=30)
    cluster.now += 400
    before = cluster.text(f"squeue -h -j {job} -o %Q")
    assert cluster.run(f"scontrol update jobid={job} {change}")[0] == code
    assert int(cluster.text(f"squeue -h -j {job} -o %Q")) < int(before)


@pytest.mark.parametrize(
    ("user", "change", "reason"),
    [
        ("root", "numcpus=2", "None"), ("bob", "numcpus=2", "AssocGrpCpuLimit"), ("root", "mincpusnode=2", "None"),
        ("root", "timelimit=9", "AssocGrpCpuLimit"), ("root", "numcpus=1", "AssocGrpCpuLimit"),
    ],
)  # fmt: skip
def test_a_limit_does_not_count_for_what_an_operator_gave(
    cluster: Cluster, user: str, change: str, reason: str
) -> None:
    cluster.text("sacctmgr -i modify account chem set grptres=cpu=3")
    cluster.submit("bob", seconds=900, num_tasks=3)
    job = cluster.submit("bob", seconds=900, num_tasks=1)
    cluster.now += 10
    assert cluster.text(f"squeue -h -j {job} -o %r").strip() == "AssocGrpCpuLimit"
    assert cluster.run(f"scontrol update jobid={job} {change}", user)[0] == 0
    cluster.now += 60
    assert cluster.text(f"squeue -h -j {job} -o %r").strip() == reason


def test_time_an_operator_gave_is_not_limited(cluster: Cluster) -> None:
    cluster.text("sacctmgr -i modify account chem set maxwall=5")
    job = cluster.submit("bob", seconds=900, time_limit=20)
    cluster.now += 10
    assert cluster.text(f"squeue -h -j {job} -o %r").strip() == "AssocMaxWallDurationPerJobLimit"
    cluster.text(f"scontrol update jobid={job} timelimit=15")
    cluster.now += 60
    assert cluster.text(f"squeue -h -j {job} -o %T").strip() == "RUNNING"


def test_accounts_have_no_fair_share_factor(cluster: Cluster) -> None:
    cluster.now += 301  # new users have no factor before
    text = cluster.text("scontrol show assoc_mgr flags=assoc users=alice")
    factors = [line.rpartition("/")[2] for line in text.splitlines() if "Level/Factor" in line]
    assert factors[:-1] == ["0.00"] * (len(factors) - 1) and factors[-1] == "1.00"


def test_reasons_are_known_by_name(cluster: Cluster) -> None:
    assert cluster.run("sacct --reason=priority")[0] == 0
    assert cluster.run("sacct --reason=1") == (1, "", "sacct: fatal: unrecognized job reason value '1'\n")


def test_the_heading_of_wckeys(tmp_path: Path) -> None:
    for release in ("22.05", "24.11", "26.05"):
        place = tmp_path / release
        place.mkdir()
        assert Cluster(place, release=release).text("sacctmgr -P list wckey").startswith("WCKey|Cluster|User")


@pytest.mark.parametrize("later", [1, 45, 7200])
def test_a_job_is_suspended_until_now(cluster: Cluster, later: int) -> None:
    """The time was that of the last event, and so another one in a cluster that went on from its snapshot."""
    job = cluster.submit(seconds=300)
    cluster.now += 100
    cluster.text(f"scontrol suspend {job}")
    cluster.now += later
    seconds = f"{later // 3600:02}:{later // 60 % 60:02}:{later % 60:02}"
    assert cluster.text(f"sacct -XnP -j {job} -o state,suspended").strip() == f"SUSPENDED|{seconds}"


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_a_comment_of_an_association_is_shown(tmp_path: Path, release: str) -> None:
    """Recorded with 24.11.5 and 26.05.5; the column was empty."""
    cluster = Cluster(tmp_path, release=release)
    cluster.run("sacctmgr -i add account zoo")
    cluster.run("sacctmgr -i modify account zoo set comment=hello")
    assert cluster.text("sacctmgr -nP show assoc format=account,user,comment") == "root||\nroot|root|\nzoo||hello\n"
    assert cluster.text("sacctmgr -nP show account zoo withassoc format=account,user,comment") == "zoo||hello\n"
