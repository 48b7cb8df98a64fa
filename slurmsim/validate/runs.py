"""Every run of every job: when, on which nodes, how much of each. A requeued job has several."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.validate.amounts import Pieces, Segments, parse_counts, parse_gres, pieces, segments
from slurmsim.validate.columns import NULL, BoolArray, IntArray, Table, Texts, distinct
from slurmsim.validate.nodelists import NodeIndex

CPUS, MEMORY = 0, 1  # columns of `JobRuns.amounts`; the GRES of `JobRuns.gres` follow

LAST = int(np.iinfo(np.int64).max)
"""The row of `JobRuns.told` where no event tells: after everything else of its second."""


@dataclass(slots=True)
class RawRuns:
    """Runs before their nodes are read; `end` may be `NULL` for what still runs. One row a run."""

    row: IntArray  # of the jobs table
    start: IntArray
    end: IntArray
    partition: Texts
    nodes: Texts
    known: BoolArray  # the jobs table's amounts are this run's
    resized: BoolArray  # it began by a resize: its job was there before
    stopped: BoolArray | None = None  # it is a time of suspension (all runs go on, when None)
    unchecked: BoolArray | None = None  # it was resumed without looking whether its CPUs were free
    told: IntArray | None = None  # row of the events table that tells of its begin; without events none


@dataclass(slots=True)
class JobRuns:
    """Runs in order of start, then end; their nodes cut into pieces of equal amounts per node."""

    row: IntArray  # row of the jobs table, (n_runs,)
    # begin, end: indices into `times`, (n_runs,); a run that had not ended ends with the last of `times`
    begin: IntArray
    end: IntArray
    partition: Texts  # partition it ran in
    # all instants at which a run starts or ends or a node goes or comes, ascending, then one later than all
    times: IntArray
    nodes: IntArray  # number of known nodes, (n_runs,)
    # bad_nodes, bad_amounts: run -> what is wrong with its node list; runs with per-node texts that are malformed or do
    # not fit the nodes
    bad_nodes: dict[int, str]
    bad_amounts: IntArray
    known: BoolArray  # whether amounts are recorded; where not, one CPU on each node is assumed and no memory or GRES
    gres: list[str]  # names of the GRES columns
    pieces: Pieces  # nodes with `pieces.amounts`: CPUs, memory in MiB, then `gres`
    resized: BoolArray  # runs that began by a resize
    # stopped, unchecked: True for times of suspension, without CPUs; true for runs that may share their CPUs with other
    # jobs
    stopped: BoolArray
    unchecked: BoolArray
    # row of the events table that tells of the begin, by which what happens within one second is put in order
    told: IntArray

    @property
    def n(self) -> int:
        """How many runs."""
        return len(self.row)


def runs_from_rows(jobs: Table) -> RawRuns:
    """One run for each job that has a start."""
    rows = np.flatnonzero(jobs.ints["start"] != NULL)
    return RawRuns(
        rows,
        held_since(jobs)[rows],
        jobs.ints["end"][rows],
        _take(jobs.texts.get("partition"), rows),
        _take(jobs.texts.get("node_list"), rows),
        np.ones(len(rows), bool),
        np.zeros(len(rows), bool),
    )


def held_since(jobs: Table) -> IntArray:
    """Since when each row's job had its nodes: its start, where the table does not tell better."""
    start = jobs.ints["start"]
    told = jobs.ints.get("held_since")
    return start if told is None else np.where(told != NULL, told, start)


def lay_out(raw: RawRuns, jobs: Table, index: NodeIndex, instants: IntArray) -> JobRuns:
    """Sort the runs, read their nodes and amounts.

    Runs that end before they start are kept as empty ones; another check names them. `instants` are times that
    shall be in `JobRuns.times` beside those of the runs.
    """
    later = max([int(t.max()) for t in (raw.start, raw.end, instants) if len(t)], default=0) + 1
    end = np.maximum(np.where(raw.end == NULL, later, raw.end), raw.start)
    times = distinct(np.concatenate([raw.start, end, instants, [later]]))
    order = np.lexsort((raw.row, end, raw.start))
    row, known = raw.row[order], raw.known[order]
    node_texts = Texts(raw.nodes.codes[order], raw.nodes.values)
    runs = index.runs(node_texts.values)
    nodes = runs.count[node_texts.codes] if len(order) else np.zeros(0, np.int64)
    bad_texts = np.zeros(len(node_texts.values) + 1, bool)
    bad_texts[list(runs.bad)] = True
    bad_nodes = {int(i): runs.bad[int(node_texts.codes[i])] for i in np.flatnonzero(bad_texts[node_texts.codes])}
    columns, bad_amounts, gres = _amounts(jobs, row, known, nodes)
    found = pieces(runs, node_texts.codes, columns)
    no_run = np.zeros(len(row), bool)
    stopped = no_run if raw.stopped is None else raw.stopped[order]
    if stopped.any():
        found.amounts[CPUS] = np.where(stopped[found.owner], 0, found.amounts[CPUS])
    return JobRuns(
        row,
        np.searchsorted(times, raw.start[order]),
        np.searchsorted(times, end[order]),
        Texts(raw.partition.codes[order], raw.partition.values),
        times,
        nodes,
        bad_nodes,
        np.setdiff1d(bad_amounts, np.fromiter(bad_nodes, np.int64, len(bad_nodes))),
        known,
        gres,
        found,
        raw.resized[order],
        stopped,
        no_run if raw.unchecked is None else raw.unchecked[order],
        np.full(len(row), LAST) if raw.told is None else raw.told[order],
    )


def _amounts(
    jobs: Table, row: IntArray, known: BoolArray, nodes: IntArray
) -> tuple[list[Segments], IntArray, list[str]]:
    """Segments of CPUs, memory and each GRES; runs with a bad text; names of the GRES."""
    columns: list[Segments] = []
    bad: list[IntArray] = []

    def column(text: str, parsed: Mapping[str, list[tuple[int, int]] | None], otherwise: int) -> None:
        values = jobs.texts[text].values if jobs.has(text) else []
        codes = np.where(known, jobs.texts[text].codes[row], -1) if values else np.full(len(row), -1)
        made, wrong = segments(codes, [parsed[v] for v in values], nodes, otherwise)
        columns.append(made)
        bad.append(wrong)

    for text, otherwise in (("cpus_per_node", 1), ("mem_per_node_mib", 0)):
        values = jobs.texts[text].values if jobs.has(text) else []
        column(text, {v: parse_counts(v) for v in values}, otherwise)
    gres = {v: parse_gres(v) for v in (jobs.texts["gres_per_node"].values if jobs.has("gres_per_node") else [])}
    names = sorted({name for found in gres.values() if found for name in found})
    for name in names:
        column("gres_per_node", {v: None if f is None else f.get(name, [(-1, 0)]) for v, f in gres.items()}, 0)
    if gres and not names:  # malformed texts only
        malformed = np.array([found is None for found in gres.values()])
        bad.append(np.flatnonzero(malformed[jobs.texts["gres_per_node"].codes[row]]))
    return columns, distinct(np.concatenate(bad)), names


def _take(texts: Texts | None, rows: IntArray) -> Texts:
    if texts is None:
        return Texts(np.zeros(len(rows), np.int64), [""])
    return Texts(texts.codes[rows], texts.values)
