"""Twins of recorded dumps: they show what the real cluster showed, and start the jobs it started."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import twin_recordings as recorded

from slurmsim.hostlist import expand
from slurmsim.live.cluster import Cluster
from slurmsim.live.settings import Settings
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.twin.build import build
from slurmsim.twin.documents import shown_jobs
from slurmsim.twin.dump import read_dump
from slurmsim.twin.folder import write
from slurmsim.twin.jobs import jobs_of, read_jobs
from slurmsim.twin.moments import Moments
from slurmsim.twin.run_times import RunTimes
from slurmsim.twin.twin import Twin

SAME = (
    "id", "state", "user", "uid", "group", "name", "array_id", "tasks", "het", "account", "qos", "reason", "dependency",
    "priority", "nice", "requeue", "restarts", "batch", "exit_code", "limit_min", "submit", "eligible", "accrue",
    "start", "end", "partition", "nodes", "min_nodes", "max_nodes", "cpus", "n_tasks", "tasks_per_node",
    "mem_per_node_mib", "mem_per_cpu_mib", "gres", "features", "licenses", "reservation", "shared",
)  # fmt: skip
QUICK = ("fair-24.11", "gpu-22.05", "preempt-26.05", "cloud-24.11", "tree-24.11")  # of each release and kind
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in recorded.names()]
WITH_AFTER = [one for one in NAMES if one.values[0] != "cloud-24.11"]  # which was asked once
HOUR_S = 3600
TIE_S = 3  # a start takes that long at the recordings' clock rate
EPOCH = {"TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}


@pytest.mark.parametrize("name", NAMES)
def test_a_twin_shows_what_the_cluster_showed(name: str, tmp_path: Path) -> None:
    scratch, folder = tmp_path / "scratch", tmp_path / "state"
    scratch.mkdir()
    folder.mkdir(mode=0o700)
    dump = read_dump(recorded.path_of(name))
    write(build(dump, scratch), folder)
    with Cluster(Settings(), folder) as cluster:
        jobs = cluster.run("scontrol -a -d show job", env=EPOCH).stdout
        nodes = cluster.run("scontrol -a -d show node", env=EPOCH).stdout
        queue = cluster.run(f"squeue -a -t pd,r,s,cg -o '{recorded.SQUEUE}'", env={"TZ": "UTC"}).stdout
    found = [
        *recorded.differences(*(recorded.by_record(text, "JobId") for text in (dump.text("job.txt"), jobs)), "job"),
        *recorded.differences(
            *(recorded.by_record(text, "NodeName") for text in (dump.text("node.txt"), nodes)), "node"
        ),
        *recorded.differences(*(recorded.by_line(text) for text in (recorded.shown(name)["squeue"], queue))),
    ]
    wrong = [what for what, same in found if not same]
    assert len(wrong) <= 0.01 * len(found), wrong


@pytest.mark.parametrize("name", WITH_AFTER)
def test_with_true_run_times_a_twin_starts_what_the_cluster_started(name: str, tmp_path: Path) -> None:
    after = recorded.after(name)
    known = {job: (end - start, code) for job, (start, end, _, state, code) in after.items()
             if state in ("COMPLETED", "FAILED")}  # fmt: skip
    twin = build(read_dump(recorded.path_of(name)), tmp_path, run_times=RunTimes(known))
    waiting = {_name(live): live for live in twin.engine.jobs.values() if live.core.start_time is None}
    twin.engine.network.advance(twin.now + HOUR_S)
    theirs = {job: (start, nodes) for job, (start, _, nodes, _, _) in after.items()
              if job in waiting and twin.now <= start <= twin.now + HOUR_S}  # fmt: skip
    ours = {job: int(live.core.start_time) for job, live in waiting.items() if live.core.start_time}
    assert len(theirs) >= 5
    assert set(theirs) <= set(ours)
    apart = [(a, b) if theirs[a] < theirs[b] else (b, a) for a, b in combinations(theirs, 2)
             if abs(theirs[a][0] - theirs[b][0]) > TIE_S]  # fmt: skip
    right = sum(ours[first] <= ours[second] for first, second in apart)
    assert right >= 0.97 * len(apart)
    placed = sum(_nodes(twin, waiting[job]) == sorted(expand(nodes)) for job, (_, nodes) in theirs.items())
    assert placed >= 0.95 * len(theirs)


@pytest.mark.parametrize("name", [name for name in recorded.names() if name.startswith("fair")])
def test_the_document_tells_what_the_text_tells(name: str) -> None:
    dump, moments = read_dump(recorded.path_of(name)), Moments(0)
    told = {job.id: job for job in read_jobs(dump.text("job.txt"), "job.txt", moments)}
    documented = list(jobs_of(shown_jobs(dump.text("job.json"), "job.json"), "job.json", moments))
    assert len(documented) >= 12
    for job in documented:
        same = told[job.id]
        for field in SAME:
            if (field, name) != ("shared", "fair-26.05"):  # its document does not tell it of waiting jobs
                assert getattr(job, field) == getattr(same, field), (job.id, field)
        assert sum(len(expand(held.nodes)) for held in job.held) == sum(len(expand(held.nodes)) for held in same.held)


def _name(live: LiveJob) -> str:
    return str(live.id) if live.array is None else f"{live.array.id}_{live.task}"


def _nodes(twin: Twin, live: LiveJob) -> list[str]:
    assert live.core.alloc is not None
    return sorted(expand(twin.engine.controller.state.cluster.node_list(live.core.alloc)))
