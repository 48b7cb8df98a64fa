"""An engine taken up again from a snapshot does what the first one does, second by second, whatever it is asked.

Random sessions of commands under configurations with everything on; at random moments the engine is written down, as
JSON, and another made of it. Each request from then on is asked of both; in the end both are written down and compared.
"""

from __future__ import annotations

import copy
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "commands"))
from engine_client import ROOT, Cluster, Request

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine
from slurmsim.slurmctld.snapshot.image import restore, take

# a session takes seconds: fewer than of other properties, many at night, and none is made smaller
EXAMPLES = 100 if settings().max_examples > 100 else 4
BASE = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
NodeName=n[1-3] CPUs=4 RealMemory=4000 Feature=a Gres=gpu:2 Weight=2
NodeName=n[4-6] CPUs=8 RealMemory=8000 Feature=b
GresTypes=gpu
Licenses=matlab:3
MinJobAge=120
KillWait=5
"""
PARTITIONS = """\
PartitionName=batch Nodes=n[1-6] Default=YES MaxTime=1-0 {batch}
PartitionName=high Nodes=n[3-6] PriorityTier=10 {high}
PartitionName=small Nodes=n[1-2] MaxTime=30 {small}
"""
CONFS = {
    "plain": BASE + PARTITIONS.format(batch="", high="", small="") + "SelectType=select/cons_tres\n",
    "limits": BASE + PARTITIONS.format(batch="", high="QOS=capped", small="") + """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos,safe
PriorityType=priority/multifactor
PriorityWeightFairshare=10000
PriorityWeightAge=1000
PriorityWeightQOS=500
PriorityWeightJobSize=100
PriorityCalcPeriod=1
PriorityDecayHalfLife=0-1
SchedulerParameters=bf_interval=10,bf_continue
""",
    "preempt": BASE + PARTITIONS.format(
        batch="OverSubscribe=FORCE:2 PreemptMode=SUSPEND", high="PreemptMode=OFF", small="PreemptMode=REQUEUE"
    ) + """\
SelectType=select/cons_tres
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
SchedulerTimeSlice=30
""",
    "power": BASE + PARTITIONS.format(batch="", high="ExclusiveUser=YES", small="OverSubscribe=YES:2") + """\
