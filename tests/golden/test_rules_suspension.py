"""Suspended jobs: scenarios recorded with slurmctld 22.05.8 (preempt-suspend, first part of suspend-resize).

Times are seconds after 08:00:00 of the recording. Only what the recordings show is asserted.
"""

from __future__ import annotations

from unit.core.world import HEAD, World

from slurmsim.core.records.messages import Resume, Suspend

HEAD_MEMORY = HEAD.replace("CR_Core", "CR_Core_Memory")
GANG = f"""{HEAD_MEMORY}MinJobAge=100000
KillWait=5
SchedulerParameters=bf_interval=10,bf_resolution=60
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
SchedulerTimeSlice=30
DefMemPerCPU=100
NodeName=n[1-3] Sockets=1 CoresPerSocket=4 RealMemory=1000
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 OverSubscribe=FORCE:1 MaxTime=INFINITE
PartitionName=hi Nodes=ALL PriorityTier=10 OverSubscribe=FORCE:1 PreemptMode=OFF MaxTime=INFINITE
PartitionName=gang Nodes=ALL PriorityTier=10 OverSubscribe=FORCE:2 MaxTime=INFINITE
"""


def test_victims_are_suspended_and_keep_their_memory() -> None:
    """preempt-suspend, first part."""
    w = World(GANG, "backfill", plan_all=True)
    w.sbatch("-p low -J v1 -N1 -n4 --mem 300 -t 10", 200, at=7)
    w.sbatch("-p low -J v2 -N1 -n4 --mem 600 -t 10", 200, at=7)
    w.sbatch("-p low -J v3 -N1 -n4 --mem 800 -t 10", 200, at=7)
    w.until(12)
    assert [w.nodes(n) for n in ("v1", "v2", "v3")] == ["n1", "n2", "n3"]
    w.sbatch("-p hi -J h1 -N1 -n4 --mem 300 -t 5", 61, at=13)
    w.until(20)
    start = w.start("h1")
    assert start == 13 and w.nodes("h1") == "n1"
    assert [w.state(n) for n in ("v1", "v2", "v3")] == ["SUSPENDED", "RUNNING", "RUNNING"]
    assert (w["v1"].suspended_at, w["v1"].end_limit, w["v1"].priority) == (13, 607, 4294901759)
    w.sbatch("-p hi -J h2 -N2 -n8 --mem 500 -t 5", 60, at=22)
    w.until(73)
    # with the victims stopped but in memory only n1 would have 500 MiB: it waits although it outranks all, for ever
    assert (w.state("h2"), w.reason("h2"), w.planned("h2")[0]) == ("PENDING", "Resources", None)
    w.until(82)
    assert (w["h1"].end_time, w.state("v1")) == (74, "RUNNING")  # resumed in the second the preemptor ended
    assert (w["v1"].end_limit, w["v1"].suspended_s) == (668, 61)
    assert (w.state("h2"), w.reason("h2"), w.planned("h2")[0]) == ("PENDING", "Resources", None)
    w.until(300)
    assert (w["v1"].end_time, w["v2"].end_time) == (7 + 200 + 61, 7 + 200)
    assert w.start("h2") is not None  # once they are gone


def test_time_slices() -> None:
    """preempt-suspend, second part: OverSubscribe=FORCE:2 in a partition whose mode has GANG."""
    w = World(GANG, "backfill", plan_all=True, start=1)  # its slices came one second after the half minutes
    w.sbatch("-p gang -J g1 -N3 -n12 --mem 300 -t 10", 120, at=171)
    w.sbatch("-p gang -J g2 -N3 -n12 --mem 300 -t 10", 120, at=171)
    w.sbatch("-p gang -J g3 -N3 -n12 --mem 300 -t 10", 60, at=171)
    w.until(174)
    assert [w.state(n) for n in ("g1", "g2", "g3")] == ["RUNNING", "SUSPENDED", "PENDING"]
    assert w.starts("g1 g2") == {"g1": 171, "g2": 171}
    assert (w.nodes("g1"), w.nodes("g2")) == ("n[1-3]", "n[1-3]")
    assert (w.reason("g3"), w.planned("g3")[0]) == ("Resources", 771)
    w.until(210)  # the turn at 181 finds g1 in front
    assert [w.state(n) for n in ("g1", "g2", "g3")] == ["RUNNING", "SUSPENDED", "PENDING"]
    w.until(240)
    assert [w.state(n) for n in ("g1", "g2", "g3")] == ["SUSPENDED", "RUNNING", "PENDING"]
    assert w["g1"].suspended_at == 211 and w["g2"].end_limit == 171 + 600 + 40
    w.until(242)
    assert [w.state(n) for n in ("g1", "g2", "g3")] == ["RUNNING", "SUSPENDED", "PENDING"]
    assert w["g1"].end_limit == 171 + 600 + 30 and w["g2"].suspended_at == 241
    w.until(800)
    ends = {n: w[n].end_time for n in ("g1", "g2", "g3")}
    runs = {n: w[n].end_time - w[n].start_time - w[n].suspended_s for n in ends}
    assert runs == {"g1": 120, "g2": 120, "g3": 60}


def test_preempt_mode_off_takes_no_turns() -> None:
    """preempt-suspend's note: with PreemptMode=OFF on that partition the second job simply waits."""
    w = World(GANG.replace("FORCE:2 MaxTime", "FORCE:2 PreemptMode=OFF MaxTime"), "backfill")
    w.sbatch("-p gang -J g1 -N3 -n12 --mem 300 -t 10", 120, at=171)
    w.sbatch("-p gang -J g2 -N3 -n12 --mem 300 -t 10", 120, at=171)
    w.until(280)
    assert (w.state("g1"), w.reason("g2")) == ("RUNNING", "Resources")
    w.until(300)
    assert w.start("g2") == w["g1"].end_time


