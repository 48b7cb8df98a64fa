"""Checks on single rows of the jobs table: times, states, limits, allocations."""

from __future__ import annotations

import numpy as np

from slurmsim.states import FINAL_STATES, REFUSED, REQUEUED, RESIZING, JobState
from slurmsim.validate.columns import NULL, BoolArray, IntArray, Table, distinct
from slurmsim.validate.facts import ClusterFacts
from slurmsim.validate.report import ValidationReport
from slurmsim.validate.runs import CPUS, MEMORY, JobRuns

# How a run may end that is followed by a requeue.
_LOST = (REQUEUED, RESIZING, JobState.NODE_FAIL, JobState.PREEMPTED, JobState.FAILED)
_RUNNING = (JobState.RUNNING, JobState.SUSPENDED)
UNLIMITED_S = 365 * 86400  # the engine ends a job without a limit a year after its start


def check_rows(
    report: ValidationReport, jobs: Table, n_jobs: int, allowance_s: int | None, last_ran: BoolArray, away: IntArray,
    edited_at: IntArray, used_up_ends: bool,
) -> None:  # fmt: skip
    """Everything a row says about itself.

    Parameters
    ----------
    jobs, n_jobs
        So many rows of jobs, then those of runs that ended in a requeue.
    allowance_s
        How much longer than its limit a job may run; None when limits were not enforced.
    last_ran
        True for rows with `start` and `end` of one run: false for jobs that were requeued and not started again.
    away
        How long each was suspended, seconds.
    edited_at
        When the job's limit was last edited, `NULL` for never.
    used_up_ends
        Jobs may also time out because their association or QOS has used up its minutes.
    """
    ids, get = jobs.ints["job_id"], jobs.ints.get
    submit, start, end = (jobs.ints[name] for name in ("submit", "start", "end"))
    started, ended = start != NULL, end != NULL

    check = report.new("one_row_per_job", n_jobs)
    order = np.argsort(ids[:n_jobs], kind="stable")
    again = order[1:][ids[order][1:] == ids[order][:-1]]
    check.flag(len(again), (f"job {ids[i]} has more than one row" for i in again))

    _check_states(report, jobs, n_jobs, started, ended)

    def compare(name: str, first: IntArray | None, what: str) -> None:
        """No start before `first`."""
        if first is None:
            report.skip(name, f"no column {what}")
            return
        check = report.new(name, int(started.sum()))
        bad = np.flatnonzero(started & (first != NULL) & (start < first))
        check.flag(len(bad), (f"job {ids[i]} starts at {start[i]}, before its {what} time {first[i]}" for i in bad))

    compare("start_after_submit", np.maximum(submit, get("last_submit", submit)), "submit")
    compare("start_after_eligible", get("eligible"), "eligible")
    compare("start_after_begin", get("begin"), "begin")

    arrived = get("arrived")
    if arrived is not None and (arrived != NULL).any():
        check = report.new("submit_after_arrival", int((arrived != NULL).sum()))
        bad = np.flatnonzero((arrived != NULL) & (submit < arrived))
        check.flag(len(bad), (f"job {ids[i]} is submitted at {submit[i]}, before it came at {arrived[i]}" for i in bad))

    check = report.new("end_after_start", int(ended.sum()))
    bad = np.flatnonzero(started & ended & (end < start))
    check.flag(len(bad), (f"job {ids[i]} ends at {end[i]}, before its start {start[i]}" for i in bad))
    bad = np.flatnonzero(~started & ended & (end < submit))
    check.flag(len(bad), (f"job {ids[i]} ends at {end[i]}, before its submit time {submit[i]}" for i in bad))

    check = report.new("derived_times", jobs.n)
    for name, value, both in (
        ("run_time_s", end - start - away, started & ended & last_ran),
        ("wait_s", start - submit, started & last_ran),
    ):
        said = get(name)
        if said is not None:
            bad = np.flatnonzero(both & (said != value))
            check.flag(len(bad), (f"job {ids[i]} has {name} {_show(said[i])}, not {value[i]}" for i in bad))

    _check_limits(report, jobs, allowance_s, started & ended & last_ran, away, edited_at, used_up_ends)


