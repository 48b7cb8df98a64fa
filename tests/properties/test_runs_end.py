"""Every run ends, within a budget of events, and none ends too early. Worlds: `ending_worlds`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from ending_worlds import DAY, EndingWorld, ending_world, starts
from hypothesis import given, settings
from hypothesis import strategies as st

BUDGET = 60_000
"""Turns of the controller: two months with one a minute, and some."""
ENDLESS = """ClusterName=c
SlurmctldHost=h
PriorityType=priority/multifactor
PriorityWeightAge=1000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
NodeName=n[1-2] CPUs=2 CoresPerSocket=2
PartitionName=p Nodes=ALL Default=YES
"""
JOBS = "job_id,submit,run_time,nodes,time_limit,user,account\n"


@settings(max_examples=settings().max_examples // 4)
@given(seed=st.integers(0, 10**9))
def test_runs_end_and_none_too_early(seed: int) -> None:
    """A run that goes on for three more weeks starts no other jobs. Drawn failures are left out of that: they go on."""
    world = ending_world(seed)
    with tempfile.TemporaryDirectory() as folder:
        ended = world.play(Path(folder), BUDGET)
        if not world.fails:
            later = int(ended[0].env.now) + 21 * DAY
            assert starts(*world.play(Path(folder), 2 * BUDGET, until=str(later))) == starts(*ended)


def play(tmp_path: Path, jobs: str, conf: str = ENDLESS, **options: str | int) -> dict[int, int | None]:
    files = {name: options.pop(name) for name in ("acc.txt", "events.csv") if name in options}
    world = EndingWorld({"slurm.conf": conf, "jobs.csv": JOBS + jobs, **files}, options)  # type: ignore[arg-type]
    return starts(*world.play(tmp_path, BUDGET))


@pytest.mark.parametrize("policy", ["easy", "conservative", "fcfs", "backfill"])
def test_a_job_that_waits_for_a_dead_node(tmp_path: Path, policy: str) -> None:
    """Priorities age every 300 s, and each time the policy looked again, for 1,190 days and on."""
    found = play(tmp_path, "1,5,10,2,600,ann,a\n", policy=policy, node_events="events.csv",
                 **{"events.csv": "time,action,nodes,until,reason,command\n5,down,n2,,x,\n"})  # fmt: skip
    assert found == {1: None}


@pytest.mark.parametrize("interval", [61, 120, 300])
def test_a_job_over_the_limit_of_its_partition_with_rare_cycles(tmp_path: Path, interval: int) -> None:
    conf = f"ClusterName=c\nSlurmctldHost=h\nSelectType=select/linear\nSchedulerParameters=bf_interval={interval}\n"
    conf += "NodeName=n[1-100] CPUs=1\nPartitionName=all Nodes=ALL Default=YES MaxTime=12:00:00\n"
    jobs = "1,0,3600,8,52200,u1,a\n2,67510,11776,16,12000,u2,a\n3,68946,2497,79,3600,u3,a\n4,69628,3568,4,10800,u4,a\n"
    assert play(tmp_path, jobs, conf) == {1: None, 2: 67510, 3: 68946, 4: 69628}


def test_a_job_that_no_node_can_ever_run_while_nodes_fail_and_come_back(tmp_path: Path) -> None:
    conf = ENDLESS + "PartitionName=z Nodes=ALL MaxNodes=1\n"
    jobs = JOBS.strip() + ",partition\n1,0,10,2,600,ann,a,z\n2,0,10,1,600,ann,a,p\n"
    world = EndingWorld({"slurm.conf": conf, "jobs.csv": jobs}, {"mtbf": 20_000, "mttr": 600, "policy": "easy"})
    assert starts(*world.play(tmp_path, BUDGET)) == {1: None, 2: 0}


def test_a_job_that_failures_always_undo(tmp_path: Path) -> None:
    """It runs for an hour on nodes of which one fails every 100 s: e^36 tries. Another that comes late still runs.

    After a hundred tries more its age is not waited for: it is alone, and so comes first anyway.
    """
    jobs = JOBS + "1,0,3600,2,3600,ann,a\n2,900000,1,1,60,ann,a\n"
    world = EndingWorld({"slurm.conf": ENDLESS, "jobs.csv": jobs}, {"mtbf": 200, "mttr": 100, "policy": "easy"})
    simulation, counted = world.play(tmp_path, BUDGET)
    assert [job.id for job in counted.ended] == [2]
    assert simulation.env.now - 900_000 < DAY
    assert simulation.controller.state.jobs[1].restarts > 100


IN_VAIN = ENDLESS.replace("n[1-2]", "n[1-4]") + (
    "PreemptType=preempt/qos\nPreemptMode=REQUEUE\nAccountingStorageEnforce=associations,limits,qos\n"
)
STRONG = (
    "add qos high Priority=100 Preempt=normal,mid MaxTRESPerAccount=node=3\nadd qos mid Priority=50\nadd qos normal\n"
    "add account a QOS=high MaxTRES=node=2\nadd user ann Account=a\n"
    "add account b QOS=normal,mid\nadd user bob Account=b\n"
)
STRONG_JOBS = "job_id,submit,run_time,tasks,nodes,time_limit,user,account,qos,deadline,hold\n" + (
    "1,0,3600,6,,3600,bob,b,mid,,\n2,10,10,6,,600,ann,a,high,,\n"
)
"""Job 2 makes job 1 go; then nodes are found, of which a limit forbids it the third. Two minutes later job 1 starts."""
LOST = "time,action,nodes,until,reason,command\n5,down,n4,,x,\n"
HELD = "3,20,10,1,,600,bob,b,normal,4000,1\n"
HOURLY = """
[[reservation]]
name = "r"
start = 1000
duration = "00:01:00"
nodes = "n4"
users = ["cy"]
flags = ["HOURLY"]
"""
ALWAYS = HOURLY.replace("00:01:00", "01:00:00")


@pytest.mark.parametrize(("age", "job", "reserved"), [
    ("60-0", "", ""), ("0-1", HELD, ""), ("0-1", "", HOURLY), ("0-1", "", ALWAYS),
], ids=["ages", "the deadline of a held job", "a reservation", "a reservation that is always in force"])  # fmt: skip
def test_a_job_that_another_always_makes_go_in_vain(tmp_path: Path, age: str, job: str, reserved: str) -> None:
    """It went on for 60 days of ages that no job could use; or for a month, as a deadline of the past was waited for.

    So it was with a reservation that repeats for ever.
    """
    files = {"slurm.conf": f"{IN_VAIN}PriorityMaxAge={age}\n", "jobs.csv": STRONG_JOBS + job, "acc.txt": STRONG,
             "resv.toml": reserved}  # fmt: skip
    world = EndingWorld(files, {"accounting": "acc.txt", "reservations": "resv.toml"})
    simulation, counted = world.play(tmp_path, 1000)
    assert set(starts(simulation, counted).values()) == {None}
    assert simulation.controller.state.jobs[1].restarts > 100
    assert simulation.env.now < DAY


def test_the_age_that_lets_a_job_start_beside_runs_in_vain(tmp_path: Path) -> None:
    """Job 3 waits for a dead node, and job 4, a day younger, behind it until both are a week old."""
    conf = IN_VAIN + "PriorityWeightJobSize=200\nPriorityFavorSmall=YES\nPriorityWeightQOS=100000\n"
    jobs = f"{STRONG_JOBS}3,15,10,,4,600,bob,b,normal,,\n4,{DAY},10,,1,600,bob,b,normal,,\n"
    files = {"slurm.conf": conf + "PriorityCalcPeriod=60\n", "jobs.csv": jobs, "acc.txt": STRONG, "events.csv": LOST}
    world = EndingWorld(files, {"policy": "builtin", "accounting": "acc.txt", "node_events": "events.csv"})
    simulation, counted = world.play(tmp_path, 2000)
    found = starts(simulation, counted)
    assert found[4] is not None and 7 * DAY < found[4] < 8 * DAY
    assert {job.id: job.restarts for job in counted.ended}[1] > 100


def test_ages_of_a_job_that_a_limit_forbids_the_nodes_it_finds_are_not_waited_for(tmp_path: Path) -> None:
    """What it asks for breaks no limit: six tasks could have two nodes, were they larger."""
    conf = IN_VAIN + "PriorityMaxAge=60-0\nPriorityCalcPeriod=60\n"
    jobs = STRONG_JOBS.splitlines()
    files = {"slurm.conf": conf, "jobs.csv": f"{jobs[0]}\n{jobs[2]}\n", "acc.txt": STRONG}
    simulation, counted = EndingWorld(files, {"accounting": "acc.txt"}).play(tmp_path, 2000)
    assert starts(simulation, counted) == {2: None}
    assert simulation.env.now < DAY


@pytest.mark.parametrize("submit", [10, 4000])  # while usage grows, and after that
@pytest.mark.parametrize("policy", ["backfill", "easy"])
@pytest.mark.parametrize(("keys", "least"), [
    ("PriorityDecayHalfLife=1-0", 60_000), ("PriorityDecayHalfLife=0\nPriorityUsageResetPeriod=DAILY", 86_400),
])  # fmt: skip
def test_a_run_waits_for_usage_to_decay(tmp_path: Path, policy: str, keys: str, least: int, submit: int) -> None:
    """Job 1 uses 50 of 60 CPU-minutes. Job 2 asks for 30 of them, which are there much later; job 3 for 300."""
    conf = ENDLESS + "AccountingStorageEnforce=associations,limits,safe\n" + keys + "\n"
    jobs = f"1,0,3000,1,3000,ann,a\n2,{submit},10,1,1800,ann,a\n3,{submit},10,1,18000,ann,a\n"
    found = play(
        tmp_path, jobs, conf, policy=policy, accounting="acc.txt",
        **{"acc.txt": "add account a GrpTRESMins=cpu=60\nadd user ann Account=a\n"},
    )  # fmt: skip
    assert found[3] is None
    assert least <= (found[2] or 0) <= least + 10_000


YEARS = "PriorityDecayHalfLife=60-0\nPriorityCalcPeriod=60\nPriorityMaxAge=0-1\n"
"""In two years of hours with a decay each, 50 CPU-minutes are less than one."""


@pytest.mark.parametrize("policy", ["backfill", "easy"])
@pytest.mark.parametrize(("keys", "asks", "days"), [
    ("PriorityDecayHalfLife=60-0", "1800,ann,a,normal", 57.1),  # it asks for 30 of 60 CPU-minutes, all used
    ("PriorityDecayHalfLife=0\nPriorityUsageResetPeriod=YEARLY", "1800,ann,a,normal", 365),
    ("PriorityDecayHalfLife=0\nPriorityUsageResetPeriod=YEARLY", "600,ann,a,fair", 365),
], ids=["half-life", "reset", "threshold"])  # fmt: skip
def test_quiet_years_of_decay_are_jumped_over(tmp_path: Path, policy: str, keys: str, asks: str, days: float) -> None:
    """Nothing runs until the used minutes let job 2 start. The priority thread made a turn a minute until then."""
    conf = ENDLESS.replace("PriorityWeightAge=1000\n", "") + (
        f"AccountingStorageEnforce=associations,limits,safe,qos\n{keys}\nPriorityCalcPeriod=1\n"
    )
    accounts = (
        "add qos fair UsageThreshold=0.6 Flags=EnforceUsageThreshold\nadd qos normal\n"
        "add account a GrpTRESMins=cpu=60 QOS=normal,fair\n"
        "add user ann Account=a Fairshare=1\nadd user bob Account=a Fairshare=1\n"
    )
    jobs = f"{JOBS.strip()},qos\n1,5,3600,1,3600,ann,a,normal\n2,4000,10,1,{asks}\n"
    files = {"slurm.conf": conf, "jobs.csv": jobs, "acc.txt": accounts}
    simulation, counted = EndingWorld(files, {"policy": policy, "accounting": "acc.txt"}).play(tmp_path, 500)
    found = starts(simulation, counted)[2]
    assert found is not None and abs(found - days * DAY) < 0.2 * DAY


@pytest.mark.parametrize("policy", ["backfill", "easy", "spf"])
@pytest.mark.parametrize(("limits", "waits"), [
    ("GrpTRESMins=cpu=60", "MaxTRESPerJob=cpu=1"),  # what holds job 2 has nothing to do with what is used
    ("GrpTRESMins=cpu=60", "GrpTRES=cpu=1"),
])  # fmt: skip
def test_decay_that_helps_no_job_is_not_waited_for(tmp_path: Path, policy: str, limits: str, waits: str) -> None:
    """Usage went down by one turn an hour for centuries, as numbers of the machine have no smallest one to reach."""
    conf = ENDLESS + "AccountingStorageEnforce=associations,limits,safe\n" + YEARS
    files = {"slurm.conf": conf, "jobs.csv": JOBS + "1,5,3000,1,3000,ann,a\n2,10,10,2,600,ann,a\n",
             "acc.txt": f"add account a {limits} {waits}\nadd user ann Account=a\n"}  # fmt: skip
    world = EndingWorld(files, {"policy": policy, "accounting": "acc.txt"})
    simulation, counted = world.play(tmp_path, 2000)
    assert starts(simulation, counted)[2] is None
    assert simulation.env.now < 2 * DAY


def test_a_job_that_could_not_start_with_nothing_used(tmp_path: Path) -> None:
    """Its 300 CPU-minutes are more than the 60 of its account, however little is used."""
    conf = ENDLESS + "AccountingStorageEnforce=associations,limits,safe\n" + YEARS
    files = {"slurm.conf": conf, "jobs.csv": JOBS + "1,5,3000,1,3000,ann,a\n2,10,10,1,18000,ann,a\n",
             "acc.txt": "add account a GrpTRESMins=cpu=60\nadd user ann Account=a\n"}  # fmt: skip
    simulation, counted = EndingWorld(files, {"accounting": "acc.txt"}).play(tmp_path, 2000)
    assert starts(simulation, counted) == {1: 8, 2: None}
    assert simulation.env.now < 2 * DAY


@pytest.mark.parametrize("policy", ["backfill", "easy"])
def test_nodes_that_boot_for_too_long(tmp_path: Path, policy: str) -> None:
    """A failed node comes back powered down, boots past ResumeTimeout, is down till the next drawn failure: for ever.

    Job 3 could run for a year, and so its time limit said to wait a century.
    """
    conf = ENDLESS.replace("PriorityWeightAge=1000\n", "") + (
        "SuspendTime=20\nSuspendTimeout=30\nResumeTimeout=30\nSuspendProgram=/bin/true\nResumeProgram=/bin/true\n"
        "ReturnToService=1\n"
    )
    jobs = "1,0,1,1,60,ann,a\n2,500,10,1,600,ann,a\n3,501,10,2,-1,ann,a\n"
    world = EndingWorld({"slurm.conf": conf, "jobs.csv": JOBS + jobs},
                        {"mtbf": 20_000, "mttr": 100, "boot_time": 60, "policy": policy})  # fmt: skip
    simulation, _ = world.play(tmp_path, 10_000)
    assert simulation.env.now < 200 * 20_000
    assert max(job.restarts for job in simulation.controller.state.jobs.values()) >= 100


@pytest.mark.parametrize("policy", ["backfill", "easy", "spf"])
@pytest.mark.parametrize(("period", "start"), [("DAILY", 86_400), ("NONE", None)])
def test_a_run_waits_for_the_reset_that_lifts_a_fair_share_over_its_threshold(
    tmp_path: Path, policy: str, period: str, start: int | None
) -> None:
    """Of two users ann has used the more, so her fair share is 0.5 until nothing is used; decay leaves it there."""
    decay = "PriorityDecayHalfLife=0" if start else "PriorityDecayHalfLife=1-0"
    conf = ENDLESS.replace("PriorityWeightAge=1000\n", "")
    conf += f"AccountingStorageEnforce=associations,limits,qos\n{decay}\nPriorityUsageResetPeriod={period}\n"
    accounts = (
        "add qos fair UsageThreshold=0.6 Flags=EnforceUsageThreshold\nadd qos normal\nadd account a QOS=normal,fair\n"
        "add user ann Account=a Fairshare=1\nadd user bob Account=a Fairshare=1\n"
    )
    jobs = JOBS.strip() + ",qos\n1,5,3000,1,3000,ann,a,normal\n2,3600,10,1,600,ann,a,fair\n"
    world = EndingWorld({"slurm.conf": conf, "jobs.csv": jobs, "acc.txt": accounts},
                        {"policy": policy, "accounting": "acc.txt"})  # fmt: skip
    simulation, counted = world.play(tmp_path, 5_000)
    found = starts(simulation, counted)[2]
    assert found is None if start is None else found is not None and start <= found <= start + 600
    assert simulation.env.now < 2 * DAY


DOWN = "time,action,nodes,until,reason,command\n5,down,n2,,x,\n"
DAILY = HOURLY.replace("HOURLY", "DAILY").replace("n4", "n1")


@pytest.mark.parametrize("policy", ["builtin", "backfill", "easy", "cpu_hours"])
def test_cycles_that_find_nothing_new_are_not_made_again(tmp_path: Path, policy: str) -> None:
    """A daily reservation keeps the run going for eight days; builtin and backfill were called every 30 s of them.

    Under policies that are their own scheduler the priority thread ran in each of its periods.

    Jobs 1 to 4 wait for a dead node. They ask for whole nodes of two kinds, so the CPUs they would get depend on the
    nodes. Jobs 2 to 4 are more than bf_max_job_test looks at.
    """
    conf = ENDLESS.replace("WeightAge=1000\n", "WeightJobSize=100\nSchedulerParameters=bf_max_job_test=1\n")
    conf = conf.replace("cons_tres", "linear").replace("SelectTypeParameters=CR_Core\n", "")
    conf += "NodeName=n3 CPUs=4 CoresPerSocket=4\nPartitionName=z Nodes=n[1-3]\n"
    jobs = "".join(f"{job},5,10,3,600,ann,a,z\n" for job in (1, 2, 3, 4))
    files = {"slurm.conf": conf, "jobs.csv": JOBS.strip() + ",partition\n" + jobs, "resv.toml": DAILY,
             "events.csv": DOWN}  # fmt: skip
    world = EndingWorld(files, {"policy": policy, "reservations": "resv.toml", "node_events": "events.csv"})
    simulation, counted = world.play(tmp_path, 500)
    assert set(starts(simulation, counted).values()) == {None}
    assert simulation.env.now > 7 * DAY


LATE = """
[[reservation]]
name = "late"
start = 1296000
duration = "01:00:00"
nodes = "n2"
users = ["ann"]
"""


@pytest.mark.parametrize("policy", ["backfill", "easy"])
@pytest.mark.parametrize(("columns", "job", "late", "start"), [
    ("reservation", "late", LATE, 15 * DAY),
    ("begin", f"{15 * DAY + 1045}", "", 15 * DAY + 1060),  # in the middle of a period on all nodes
    ("begin,reservation", f"{15 * DAY + 1045},r", "", 15 * DAY + 1045),
], ids=["another reservation", "a begin time", "a begin time in a reservation"])  # fmt: skip
def test_what_comes_late_is_waited_for_beside_a_reservation_that_repeats(
    tmp_path: Path, policy: str, columns: str, job: str, late: str, start: int
) -> None:
    """After eight repetitions no reservation was waited for any more, whichever it was: the run ended after 9 hours.

    Nothing changes for two weeks, so the repetitions of these are not waited for one by one.
    """
    hourly = HOURLY.replace("n4", "n1" if late else "n[1-2]").replace("cy", "ann" if job.endswith("r") else "cy")
    files = {"slurm.conf": ENDLESS, "jobs.csv": f"{JOBS.strip()},{columns}\n1,5,10,1,600,ann,a,{job}\n",
             "resv.toml": hourly + late}  # fmt: skip
    simulation, counted = EndingWorld(files, {"policy": policy, "reservations": "resv.toml"}).play(tmp_path, 1000)
    found = starts(simulation, counted)[1]
    assert found is not None and start <= found <= start + 60


@pytest.mark.parametrize("failures", [{}, {"mtbf": 20_000, "mttr": 600}], ids=["no failures", "failures"])
@pytest.mark.parametrize("latency", [0, 60])
def test_answers_of_a_solver_do_not_keep_a_run_going(tmp_path: Path, latency: int, failures: dict[str, int]) -> None:
    """Each began the time anew in which nothing may happen: with drawn failures the run never ended.

    Job 1 asks for ten hours on all nodes, of which one is reserved in each hour. parm asks its solver whenever the free
    nodes change. Job 2 starts by such an answer.
    """
    conf = ENDLESS.replace("n[1-2]", "n[1-3]") + f"SchedulerParameters=solver_latency={latency}\n"
    jobs = f"{JOBS.strip()},app,min_nodes\n1,0,10,3,36000,ann,a,LeanMD:parallelism=4:sigma=1,3\n2,0,10,1,600,ann,a,,\n"
    files = {"slurm.conf": conf, "jobs.csv": jobs, "resv.toml": HOURLY.replace("n4", "n3")}
    world = EndingWorld(files, {"policy": "parm:budget_w=900", "reservations": "resv.toml", **failures})
    found = starts(*world.play(tmp_path, 2000))
    assert found[1] is None
    assert found[2] is not None and latency < found[2] < 2000


MONTHS = "PriorityMaxAge=60-0\nPriorityCalcPeriod=60\nSchedulerParameters=bf_max_job_test=1\n"
DRAINED = "time,action,nodes,until,reason,command\n5,drain,n[1-2],,x,\n"


@pytest.mark.parametrize("policy", ["backfill", "builtin", "easy"])
@pytest.mark.parametrize(("events", "limits", "nodes"), [
    (DRAINED, "", 1), (DOWN, "", 2), (DOWN, "MaxTRESMinsPerJob=cpu=1", 1),
], ids=["drained", "too few", "a limit"])  # fmt: skip
def test_ages_of_jobs_without_a_place_are_not_waited_for(
    tmp_path: Path, policy: str, events: str, limits: str, nodes: int
) -> None:
    """Ages grow for 60 days, which was a turn a minute for 30 days; the order of these jobs changes nothing."""
    job = f"{nodes},600,ann,a"
    files = {"slurm.conf": ENDLESS + MONTHS + "AccountingStorageEnforce=associations,limits\n", "events.csv": events,
             "jobs.csv": f"{JOBS}1,5,10,{job}\n2,10,10,{job}\n3,3000,10,{job}\n",
             "acc.txt": f"add account a {limits}\nadd user ann Account=a\n"}  # fmt: skip
    world = EndingWorld(files, {"policy": policy, "accounting": "acc.txt", "node_events": "events.csv"})
    simulation, counted = world.play(tmp_path, 2000)
    assert set(starts(simulation, counted).values()) == {None}
    assert simulation.env.now < DAY


@pytest.mark.parametrize("policy", ["builtin", "fcfs"])  # of builtin no priorities were worked out while nothing ran
def test_the_age_that_lets_a_job_start_is_waited_for(tmp_path: Path, policy: str) -> None:
    """Job 1 waits for a dead node, and job 2 behind it.

    Job 2 is the smaller one, but a day younger, which counts until job 1 is a week old.
    """
    conf = ENDLESS + "PriorityWeightJobSize=200\nPriorityFavorSmall=YES\nPriorityCalcPeriod=60\n"
    jobs = f"1,5,10,2,600,ann,a\n2,{DAY},10,1,600,ann,a\n"
    files = {"slurm.conf": conf, "jobs.csv": JOBS + jobs, "events.csv": DOWN}
    world = EndingWorld(files, {"policy": policy, "node_events": "events.csv"})
    found = starts(*world.play(tmp_path, BUDGET))
    assert found[1] is None
    assert found[2] is not None and 7 * DAY < found[2] < 8 * DAY


@pytest.mark.parametrize("policy", ["builtin", "fcfs"])
@pytest.mark.parametrize(("weight", "start"), [(50, 1_869_305), (100, 1_837_745), (0, None)])
def test_ages_that_leave_the_order_of_the_queue_as_it_is(
    tmp_path: Path, policy: str, weight: int, start: int | None
) -> None:
    """Job 2 has a place and waits behind job 1, which never starts: each minute of 20 days had its turn.

    Job 1 is two days older and so has 100 more for its age, until that is 20 days. Then this goes down by 50 a day. The
    starts are those of turns in all minutes.
    """
    conf = f"{ENDLESS}PriorityWeightJobSize={weight}\nPriorityFavorSmall=YES\nPriorityCalcPeriod=1\n"
    files = {"slurm.conf": conf + "PriorityMaxAge=20-0\n", "events.csv": DOWN,
             "jobs.csv": f"{JOBS}1,5,10,2,600,ann,a\n2,{2 * DAY},10,1,600,ann,a\n"}  # fmt: skip
    world = EndingWorld(files, {"policy": policy, "node_events": "events.csv"})
    found = starts(*world.play(tmp_path, 100))
    assert found == {1: None, 2: start}


def test_ages_are_waited_for_beside_a_reservation_that_repeats(tmp_path: Path) -> None:
    """The run ended on the tenth day before a period, as job 2 would not have ended by then; ages were not over.

    Job 2 overtakes job 1, the larger and older one, when the ages of both are at their most.
    """
    conf = ENDLESS + "PriorityWeightJobSize=200\nPriorityFavorSmall=YES\nPriorityCalcPeriod=1\nPriorityMaxAge=12-0\n"
    files = {"slurm.conf": conf, "jobs.csv": f"{JOBS}1,5,10,2,600,ann,a\n2,{DAY},10,1,600,ann,a\n", "resv.toml": DAILY,
             "events.csv": DOWN}  # fmt: skip
    world = EndingWorld(files, {"policy": "builtin", "reservations": "resv.toml", "node_events": "events.csv"})
    found = starts(*world.play(tmp_path, BUDGET))
    assert found[1] is None
    assert found[2] is not None and 12 * DAY < found[2] < 13 * DAY


def test_usage_that_a_suspended_job_adds_to_is_not_waited_for(tmp_path: Path) -> None:
    """GrpWall holds job 2, and job 1, which stands still for want of watts, adds an hour to it each hour."""
    conf = ENDLESS + "PriorityDecayHalfLife=600\nPriorityCalcPeriod=60\nAccountingStorageEnforce=limits\n"
    files = {
        "slurm.conf": conf, "jobs.csv": f"{JOBS}1,0,7200,1,9000,ann,a\n2,14400,10,1,600,ann,a\n",
        "acc.txt": "add account a GrpWall=100\nadd user ann Account=a\n", "watts.csv": "time,watts\n0,500\n600,40\n",
    }  # fmt: skip
    world = EndingWorld(files, {"accounting": "acc.txt", "power_budget": "watts.csv", "idle_w": "10"})
    simulation, counted = world.play(tmp_path, 5000)
    assert starts(simulation, counted) == {1: 3, 2: None}
    assert simulation.env.now < DAY
