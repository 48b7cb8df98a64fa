"""The three batches of EURORA 2014: jobs of two hours each, prepared as the authors prepared them, and their cluster.

Windows, selection and preparation as in the authors' scripts: jobs submitted before the end of the window that end
after its beginning; what came earlier comes at its beginning; run times are PBS's, cut at the wall time. Jobs that were
running at the beginning are dispatched anew. Table 6 counts the paper's jobs; the public trace has most of them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm
from pathlib import Path

import numpy as np

from slurmsim.errors import InputError
from slurmsim.workload import TextColumn, Workload

PBS = "PBS"
MODELS = ("mks", "mks_wt_nl", "nl", "nl_mks_wt", "wt", "wt_mks_nl")
LOG = "seeds/eurora_2014-03-31_to_04-04.csv"
WINDOW_S = 7200
SAMPLE_S = 15
BEGINS = {1: 1396274400, 2: 1396444200, 3: 1396540800}
"""Beginning of each batch, in the log's own clock (s)."""
CORES, PBS_CORES = 1024, 976  # PBS had 61 nodes
MEMORY_KB = 33_554_432  # of each node in the later simulator of the same group; some units ask for 20 GiB
QUEUES = {"debug": "debug", "parallel": "parallel", "np_longpar": "longpar", "reservation": "other"}
EWT_S = {"debug": 1800, "parallel": 21600, "longpar": 86400, "other": 1800}
"""What the authors' analysis divides waits by."""
CLASSES = ("1", "2", "4", "5", "6", "8", "more")
TABLE_6 = {
    1: {"debug": 237, "parallel": 130, "longpar": 62, "other": 8,
        "1": 298, "2": 2, "4": 1, "5": 1, "6": 6, "8": 59, "more": 70},
    2: {"debug": 133, "parallel": 240, "longpar": 25, "other": 36,
        "1": 197, "2": 73, "4": 4, "5": 1, "6": 2, "8": 56, "more": 101},
    3: {"debug": 127, "parallel": 415, "longpar": 12, "other": 65,
        "1": 258, "2": 38, "4": 7, "5": 0, "6": 3, "8": 187, "more": 126},
}  # fmt: skip
"""The paper's jobs by queue and by cores."""
DEBUG_NODES, OTHER_NODES = "n[01-02,33-34]", "n[03-32,35-64]"
"""In the trace jobs of parallel and longpar never ran on the first four, jobs of debug did."""
NIGHT_S = 18 * 3600
"""From when on longpar jobs start: 197 of the 200 in the trace began from 18:00 to 01:00."""
_MOST = 2**53 - 1  # floats are exact up to here, and pandas reads through them
_COLUMNS = ("job_id", "submit_utc", "start_utc", "end_utc", "wall_req_s", "n_units", "cores", "gpus", "mics", "mem_kb")


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A job of a batch; times in s, amounts of one unit, memory in KB.

    `pbs_start`, `pbs_end`: what PBS did inside the window. `watts`: of the whole job, 0 where the trace has none; a
    model of the trace's publishers predicted them.
    """

    id: int
    queue: str
    q: int
    duration: int
    run_s: int
    units: int
    cores: int
    gpus: int
    mics: int
    mem_kb: int
    pbs_start: int
    pbs_end: int
    watts: float = 0.0

    @property
    def core_class(self) -> str:
        """Its row in the second part of Table 6."""
        total = str(self.cores * self.units)
        return total if total in CLASSES else "more"


def read_log(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of the published trace. Raises InputError that names file, line and column."""
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path), field="--log") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(" ".join(str(error).split()), file=str(path), expected="the trace as CSV") from None
    found: dict[str, np.ndarray] = {}
    for name in ("queue", *_COLUMNS):
        if name not in table.columns:
            raise InputError(f"no column {name}", file=str(path), expected=", ".join(("queue", *_COLUMNS)))
    for name in _COLUMNS:
        numbers = pd.to_numeric(table[name], errors="coerce").astype(float)
        wrong = np.flatnonzero(numbers.isna() | (numbers % 1 != 0) | (numbers < 0) | (numbers > _MOST))
        if len(wrong):
            raise InputError(f"bad number {table[name].iloc[wrong[0]]!r}", file=str(path), line=int(wrong[0]) + 2,
                             field=name, expected=f"a whole number up to {_MOST}")  # fmt: skip
        found[name] = numbers.to_numpy(np.int64)
    without = np.flatnonzero(found["cores"] == 0)
    if len(without):
        raise InputError("a job without cores", file=str(path), line=int(without[0]) + 2, field="cores",
                         expected="at least one a unit")  # fmt: skip
    for name in ("cores", "gpus", "mics", "mem_kb"):
        uneven = np.flatnonzero(found[name] % np.maximum(found["n_units"], 1) != 0)
        if len(uneven):
            raise InputError(f"{found[name][uneven[0]]} is not shared evenly by its units", file=str(path),
                             line=int(uneven[0]) + 2, field=name, expected="a multiple of n_units")  # fmt: skip
    strange = np.flatnonzero(~table["queue"].isin(list(QUEUES)))
    if len(strange):
        raise InputError(f"unknown queue {table['queue'].iloc[strange[0]]!r}", file=str(path),
                         line=int(strange[0]) + 2, field="queue", expected=", ".join(QUEUES))  # fmt: skip
    found["queue"] = table["queue"].to_numpy(str)
    watts = table["power_w"] if "power_w" in table.columns else pd.Series("", index=table.index)
    found["power_w"] = pd.to_numeric(watts, errors="coerce").fillna(0.0).to_numpy(np.float64)
    return found