def _check_states(report: ValidationReport, jobs: Table, n_jobs: int, started: BoolArray, ended: BoolArray) -> None:
    ids, state = jobs.ints["job_id"], jobs.texts.get("state")
    if state is None:
        report.skip("state_matches_times", "no column state")
        return
    check = report.new("state_matches_times", jobs.n)
    lost = np.arange(jobs.n) >= n_jobs
    final, running = state.mask(FINAL_STATES), state.mask(_RUNNING)
    needs_run = state.mask([JobState.COMPLETED, JobState.TIMEOUT, JobState.OUT_OF_MEMORY])
    for bad, why in (
        (~lost & ~state.mask([*FINAL_STATES, *_RUNNING, JobState.PENDING, REFUSED]), "no state of a job"),
        (lost & ~state.mask(_LOST), "no state of a run that ends in a requeue"),
        (lost & ~(started & ended), "but not a start and an end"),
        (final & ~ended, "but no end"),
        (needs_run & ~started, "but no start"),
        (running & (~started | ended), "but not a start without an end"),
        (state.mask([JobState.PENDING]) & ended, "but an end"),
        (state.mask([REFUSED]) & (started | ended), "but a start or an end"),
    ):
        rows = np.flatnonzero(bad)
        shown = (f"job {ids[i]} has state {state[i] or '(none)'}, {why}" for i in rows)
        check.flag(len(rows), shown)


def _check_limits(
    report: ValidationReport, jobs: Table, allowance_s: int | None, ran: BoolArray, away: IntArray,
    edited_at: IntArray, used_up_ends: bool,
) -> None:  # fmt: skip
    ids, limit, state = jobs.ints["job_id"], jobs.ints.get("time_limit_s"), jobs.texts.get("state")
    if limit is None or allowance_s is None:
        why = "no column time_limit_s" if limit is None else "limits were not enforced in this run"
        report.skip("within_time_limit", why)
        report.skip("timeout_at_limit", why)
        return
    run_time = np.where(ran, jobs.ints["end"] - jobs.ints["start"] - away, 0)
    limited = ran & (limit != NULL)
    check = report.new("within_time_limit", int(limited.sum()))
    # a limit below what the job had run already ends it soon after the edit
    most = np.maximum(limit, np.where(edited_at != NULL, edited_at - jobs.ints["start"], 0))
    bad = np.flatnonzero(limited & (run_time > most + allowance_s))
    allowed = f" + {allowance_s} s allowed" if allowance_s else ""
    check.flag(len(bad), (f"job {ids[i]} ran {run_time[i]} s with a limit of {limit[i]} s{allowed}" for i in bad))
    if state is None or used_up_ends:
        why = "no column state" if state is None else "limits of the accounting may end jobs"
        report.skip("timeout_at_limit", why)
        return
    out = ran & state.mask([JobState.TIMEOUT])
    if jobs.has("reservation"):  # a job also times out with its reservation
        out &= jobs.texts["reservation"].mask([""])
    check = report.new("timeout_at_limit", int(out.sum()))
    bad = np.flatnonzero(out & (run_time < np.where(limit == NULL, UNLIMITED_S, limit)))
    text = "job {} is TIMEOUT after {} s, its limit is {}"
    check.flag(len(bad), (text.format(ids[i], run_time[i], _show(limit[i])) for i in bad))


def check_allocations(
    report: ValidationReport, jobs: Table, runs: JobRuns, cluster: ClusterFacts, edited: BoolArray,
    resized: BoolArray,
) -> None:  # fmt: skip
    """Check what each run was given: nodes that exist, in its partition, as many as the row says and the job asked for.

    `edited` marks rows with a time limit that an administrator changed: they may exceed the partition's limit.
    `resized` marks rows of jobs that had several sizes: they may have less than was asked for.
    """
    ids = jobs.ints["job_id"]
    check = report.new("known_nodes", runs.n)
    bad = list(runs.bad_nodes)
    check.flag(len(bad), (f"job {ids[runs.row[k]]}: {runs.bad_nodes[k]}" for k in bad))
    empty = np.flatnonzero(runs.nodes == 0)
    empty = np.setdiff1d(empty, np.array(bad, np.int64))
    check.flag(len(empty), (f"job {ids[runs.row[k]]} ran on no node" for k in empty))
    _check_partitions(report, jobs, runs, cluster, edited)
    _check_counts(report, jobs, runs, cluster, resized)