SelectType=select/cons_tres
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=60
SuspendTimeout=20
ResumeTimeout=40
""",
    "easy": BASE + PARTITIONS.format(batch="", high="", small="") + "SchedulerType=sched/easy\n",
    "buffers": BASE + PARTITIONS.format(batch="", high="", small="") + "SchedulerType=sched/bins:base=easy,limit=1\n",
    "conservative": BASE + PARTITIONS.format(batch="", high="", small="") + "SchedulerType=sched/conservative\n",
    "predicting": BASE
    + PARTITIONS.format(batch="", high="", small="")
    + "SchedulerType=sched/easy:predictor=last_two,order=shortest\n",
    "profiles": BASE
    + PARTITIONS.format(batch="", high="", small="")
    + "SchedulerType=sched/conservative:predictor=data_driven\n",
    "cpu_hours": BASE + PARTITIONS.format(batch="", high="", small="") + "SchedulerType=sched/cpu_hours\n",
    "builtin": BASE + PARTITIONS.format(batch="", high="", small="") + "SchedulerType=sched/builtin\n",
}  # fmt: skip
ACCOUNTS = """\
add cluster tux
add qos capped MaxJobsPerUser=2 GrpTRES=cpu=12
add qos long UsageFactor=0.5 Priority=10
add account sci Fairshare=60 GrpTRES=cpu=20
add account eng Fairshare=40 MaxSubmitJobs=15
add user alice Account=sci QOS=normal,capped,long
add user bob Account=eng QOS=normal,capped MaxJobs=3 GrpTRESMins=cpu=300
"""
jobs = st.integers(1, 12)
users = st.sampled_from(["alice", "bob", "root"])
nodes = st.sampled_from(["n1", "n2", "n[3-4]", "n5", "n6"])


@st.composite
def submissions(draw: st.DrawFn) -> str:
    words = ["sbatch", f"--time={draw(st.integers(1, 40))}", f"-p{draw(st.sampled_from(['batch', 'high', 'small']))}"]
    words += draw(st.lists(st.sampled_from([
        "-N2", "-N1-3", "-n5", "-n3 -c2", "--exclusive", "--mem=900", "-H", "--array=0-5%2", "--array=1,3,9",
        "--nice=5",
        "--begin=now+90", "--deadline=now+600 --time-min=1", "-Lmatlab:2", "--constraint=b", "--gres=gpu:1", "--hint=x",
        "--dependency=singleton -Jsame", "--requeue", "--no-requeue", "-wn4", "-xn5", "-pbatch,high", "--switches=1@60",
        "--signal=USR1@60", "--reservation=res", "--qos=long", "--qos=capped", "-s", "--no-kill", "--prefer=a",
    ]), max_size=3))  # fmt: skip
    if draw(st.booleans()):
        words.append(
            f"--dependency={draw(st.sampled_from(['afterok', 'afterany', 'after', 'afternotok']))}:{draw(jobs)}"
        )
    code = draw(st.sampled_from(["", "; exit 1"]))
    return f"{' '.join(words)} --wrap 'sleep {draw(st.integers(1, 900))}{code}'"


changes = st.one_of(
    st.builds("scancel {}".format, jobs), st.builds("scontrol hold {}".format, jobs),
    st.builds("scontrol release {}".format, jobs), st.builds("scontrol requeue {}".format, jobs),
    st.builds("scontrol requeuehold {}".format, jobs), st.builds("scontrol suspend {}".format, jobs),
    st.builds("scontrol resume {}".format, jobs), st.builds("scontrol top {}".format, jobs),
    st.builds("scontrol update jobid={} timelimit={}".format, jobs, st.integers(1, 60)),
    st.builds("scontrol update jobid={} priority={}".format, jobs, st.integers(0, 999)),
    st.builds("scontrol update jobid={} partition=small".format, jobs),
    st.builds("scontrol update jobid={} numnodes=1".format, jobs),
    st.builds("scontrol update jobid={} arraytaskthrottle=1".format, jobs),
    st.builds("scontrol update nodename={} state={} reason=x".format, nodes,
              st.sampled_from(["drain", "down", "resume", "fail", "idle", "power_down", "power_up"])),
    st.builds("scontrol update nodename={} weight={}".format, nodes, st.integers(1, 9)),
    st.builds("scontrol update partitionname={} state={}".format, st.sampled_from(["batch", "high"]),
              st.sampled_from(["up", "down", "drain", "inactive"])),
    st.builds("scontrol update partitionname=small maxtime={}".format, st.integers(5, 90)),
    st.just("scontrol create partition=extra nodes=n5"), st.just("scontrol delete partition=extra"),
    st.builds("scontrol create reservation=res user=alice start=now+{} duration={} nodes={}".format,
              st.integers(1, 300), st.integers(1, 20), nodes),
    st.just("scontrol create reservation=maint user=root flags=maint start=now+200 duration=5 nodes=ALL"),
    st.just("scontrol delete reservation=res"), st.builds("scontrol reboot {}".format, nodes),
    st.just("sacctmgr -i modify user bob set MaxJobs=1"), st.just("sacctmgr -i add qos more"),
    st.just("sacctmgr -i modify account sci set Fairshare=5 GrpTRES=cpu=8"),
)  # fmt: skip
seconds = st.integers(1, 200)
faults = st.one_of(
    st.tuples(
        st.just("inject"),
        st.fixed_dictionaries({
            "what": st.sampled_from(["OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "LAUNCH_FAILED"]),
            "given": st.fixed_dictionaries({"seconds": seconds}, optional={
                "every": st.integers(1, 3), "probability": st.just(0.5), "times": st.just(2), "for": seconds,
                "user": st.just("alice"),
            }),
        }),
    ),
    st.tuples(st.just("inject"), st.fixed_dictionaries({
        "what": st.just("flap"), "given": st.fixed_dictionaries({"nodes": nodes, "up": seconds, "down": seconds})
    })),
    st.tuples(st.just("inject"), st.fixed_dictionaries({
        "what": st.just("drain"), "given": st.fixed_dictionaries({"nodes": nodes}, optional={"for": seconds})
    })),
    st.tuples(st.just("inject"), st.just({"what": "timeout", "given": {"probability": 0.5}})),
    st.tuples(st.just("meet_faults"), st.just({"command": "squeue"})),
    st.tuples(st.just("end_fault"), st.fixed_dictionaries({"id": st.integers(1, 3)})),
    st.tuples(st.just("end_fault"), st.just({})),
)  # fmt: skip
steps = st.one_of(
    st.tuples(users, submissions()), st.tuples(st.sampled_from(["root", "root", "alice"]), changes),
    st.tuples(st.just("root"), faults),
)  # fmt: skip


het_submissions = st.builds(
    "sbatch --time={} -p{} {} {} --wrap 'sleep {}'".format,
    st.integers(1, 40), st.sampled_from(["batch", "high", "small"]), st.sampled_from(["", "-H", "-N2", "--exclusive"]),
    st.sampled_from(["", ": -N2 -t5", ": -n2 -phigh : -N1", ": -N1 --exclusive", ": -N1 --begin=now+90"]),
    st.integers(1, 900),
)  # fmt: skip
het_changes = st.builds(
    lambda words, job: words.format(job),
    st.sampled_from([
        "scancel {}", "scancel {}+1", "scontrol hold {}", "scontrol hold {}+1", "scontrol release {}",
        "scontrol requeue {}", "scontrol suspend {}", "scontrol resume {}", "scontrol update jobid={} timelimit=9",
        "scontrol update nodename=n4 state=drain reason=x", "scontrol update nodename=n4 state=resume",
    ]), jobs,
)  # fmt: skip
het_steps = st.one_of(st.tuples(users, het_submissions), st.tuples(st.just("root"), het_changes))


class Answered(Cluster):
    """A cluster that keeps its answers, too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.answers: list[Any] = []  # of each request in `asked`

    def call(self, name: str, person: Person, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            found = super().call(name, person, arguments)
        except Refusal as refusal:
            self.answers.append([refusal.number, refusal.text])
            raise
        self.answers.append(copy.deepcopy(found))
        return found


def begin(conf: str, folder: Path) -> Answered:
    return Answered(folder, CONFS[conf], accounting=ACCOUNTS if conf == "limits" else "")


def picture(engine: Engine) -> list[Any]:
    found: list[Any] = json.loads(json.dumps(list(take(engine))))
    return found


def alike(found: Any, expected: Any, where: str = "") -> None:
    """Fails at the first difference, saying where it is; whole pictures would fill pages."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        for key in found:
            alike(found[key], expected[key], f"{where}.{key}")
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for at, (mine, other) in enumerate(zip(found, expected, strict=True)):
            alike(mine, other, f"{where}[{at}]")
    else:
        assert found == expected, where


def again(cluster: Cluster) -> Engine:
    engine = make_engine(cluster.header, cluster.folder)
    restore(engine, picture(cluster.engine))
    return engine


def ask(engine: Engine, request: Request) -> Any:
    now, call, user, arguments = request
    try:
        return engine.execute(now, call, json.loads(arguments), engine.people.by_name(user))
    except Refusal as refusal:
        return [refusal.number, refusal.text]


@pytest.mark.parametrize("conf", CONFS)
@settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_both_go_on_alike(conf: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    go_on_alike(begin(conf, tmp_path_factory.mktemp("cluster")), data, steps)


@pytest.mark.parametrize("conf", ["plain", "limits", "preempt", "power"])
@settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_heterogeneous_jobs_too(conf: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    go_on_alike(begin(conf, tmp_path_factory.mktemp("cluster")), data, het_steps)


def go_on_alike(cluster: Answered, data: st.DataObject, steps: st.SearchStrategy[Any]) -> None:
    followers: list[Engine] = []
    for _ in range(data.draw(st.integers(5, 25))):
        user, command = data.draw(steps)
        asked = len(cluster.asked)
        if isinstance(command, str):
            cluster.run(command, user)
        else:
            with suppress(Refusal):
                cluster.call(command[0], ROOT, command[1])
        for request, answer in zip(cluster.asked[asked:], cluster.answers[asked:], strict=True):
            for follower in followers:
                assert ask(follower, request) == answer
        cluster.now += data.draw(st.sampled_from([0, 1, 7, 30, 61, 200]))
        for engine in (cluster.engine, *followers):
            engine.network.advance(cluster.now)
        if len(followers) < 3 and data.draw(st.integers(0, 4)) == 0:
            followers.append(again(cluster))
            alike(picture(followers[-1]), picture(cluster.engine))
    end = cluster.now + data.draw(st.sampled_from([0, 100, 4000]))
    for engine in (cluster.engine, *followers):
        engine.network.advance(end)
    expected = picture(cluster.engine)
    for follower in followers:
        alike(picture(follower), expected)


def test_sessions_do_what_they_say(tmp_path: Path) -> None:
    """Most drawn commands are accepted: sessions in which all is refused would show nothing."""
    for name in CONFS:
        (tmp_path / name).mkdir()
        cluster = begin(name, tmp_path / name)
        assert cluster.run("sbatch -n2 --wrap 'sleep 100'", "alice")[0] == 0, name
        cluster.now += 40
        cluster.engine.network.advance(cluster.now)
        assert cluster.engine.controller.state.running, name