def batch(log: dict[str, np.ndarray], number: int) -> list[BatchJob]:
    """Return the jobs of batch 1, 2 or 3, in order of arrival."""
    begin = BEGINS[number]
    inside = (log["submit_utc"] < begin + WINDOW_S) & (log["end_utc"] > begin)
    jobs = [_prepared(log, int(row), begin) for row in np.flatnonzero(inside)]
    return sorted(jobs, key=lambda job: (job.q, job.id))


def _prepared(log: dict[str, np.ndarray], row: int, begin: int) -> BatchJob:
    value = {name: int(log[name][row]) for name in _COLUMNS}
    start = max(value["start_utc"], begin)
    end = max(min(value["end_utc"], start + value["wall_req_s"]), start + 1)
    units = max(value["n_units"], 1)
    return BatchJob(
        value["job_id"], QUEUES[str(log["queue"][row])], max(value["submit_utc"], begin), value["wall_req_s"],
        end - start, units, value["cores"] // units, value["gpus"] // units, value["mics"] // units,
        value["mem_kb"] // units, start, end, float(log["power_w"][row]),
    )  # fmt: skip


def successive(log: dict[str, np.ndarray], count: int, first: int) -> list[BatchJob]:
    """`count` jobs from number `first` on in order of submission; times from the first submission."""
    rows = np.lexsort((log["job_id"], log["submit_utc"]))[first : first + count]
    jobs = [_prepared(log, int(row), 0) for row in rows]
    begin = jobs[0].q if jobs else 0
    return [replace(job, q=job.q - begin, pbs_start=job.pbs_start - begin, pbs_end=job.pbs_end - begin) for job in jobs]


def completed(log: dict[str, np.ndarray], number: int, seed: int) -> list[BatchJob]:
    """Return the batch with as many jobs as Table 6 has.

    Missing jobs are drawn from jobs of the same queue and class of cores in the whole trace. Queue and class of a
    missing job are drawn together, as often as the trace has them together, so that the sums of both are the table's.
    Its arrival is uniform in the window. PBS's start of such a job is its arrival.
    """
    begin, have = BEGINS[number], batch(log, number)
    rng = np.random.default_rng([seed, number])
    rows = [_prepared(log, row, 0) for row in range(len(log["job_id"]))]
    by_kind: dict[tuple[str, str], list[BatchJob]] = {}
    for job in rows:
        by_kind.setdefault((job.queue, job.core_class), []).append(job)
    counted = Counter(job.queue for job in have) + Counter(job.core_class for job in have)
    missing = {name: TABLE_6[number][name] - counted[name] for name in TABLE_6[number]}
    added: list[BatchJob] = []
    next_id = 1 + max(job.id for job in rows)
    for queue, core_class in _kinds(missing, by_kind, rng):
        like = by_kind[queue, core_class][rng.integers(len(by_kind[queue, core_class]))]
        q = begin + int(rng.integers(WINDOW_S))
        added.append(replace(like, id=next_id + len(added), q=q, pbs_start=q, pbs_end=q + like.run_s))
    return sorted([*have, *added], key=lambda job: (job.q, job.id))