def _check_partitions(
    report: ValidationReport, jobs: Table, runs: JobRuns, cluster: ClusterFacts, edited: BoolArray
) -> None:
    if not jobs.has("partition"):
        for name in ("nodes_in_partition", "within_partition_limit"):
            report.skip(name, "no column partition")
        return
    ids = jobs.ints["job_id"]
    inside = report.new("nodes_in_partition", runs.n)
    limit = jobs.ints.get("time_limit_s")
    within = report.new("within_partition_limit", runs.n)
    excused = edited[runs.row]
    if cluster.over_max_time and jobs.has("qos"):
        excused = excused | jobs.texts["qos"].mask(cluster.over_max_time)[runs.row]
    owner, low, high = runs.pieces.owner, runs.pieces.low, runs.pieces.high
    for code, name in enumerate(runs.partition.values):
        members = runs.partition.codes == code
        facts = cluster.partitions.get(name)
        if facts is None:
            rows = np.flatnonzero(members)
            inside.flag(len(rows), (f"job {ids[runs.row[k]]} ran in unknown partition {name!r}" for k in rows))
            continue
        outside = np.concatenate([[0], np.cumsum(~facts.nodes)])
        if outside[-1]:
            pieces = np.flatnonzero(members[owner] & (outside[high + 1] > outside[low]))
            found = distinct(owner[pieces])
            first = pieces[np.searchsorted(owner[pieces], found)]
            culprit = np.searchsorted(outside, outside[low[first]] + 1) - 1
            text = "job {} of partition {} ran on {}, which is not in it"
            inside.flag(
                len(found),
                (
                    text.format(ids[runs.row[k]], name, cluster.names[node])
                    for k, node in zip(found, culprit, strict=True)
                ),
            )
        if facts.max_time_s is not None and limit is not None:
            asked = limit[runs.row]
            over = members & ~excused & ((asked == NULL) | (asked > facts.max_time_s))
            rows = np.flatnonzero(over)
            text = "job {} started with a limit of {} in partition {} (MaxTime {} s)"
            within.flag(
                len(rows), (text.format(ids[runs.row[k]], _show(asked[k]), name, facts.max_time_s) for k in rows)
            )


def _check_counts(
    report: ValidationReport, jobs: Table, runs: JobRuns, cluster: ClusterFacts, resized: BoolArray
) -> None:
    ids, owner = jobs.ints["job_id"], runs.pieces.owner
    length = runs.pieces.high - runs.pieces.low + 1
    check = report.new("allocation_adds_up", runs.n)
    bad = runs.bad_amounts
    check.flag(len(bad), (f"job {ids[runs.row[k]]}: per-node amounts malformed or not for its nodes" for k in bad))
    judged = runs.known.copy()
    judged[bad] = False
    judged[list(runs.bad_nodes)] = False
    found = {"nodes": (runs.nodes, "nodes in its list")}
    sums = [np.bincount(owner, amount * length, runs.n).astype(np.int64) for amount in runs.pieces.amounts]
    if jobs.has("cpus_per_node"):
        found["cpus"] = (sums[CPUS], "CPUs on its nodes")
    if jobs.has("mem_per_node_mib"):
        found["mem_mib"] = (sums[MEMORY], "MiB on its nodes")
    if jobs.has("gres_per_node"):
        gpus = sums[MEMORY + 1 + runs.gres.index("gpu")] if "gpu" in runs.gres else np.zeros(runs.n, np.int64)
        found["gpus"] = (gpus, "GPUs on its nodes")
    for name, (count, what) in found.items():
        if jobs.has(name):
            said = jobs.ints[name][runs.row]
            rows = np.flatnonzero(judged & (said != count))
            check.flag(len(rows), (f"job {ids[runs.row[k]]} has {name} {said[k]}, but {count[k]} {what}" for k in rows))
    asked_for = {"req_nodes": "nodes", "req_cpus": "cpus", "req_gpus": "gpus", "req_mem_mib": "mem_mib"}
    # where memory is no resource the cluster gives none to any job
    if not cluster.memory_tracked:
        del asked_for["req_mem_mib"]
    if not any(jobs.has(name) for name in asked_for):
        report.skip("request_met", f"no columns {', '.join(asked_for)}")
        return
    judged &= ~resized[runs.row]
    check = report.new("request_met", int(judged.sum()))
    task = jobs.ints["cpus_per_task"][runs.row] if jobs.has("cpus_per_task") else np.full(runs.n, NULL)
    for name, got in asked_for.items():
        if jobs.has(name, got):
            asked, given = jobs.ints[name][runs.row], jobs.ints[got][runs.row]
            if name == "req_cpus":  # where not all threads of a core are used, the others are given beside
                asked = _with_unused_threads(jobs, runs, cluster, asked)
            rows = np.flatnonzero(judged & (asked != NULL) & (given < asked))
            if name == "req_cpus":
                each = zip(asked[rows].tolist(), task[rows].tolist(), strict=True)
                short = [not _rounded(runs, cluster, int(k), *one) for k, one in zip(rows, each, strict=True)]
                rows = rows[np.array(short, bool)]
            if name == "req_gpus" and cluster.gpus_trusted:
                rows = rows[[not _has_all_gpus(runs, cluster, int(k), int(given[k])) for k in rows]]
            check.flag(
                len(rows), (f"job {ids[runs.row[k]]} got {given[k]} {got}, it asked for {asked[k]}" for k in rows)
            )


