"""What a job asked for, from the fields of ``sacct``: CPUs, nodes, memory, GRES.

Requested values are preferred, allocated ones stand in when a dump has no others. ``sacct`` records totals of a job
where ``sbatch`` takes amounts per node or per CPU; the rules here undo that, and docs/sacct.md lists them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from slurmsim.workload import TextColumn
from slurmsim_workloads.sacct import fields
from slurmsim_workloads.sacct.columns import Columns, IntColumn, Mask
from slurmsim_workloads.sacct.submit_line import CUTS, SubmitLine, parse_submit_line

_Pair = tuple[tuple[tuple[str, str, int], ...], int]


class Request:
    """Columns of the request; `ints` and `texts` go into the workload.

    Parameters
    ----------
    columns
        Rows of jobs only.
    started
        Which of them ever ran: their node count is what they were given.
    use_submit_line
        Refine by the options in SubmitLine.
    """

    def __init__(self, columns: Columns, started: Mask, use_submit_line: bool) -> None:
        self.columns, self.started = columns, started
        self._asked = columns.parsed("ReqTRES", fields.parse_tres_field, fields.Tres(), fields.TRES_CUTS)
        self._given = columns.parsed("AllocTRES", fields.parse_tres_field, fields.Tres(), fields.TRES_CUTS)
        self._lines: tuple[npt.NDArray[np.int32] | None, list[SubmitLine]] = (None, [])
        if use_submit_line:
            self._lines = columns.parsed("SubmitLine", parse_submit_line, SubmitLine(), CUTS)
        self.cpus = self._first_given(
            [self._tres(self._asked, "cpu"), self._count("ReqCPUS"), self._tres(self._given, "cpu"),
             self._count("NCPUS"), self._count("AllocCPUS")]
        )  # fmt: skip
        self.asked_nodes = self._first_given([self._tres(self._asked, "node"), self._count("ReqNodes")])
        self.given_nodes = self._first_given(
            [self._tres(self._given, "node"), self._count("AllocNodes"), self._count("NNodes")]
        )
        self.ints: dict[str, IntColumn] = {}
        self.texts: dict[str, TextColumn] = {}
        self._sizes()
        self._memory()
        self._gres()
        self._flags()

    def _count(self, name: str) -> IntColumn:
        return self.columns.ints(name, fields.parse_number)

    def _tres(self, coded: tuple[npt.NDArray[np.int32], list[fields.Tres]], kind: str) -> IntColumn:
        return np.array([getattr(t, kind) for t in coded[1]], np.int64)[coded[0]]

    def _first_given(self, candidates: Sequence[IntColumn]) -> IntColumn:
        """Per row, the first candidate above 0; -1 when there is none."""
        result = np.full(len(self.columns), -1, np.int64)
        for candidate in reversed(candidates):
            result = np.where(candidate > 0, candidate, result)
        return result

    def line(self, attribute: str, missing: int = -1) -> IntColumn:
        """Return an option of SubmitLine; `missing` without one."""
        codes, values = self._lines
        if codes is None:
            return np.full(len(self.columns), missing, np.int64)
        return np.array([getattr(v, attribute) for v in values], np.int64)[codes]

    def line_text(self, attribute: str) -> TextColumn:
        """Return an option of SubmitLine as text."""
        codes, values = self._lines
        if codes is None:
            return TextColumn.constant(len(self.columns))
        index: dict[str, int] = {"": 0}
        remap = np.array([index.setdefault(getattr(v, attribute), len(index)) for v in values], np.int32)
        return TextColumn(remap[codes], list(index))

    def ignored(self) -> dict[str, Mask]:
        """Options of SubmitLine that are not modelled, by name, with a mask of the rows that have them."""
        codes, values = self._lines
        found: dict[str, Mask] = {}
        if codes is None:
            return found
        for name in sorted({name for value in values for name in value.ignored}):
            having = np.array([name in value.ignored for value in values], np.bool_)
            found[name] = having[codes]
        return found

    def _sizes(self) -> None:
        """Nodes are taken as asked for when the job got just as many, or asked for more than one.

        Slurm records one requested node both for ``-N 1`` and for no ``-N`` at all; a job that then ran on several
        gave no number, and one that never ran is not pinned to one node by it.
        """
        asked = np.where(self.asked_nodes > 0, self.asked_nodes, self.given_nodes)
        exact = self.started & ((self.given_nodes == asked) | (self.given_nodes < 0))
        nodes = np.where((asked > 0) & (exact | (asked > 1)), asked, -1)
        line_nodes = self.line("nodes")
        nodes = np.where(line_nodes > 0, line_nodes, nodes)
        flexible = self.started & (self.given_nodes > nodes) & (line_nodes < 0)
        self.ints["nodes"] = np.where(flexible, -1, nodes)
        self.ints["nodes_max"] = self.line("nodes_max")
        per_task = self.line("cpus_per_task")
        per_task = np.where((per_task > 1) & (self.cpus % np.maximum(per_task, 1) == 0), per_task, 1)
        self.ints["cpus_per_task"] = per_task
        self.ints["tasks"] = self.cpus // per_task
        self.ints["tasks_per_node"] = self.line("tasks_per_node")

    def _memory(self) -> None:
        codes, values = self.columns.parsed("ReqMem", fields.parse_req_mem, fields.Memory(-1, "job"))
        mib = np.array([v.mib for v in values], np.int64)[codes]
        scope = np.array([("node", "cpu", "job").index(v.scope) for v in values], np.int64)[codes]
        if not (mib > 0).any():
            mib = np.full_like(mib, -1)  # 0 everywhere: the site does not manage memory
        total = self._tres(self._asked, "mem")
        total_nodes = np.maximum(self._tres(self._asked, "node"), 1)
        only_given = (total < 0) & (mib < 0)
        total = np.where(only_given, self._tres(self._given, "mem"), total)
        total_nodes = np.where(only_given, np.maximum(self._tres(self._given, "node"), 1), total_nodes)
        nodes = np.maximum(np.where(self.asked_nodes > 0, self.asked_nodes, self.given_nodes), 1)
        per_node = np.where(total > 0, -(-total // total_nodes), -1)
        whole_job = (mib >= 0) & (scope == 2) & (per_node < 0)
        per_node = np.where(whole_job, -(-mib // nodes), per_node)
        per_cpu = self._shared_out(np.where(whole_job, mib, total), per_node)
        per_cpu = np.where((mib >= 0) & (scope == 0), -1, per_cpu)
        per_node = np.where((mib >= 0) & (scope == 0), mib, per_node)
        per_cpu = np.where((mib >= 0) & (scope == 1), mib, per_cpu)
        per_node = np.where(per_cpu >= 0, -1, per_node)
        line_node, line_cpu = self.line("mem_per_node"), self.line("mem_per_cpu")
        given = (line_node >= 0) | (line_cpu >= 0)
        self.ints["mem_per_node"] = np.where(given, line_node, per_node)
        self.ints["mem_per_cpu"] = np.where(given, line_cpu, per_cpu)

    def _shared_out(self, total: IntColumn, per_node: IntColumn) -> IntColumn:
        """Return the memory per CPU of jobs with an open node count; -1 for the others.

        Such a job got `per_node` on each of its nodes, which AllocTRES then shows, or its total was meant per CPU.
        """
        open_count = self.started & (self.ints["nodes"] < 0) & (total > 0) & (self.given_nodes > 1)
        by_node = self._tres(self._given, "mem") == per_node * self.given_nodes
        return np.where(open_count & ~by_node, -(-total // np.maximum(self.cpus, 1)), -1)

    def _gres(self) -> None:
        """Totals that divide by the node count are per node (``--gres``), other GPUs are the job's (``--gpus``)."""
        asked, given = self._asked, self._given
        use_asked = "ReqTRES" in self.columns
        codes, values = asked if use_asked else given
        nodes = np.maximum(self.asked_nodes if use_asked else self.given_nodes, 1)
        nodes = np.where(self.asked_nodes > 0, nodes, np.maximum(self.given_nodes, 1))
        pairs, pair_codes = np.unique(np.stack([codes.astype(np.int64), nodes]), axis=1, return_inverse=True)
        texts = [_gres_text((values[int(code)].gres, int(n))) for code, n in pairs.T]
        gres, gpus = TextColumn.from_list([t[0] for t in texts]), TextColumn.from_list([t[1] for t in texts])
        pair_codes = pair_codes.reshape(-1)
        self.texts["gres"] = TextColumn(gres.codes[pair_codes], gres.values)
        self.texts["gpus"] = TextColumn(gpus.codes[pair_codes], gpus.values)
        if "ReqGRES" in self.columns and not use_asked:  # up to 20.11: per node already
            old = self.columns.text("ReqGRES")
            values_now = ["" if v.endswith(":0") else v.removeprefix("gres:") for v in old.values]
            self.texts["gres"] = TextColumn.from_list([values_now[c] for c in old.codes.tolist()])

    def _flags(self) -> None:
        for name, field in (("exclusive", "Exclusive"), ("oversubscribe", "OverSubscribe")):
            recorded = self.columns.ints(field, fields.parse_yes, 0)
            self.ints[name] = np.maximum(recorded, self.line(name, 0))
        self.ints["contiguous"] = self.line("contiguous", 0)
        self.ints["nice"] = self.line("nice", 0)
        self.ints["requeue"] = self.line("requeue", 1)
        self.ints["time_min"] = self.line("time_min")
        for name, field in (("reservation", "Reservation"), ("licenses", "Licenses")):
            self.texts[name] = self.columns.text(field)
        self.texts["node_list"] = self.line_text("node_list")
        self.texts["exclude"] = self.line_text("exclude")
        self.texts["options"] = self.line_text("options")


def _gres_text(pair: _Pair) -> tuple[str, str]:
    """(--gres, --gpus) for totals of a job on a number of nodes."""
    items, nodes = pair
    per_node, gpus = [], []
    for name, type_, count in items:
        label = f"{name}:{type_}" if type_ else name
        if count % nodes == 0:
            per_node.append(f"{label}:{count // nodes}")
        elif name == "gpu":
            gpus.append(f"{type_}:{count}" if type_ else str(count))
        else:
            per_node.append(f"{label}:{-(-count // nodes)}")
    return ",".join(per_node), ",".join(gpus)
