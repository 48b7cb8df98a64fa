"""The recorded group `dependencies` (slurmctld 22.05.8), the steps that speak of the scheduler.

Times are seconds after 08:00:00 of the recording.
"""

from __future__ import annotations

from golden.oracle_cluster import oracle_world

from slurmsim.core.records.messages import Cancel, SetDependency

NEVER = "DependencyNeverSatisfied"


def test_dependencies_of_every_kind() -> None:
    """After its ids each job's dependency, what it showed two seconds later, and at 13 s and 86 s."""
    w = oracle_world(8)
    w.sbatch("-J ok -t 5", 6, at=11)
    w.sbatch("-J bad -t 5", 6, at=11, state="FAILED")
    w.sbatch("-J long -t 5", 600, at=11)
    arr = w.sbatch("-a 1-3 -J arr -t 5", 6, at=11)  # its second task fails
    w.fails("arr_2")
    submitted = [
        # name, dependency, state and reason at 13 s after the first submission, the same at 86 s
        ("d_ok", "afterok:1", "RUNNING", "COMPLETED"),
        ("d_notok", "afternotok:1", NEVER, NEVER),
        ("d_any", "afterany:1", "RUNNING", "COMPLETED"),
        ("d_after", "after:1", "RUNNING", "COMPLETED"),
        ("d_after1m", "after:3+1", "Dependency", "Dependency"),  # still: nobody looks before a pass
        ("d_okbad", "afterok:2", NEVER, "COMPLETED"),  # edited later
        ("d_notokbad", "afternotok:2", "RUNNING", "COMPLETED"),
        ("d_both", "afterok:1:2", NEVER, NEVER),
        ("d_and", "afterok:1,afterany:3", "Dependency", "COMPLETED"),
        ("d_or", "afterok:2?afterany:1", "RUNNING", "COMPLETED"),
        ("d_arr", f"afterok:{arr}", NEVER, NEVER),
        ("d_arrany", f"afterany:{arr}", "RUNNING", "COMPLETED"),
        ("d_task", f"afterok:{arr}_1", "RUNNING", "COMPLETED"),
        ("d_corr_1", f"aftercorr:{arr}", "RUNNING", "COMPLETED"),
        ("d_corr_2", f"aftercorr:{arr}", NEVER, NEVER),
        ("d_corr_3", f"aftercorr:{arr}", "RUNNING", "COMPLETED"),
        ("d_nokill", "afterok:2 --kill-on-invalid-dep=no", NEVER, NEVER),
        ("d_kill", "afterok:2 --kill-on-invalid-dep=yes", "CANCELLED", "CANCELLED"),
        ("other", "afterok:1", "RUNNING", "COMPLETED"),
    ]
    for name, dependency, *_ in submitted:
        if name == "d_corr_1":
            w.sbatch(f"-a 1-3 -d {dependency} -J d_corr", 30, at=11)
        elif not name.startswith("d_corr"):
            w.sbatch(f"-d {dependency} -J {name}", 30, at=11, user="bob" if name == "other" else "alice")
    w.until(13)
    assert {w.state(n) for n in ("ok", "bad", "long", "arr_1", "arr_2", "arr_3")} == {"RUNNING"}
    waiting = [name for name, *_ in submitted if name != "d_after"]  # its job may have started, or not yet
    assert set(w.reasons(" ".join(waiting)).values()) == {"Dependency"}
    w.until(24)

    def shown(name: str) -> str:
        return w.reason(name) if w.state(name) == "PENDING" else w.state(name)

    assert {name: shown(name) for name, *_ in submitted} == {name: early for name, _, early, _ in submitted}
    assert w.reason("d_kill") == NEVER
    assert w["d_notok"].eligible_time is None
    # scontrol update of a job that can never start
    edited = w.id("d_okbad")
    w.tell(SetDependency(edited, "afterany:3"), 28)
    w.until(28)
    assert w.reason("d_okbad") == "Dependency"  # the recording, asked before a pass has come by: None
    w.tell(SetDependency(edited, f"afterok:{edited}"), 28)
    w.tell(SetDependency(edited, ""), 28)
    w.until(30)
    assert w.refused == {"d_okbad": f"Job dependency problem for job {edited}"}
    for name, kind in (("done_dep", "afterok:1"), ("done_bad", "afterok:2"), ("done_notok", "afternotok:1")):
        w.sbatch(f"-d {kind} -J {name}", 1, at=30)  # on jobs that have ended, not forgotten yet
    w.until(33)
    assert w.state("d_okbad") == "RUNNING"
    assert [shown(n) for n in ("done_dep", "done_bad", "done_notok")] == ["COMPLETED", NEVER, NEVER]
    w.scancel("long", at=33)
    w.until(98)
    assert {name: shown(name) for name, *_ in submitted} == {name: late for name, *_, late in submitted}


def test_singletons_by_name() -> None:
    """A singleton waits for a job of its name that need not be one; the next of its name for it."""
    w = oracle_world(8)
    w.sbatch("-J long -t 5", 600, at=11)
    w.sbatch("-d singleton -J long", 30, at=11)
    w.sbatch("-d singleton -J fresh", 600, at=11)
    w.sbatch("-d singleton -J fresh", 30, at=11)
    w.until(24)
    jobs = w.controller.state.jobs
    assert [(jobs[i].state, jobs[i].reason) for i in (1, 2, 3, 4)] == [
        ("RUNNING", "None"), ("PENDING", "Dependency"), ("RUNNING", "None"), ("PENDING", "Dependency"),
    ]  # fmt: skip
    w.tell(Cancel(3), 24)
    w.until(27)
    assert jobs[4].state == "RUNNING"  # three seconds later
    w.tell(Cancel(1), 33)
    w.until(98)
    assert [job.state for job in (w.all[2], w.all[4])] == ["COMPLETED", "COMPLETED"]


def test_a_circle_made_by_an_edit_is_refused() -> None:
    """scheduling.md, section 16: Circular job dependency."""
    w = oracle_world(0)
    w.sbatch("-J a -t 5", 600, at=1)
    w.sbatch("-J b -d afterok:1 -t 5", 600, at=1)
    w.sbatch("-J c -d afterok:2 -t 5", 600, at=1)
    w.until(1)
    w.tell(SetDependency(2, "afterany:3"), 2)
    w.until(3)
    assert w.refused == {"b": "Circular job dependency for job 2"}
    assert w.reason("b") == "Dependency"