def _kinds(
    missing: dict[str, int], by_kind: dict[tuple[str, str], list[BatchJob]], rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Queue and class of each missing job; classes of few queues choose first."""
    queues = {name: max(missing[name], 0) for name in QUEUES.values()}
    tokens = [name for name in CLASSES for _ in range(max(missing[name], 0))]
    rng.shuffle(tokens)
    tokens.sort(key=lambda name: sum((queue, name) in by_kind for queue in queues))
    found = []
    for core_class in tokens:
        open_to = [queue for queue, left in queues.items() if left and (queue, core_class) in by_kind]
        if not open_to:
            continue
        weight = np.array([queues[queue] * len(by_kind[queue, core_class]) for queue in open_to], float)
        queue = open_to[rng.choice(len(open_to), p=weight / weight.sum())]
        queues[queue] -= 1
        found.append((queue, core_class))
    return found


# -- as slurmsim takes it ---------------------------------------------------------------------------------------------


def memory_scale(jobs: Sequence[BatchJob]) -> int:
    """Parts of a KB in which the memory of a unit is a whole number for each of its CPUs."""
    return lcm(*(job.cores // gcd(job.cores, job.mem_kb) for job in jobs))


def cluster(jobs: Sequence[BatchJob], ruled: bool = False) -> str:
    """``slurm.conf`` of EURORA's 64 nodes. Slurm's MiB are parts of a KB here (`memory_scale`), to be exact.

    With PBS's rules, `ruled`, jobs of parallel and longpar keep off the nodes for debug.
    """
    memory = MEMORY_KB * memory_scale(jobs)
    node = f"CPUs=16 Sockets=2 CoresPerSocket=8 RealMemory={memory}"
    return "\n".join([
        "# EURORA: 32 nodes with MICs and 32 with GPUs; memory is counted in parts of a KB",
        "ClusterName=eurora", "SlurmctldHost=localhost", "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory", "GresTypes=gpu,mic",
        f"NodeName=n[01-32] {node} Gres=mic:2", f"NodeName=n[33-64] {node} Gres=gpu:2",
        *(f"PartitionName={queue} Nodes={_nodes(queue, ruled)} MaxTime=UNLIMITED" for queue in EWT_S), "",
    ])  # fmt: skip


def _nodes(queue: str, ruled: bool) -> str:
    return OTHER_NODES if ruled and queue in {"parallel", "longpar"} else "ALL"


def night(job: BatchJob, begin: int) -> int:
    """Return when PBS's rule lets a job start: longpar at night, but for what ran when the window began."""
    day = begin - begin % 86400
    held = job.queue == "longpar" and job.pbs_start > begin
    return max(job.q, day + NIGHT_S) if held else job.q


def workload(jobs: Sequence[BatchJob], nights_from: int | None = None) -> Workload:
    """Return the jobs as tasks: a unit is a task with its CPUs, memory and accelerators.

    With the beginning of a window in `nights_from`, longpar jobs start at night only.
    """
    scale = memory_scale(jobs)
    columns = {
        "job_id": [job.id for job in jobs], "submit": [job.q for job in jobs], "run_time": [job.run_s for job in jobs],
        "time_limit": [job.duration for job in jobs], "tasks": [job.units for job in jobs],
        "cpus_per_task": [job.cores for job in jobs],
        "mem_per_cpu": [job.mem_kb * scale // job.cores for job in jobs],
        "log_start": [job.pbs_start for job in jobs], "log_end": [job.pbs_end for job in jobs],
    }  # fmt: skip
    if nights_from is not None:
        columns["begin"] = [night(job, nights_from) for job in jobs]
    return Workload(
        {name: np.array(values, np.int64) for name, values in columns.items()},
        {
            "partition": TextColumn.from_list([job.queue for job in jobs]),
            "options": TextColumn.from_list([_accelerators(job) for job in jobs]),
        },
    )


def _accelerators(job: BatchJob) -> str:
    asked = [f"gres/{name}={count}" for name, count in (("gpu", job.gpus), ("mic", job.mics)) if count]
    return f"--tres-per-task={','.join(asked)}" if asked else ""