def _has_all_gpus(runs: JobRuns, cluster: ClusterFacts, run: int, given: int) -> bool:
    """Return True for a run on one node that has all its GPUs: 26.05 may count those of other nodes that it tried."""
    places = np.flatnonzero(runs.pieces.owner == run)
    low, high = runs.pieces.low[places], runs.pieces.high[places]
    gpus = cluster.gres.get("gpu")
    return gpus is not None and len(places) == 1 and low[0] == high[0] and given == int(gpus[low[0]])


def _with_unused_threads(jobs: Table, runs: JobRuns, cluster: ClusterFacts, asked: IntArray) -> IntArray:
    """CPUs that must be given for those `asked`: of cores of which a run uses some threads it has all.

    Parts of cores are none; so a run that has one lacks CPUs.
    """
    if not jobs.has("threads_per_core"):
        return asked
    pieces, told = runs.pieces, jobs.ints["threads_per_core"][runs.row]
    wanted = np.where(told == NULL, cluster.threads.max(initial=1), told)
    amount, used = pieces.amounts[CPUS], np.zeros(runs.n, np.int64)
    for threads in distinct(cluster.threads).tolist():
        before = np.concatenate([[0], np.cumsum(cluster.threads == threads)])
        nodes = before[pieces.high + 1] - before[pieces.low]
        each = amount // threads * np.minimum(wanted[pieces.owner], threads)
        used += np.bincount(pieces.owner, each * nodes, runs.n).astype(np.int64)
    length = pieces.high - pieces.low + 1
    given = np.bincount(pieces.owner, amount * length, runs.n).astype(np.int64)
    some = (told != NULL) & (asked != NULL) & (used > 0)
    return np.where(some, -(-asked * given // np.maximum(used, 1)), asked)


def _rounded(runs: JobRuns, cluster: ClusterFacts, run: int, asked: int, task: int) -> bool:
    """Return True if tasks of several CPUs explain that there are fewer CPUs than asked for.

    slurmctld counts what is free of a node, as far as it still needs CPUs, and hands out whole tasks of that. So 4
    tasks of 3 CPUs have 8 and 3 CPUs of two nodes of 8. And 7 tasks of 2 CPUs have 2, 4, 4 and 2 where 2, 5, 4 and 8
    are free. One node, the last that it counts, may have a part of a task beside free CPUs: 6 tasks of 2 CPUs have 5
    and 6 where 6 and 7 are free, which makes 5 and 7. Where the trace does not tell the CPUs of a `task` (NULL), as
    before schema 5, any size will do. Nor does it tell what is free where jobs share CPUs: each node may lack a part.
    Runs that began and ended in the second in which this one began may have been there when it was given its nodes.
    """
    return any(_explained(runs, cluster, run, asked, task, ended) for ended in (False, True))


def _explained(runs: JobRuns, cluster: ClusterFacts, run: int, asked: int, task: int, ended: bool) -> bool:
    """Return `_rounded` with runs that ended in the second in which they began, or without them."""
    pieces, facts = runs.pieces, cluster.partitions.get(runs.partition.values[runs.partition.codes[run]])
    mine, spare, threads = [], [], []  # of each node, CPUs the run has, CPUs free beside them, and threads of a core
    for k in np.flatnonzero(pieces.owner == run):
        amount, nodes = int(pieces.amounts[CPUS][k]), slice(pieces.low[k], pieces.high[k] + 1)
        mine.append(np.full(nodes.stop - nodes.start, amount, np.int64))
        spare.append(np.maximum(_free(runs, cluster, run, nodes, ended) - amount, 0))
        threads.append(cluster.threads[nodes])
    has, left, grain = np.concatenate(mine), np.concatenate(spare), np.concatenate(threads)
    least = int(has.min())  # each node has a whole task
    sizes = [size for size in range(2, least + 1) if (asked % size == 0 if task == NULL else size == task)]
    if facts is not None and facts.shares_cpus:
        return any(int(has.sum()) + len(has) * (size - 1) >= asked for size in sizes)
    return any(_explains(size, has, left, grain, asked) for size in sizes)


def _explains(size: int, has: IntArray, left: IntArray, grain: IntArray, asked: int) -> bool:
    """Return True if tasks of `size` CPUs explain what a run has of its nodes, beside what is left of each.

    Whole tasks get whole cores: threads of the last core that no task has are taken as left.
    """
    beyond = has % size
    unused = np.where((left > 0) & (beyond < grain), beyond, 0)
    has, left = has - unused, left + unused
    parts = np.flatnonzero((left > 0) & (has % size > 0))
    if not len(parts):
        return int((has + np.minimum(left, size - 1)).sum()) >= asked
    full = np.delete(has + left, parts[0])
    others_whole = bool((np.delete(left, parts[0]) < size).all())
    return len(parts) == 1 and others_whole and int(full.sum()) + int(has[parts[0]]) == asked


def _free(runs: JobRuns, cluster: ClusterFacts, run: int, nodes: slice, ended: bool) -> IntArray:
    """CPUs of each of `nodes` that `run` may have when it starts, (n_nodes,)."""
    free = cluster.cpus[nodes] - _others(runs, run, nodes, ended)
    code = runs.partition.codes[run]
    facts = cluster.partitions.get(runs.partition.values[code])
    if facts is None or facts.cpus_per_node is None:
        return free
    most: IntArray = np.minimum(
        free, facts.cpus_per_node - _others(runs, run, nodes, ended, runs.partition.codes == code)
    )
    return most


def _others(runs: JobRuns, run: int, nodes: slice, ended: bool, among: BoolArray | None = None) -> IntArray:
    """CPUs of each of `nodes` that other runs have when `run` starts, (n_nodes,); of one instant those told before.

    `ended`: also of those that ended in this instant, too. `among` are the runs that count, (n_runs,); None for all.
    """
    pieces, begin = runs.pieces, runs.begin[run]
    before = (runs.begin < begin) | ((runs.begin == begin) & (runs.told < runs.told[run]))
    there = before & (runs.end > begin)
    if ended:
        there |= (runs.begin == begin) & (runs.end == begin) & (runs.told <= runs.told[run])
        there[run] = False
    if among is not None:
        there &= among
    touching = there[pieces.owner] & (pieces.low < nodes.stop) & (pieces.high >= nodes.start)
    used = np.zeros(nodes.stop - nodes.start, np.int64)
    for k in np.flatnonzero(touching):
        low, high = max(pieces.low[k], nodes.start), min(pieces.high[k] + 1, nodes.stop)
        used[low - nodes.start : high - nodes.start] += pieces.amounts[CPUS][k]
    return used


def _show(value: int) -> str:
    return "null" if value == NULL else str(value)