def test_an_administrator_suspends_and_resumes() -> None:
    """suspend-resize, first part."""
    conf = f"""{HEAD}MinJobAge=100000
KillWait=5
SchedulerParameters=bf_interval=10
NodeName=n[1-4] Sockets=1 CoresPerSocket=4 RealMemory=4000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
    w = World(conf, "backfill", plan_all=True)
    w.sbatch("-J s1 -N1 -n4 -w n1 -t 5", 74, at=4)
    w.sbatch("-J z1 -N3 --exclusive -t 10", 300, at=4)
    w.sbatch("-J w1 -N1 -n2 -t 2", 40, at=10)
    w.sbatch("-J w2 -N1 -n4 -t 5", 30, at=10)
    w.until(13)
    assert w.reasons("w1 w2") == {"w1": "Resources", "w2": "Priority"}
    w.tell(Suspend(w.id("s1")), 14)
    w.until(18)
    assert (w.state("s1"), w["s1"].priority, w["s1"].end_limit) == ("SUSPENDED", 0, 304)  # end unchanged
    assert w.start("w1") in range(14, 18) and w.nodes("w1") == "n1"  # its cores are free at once
    assert w.reason("w2") == "Resources"
    w.until(39)
    assert w.planned("w2")[0] == (w.start("w1") or 0) + 120
    w.tell(Resume(w.id("s1")), 40)
    w.until(44)
    assert (w.state("s1"), w.nodes("s1")) == ("RUNNING", "n1")  # beside w1: six of four cores
    assert (w["s1"].end_limit, w["s1"].priority) == (330, 4294901755)  # moved by 26 s; a new lowest priority
    w.until(200)
    assert (w["s1"].end_time, w["s1"].suspended_s) == (104, 26)
    assert w["w1"].end_time == (w.start("w1") or 0) + 40
    assert w.start("w2") == 104  # here nobody gave a node away


TIERS = f"""{GANG.partition("PartitionName")[0]}PartitionName=a Nodes=ALL Default=YES PriorityTier=1 MaxTime=INFINITE
PartitionName=b Nodes=ALL PriorityTier=1 MaxTime=INFINITE
PartitionName=hi Nodes=ALL PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE
"""


def test_equal_tiers_run_on_the_same_cpus() -> None:
    """Recorded for this: with GANG, jobs of an equal tier in another partition do not wait for CPUs."""
    w = World(TIERS, "backfill", plan_all=True)
    w.sbatch("-p a -J a1 -N3 -n12 --mem 200 -t 10", 120, at=20)
    w.sbatch("-p b -J b1 -N1 -n4 --mem 200 -t 10", 60, at=26)
    w.sbatch("-p a -J a2 -N1 -n4 --mem 200 -t 10", 60, at=26)
    w.until(62)
    assert [w.state(n) for n in ("a1", "b1", "a2")] == ["RUNNING", "RUNNING", "PENDING"]
    assert (w.nodes("b1"), w.reason("a2")) == ("n1", "Resources")


def test_who_stops_is_whose_cores_are_taken() -> None:
    """Recorded for this: the jobs on the lowest cores stop; a preemptor that wants whole nodes waits for its like."""
    w = World(TIERS, "backfill", plan_all=True)
    for name in ("c1", "c2", "c3", "c4"):
        w.sbatch(f"-p a -J {name} -w n1 -n1 --mem 100 -t 10", 120, at=108)
    w.sbatch("-p hi -J h1 -w n1 -n2 --mem 100 -t 10", 60, at=117)
    w.sbatch("-p hi -J h2 -N3 --exclusive --mem 100 -t 10", 30, at=117)
    w.until(160)
    assert [w.state(n) for n in ("c1", "c2", "c3", "c4")] == ["SUSPENDED", "SUSPENDED", "RUNNING", "RUNNING"]
    assert (w.state("h1"), w.state("h2"), w.reason("h2")) == ("RUNNING", "PENDING", "Resources")
    end = w["h1"].start_time
    assert end is not None and w.planned("h2")[0] == end + 600  # h1 is no victim: PreemptMode=OFF


def test_whole_nodes_and_suspension() -> None:
    """Recorded for this: --exclusive jobs are suspended like others, and start beside jobs suspended by hand."""
    w = World(TIERS, "backfill", plan_all=True)
    w.sbatch("-p a -J d1 -N1 -w n1 -n4 --mem 200 -t 10", 120, at=193)
    w.sbatch("-p a -J d2 -N1 -w n2 --exclusive --mem 200 -t 10", 120, at=193)
    w.sbatch("-p a -J d3 -N1 -w n3 -n4 --mem 200 -t 10", 120, at=193)
    w.sbatch("-p hi -J h3 -w n2 -n2 --mem 100 -t 10", 60, at=200)
    w.sbatch("-p hi -J h4 -N1 -n4 --mem 100 -t 10", 60, at=203)
    w.until(212)
    assert [w.state(n) for n in ("d1", "d2", "d3")] == ["SUSPENDED", "SUSPENDED", "RUNNING"]
    assert (w.nodes("h3"), w.nodes("h4")) == ("n2", "n1")
    w.tell(Suspend(w.id("d3")), 213)
    w.sbatch("-p a -J e1 -N1 --exclusive -w n3 --mem 100 -t 10", 60, at=220)
    w.until(228)
    assert (w.state("d3"), w.state("e1"), w.nodes("e1")) == ("SUSPENDED", "RUNNING", "n3")
    w.tell(Resume(w.id("d3")), 230)
    w.until(900)
    assert {w.state(n) for n in ("d1", "d2", "d3", "e1", "h3", "h4")} == {"COMPLETED"}
