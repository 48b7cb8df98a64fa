"""Job ids of a dump: steps and het components left out, repeated records merged, arrays taken apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slurmsim.workload import QualityReport, Workload
from slurmsim_workloads.quality import Ledger
from slurmsim_workloads.sacct.columns import Columns, IntColumn
from slurmsim_workloads.sacct.fields import parse_number, parse_task_list

UNREAD = "line with a value that is not understood"
_STEP = r"^[^.\[]*\."
_ID = r"^(?P<job>\d{1,15})(?:_(?P<task>\d{1,9})|_(?P<list>\[.*))?(?P<het>\+\d+)?$"


class JobIds:
    """Ids of the rows of a dump that are not steps.

    `job_id` is JobIDRaw, or the number in JobID; array tasks of a dump without JobIDRaw get new numbers above all
    others. `array_job_id` and `array_task_id` come from JobID (-1 when not an array task); rows that stand for many
    pending tasks (``12_[1-5%2]``) are taken apart by `expand`.
    """

    def __init__(self, columns: Columns, report: QualityReport) -> None:
        import pyarrow.compute as pc

        name = "JobID" if "JobID" in columns else "JobIDRaw"
        step = pc.match_substring_regex(columns.array(name), _STEP).to_numpy(False)
        report.drop("record of a step, its job's record counts", int(step.sum()))
        self.columns = columns = columns.select(~step) if step.any() else columns
        texts = columns.array(name)
        self.ledger = Ledger(report, len(columns), lambda i: f"line {columns.lines[i]}: job {texts[i].as_py()}")
        parts = pc.extract_regex(texts, _ID)
        if parts.null_count:
            columns.refuse(parts.is_null().to_numpy(False), name, lambda row: f"{texts[row].as_py()!r} is not a job id",
                           "12, 12_3, 12_[1-5%2] or 12.batch")  # fmt: skip
            parts = pc.extract_regex(pc.if_else(parts.is_null(), "0", texts), _ID)
        het = pc.not_equal(pc.struct_field(parts, "het"), "").to_numpy(False)
        self.drop_bad()
        self.ledger.drop(het, "component of a heterogeneous job, not modelled")
        number = _numbers(pc.struct_field(parts, "job"))
        task = _numbers(pc.struct_field(parts, "task"))
        self._lists = self._read_lists(pc.struct_field(parts, "list"), name)
        is_list = np.zeros(len(columns), np.bool_)
        is_list[list(self._lists)] = True
        self.array_task_id = task
        self.array_job_id = np.where((task >= 0) | is_list, number, -1)
        # the record's own throttle says nothing of tasks split off earlier, so it counts for the whole array
        self._throttle = {int(number[row]): limit for row, (_, limit) in self._lists.items() if limit > 0}
        if name == "JobID" and "JobIDRaw" in columns:
            raw = columns.ints("JobIDRaw", parse_number)
            shown = columns.array("JobIDRaw")
            columns.refuse((raw <= 0) & self.ledger.keep, "JobIDRaw",
                           lambda row: f"{shown[row].as_py()!r} is not a job id", "a number")  # fmt: skip
            self.job_id = raw
        else:
            self.job_id = self._number_tasks(number, task)
        zero = (self.job_id <= 0) & self.ledger.keep
        columns.refuse(zero, name, lambda row: "0 is not a job id", "a number > 0")
        self.drop_bad()

    def drop_bad(self) -> None:
        """Drop the rows with a value that was not understood."""
        dropped = self.ledger.report.dropped
        fresh = UNREAD not in dropped
        self.ledger.drop(self.columns.bad, UNREAD)
        if fresh and UNREAD in dropped:
            self.ledger.report.examples[UNREAD][0] = self.columns.reason

    def _read_lists(self, column: object, name: str) -> dict[int, tuple[list[int], int]]:
        """Return row -> (tasks, throttle) of the rows that stand for several pending tasks."""
        import pyarrow.compute as pc

        lists: dict[int, tuple[list[int], int]] = {}
        short = np.zeros(len(self.columns), np.bool_)
        for row in np.flatnonzero(pc.not_equal(column, "").to_numpy(False)).tolist():
            text = column[row].as_py()  # type: ignore[index]
            try:
                tasks = parse_task_list(text)
            except ValueError as error:
                here = np.arange(len(self.columns)) == row
                shown = f"{text!r} is not an array of tasks"
                self.columns.refuse(here, name, lambda row, shown=shown: shown, str(error))  # type: ignore[misc]
                continue
            if tasks is None:
                short[row] = True
            else:
                lists[row] = tasks
        self.ledger.drop(short, "pending array with a task list that sacct cut short (SLURM_BITSTR_LEN=0 avoids it)")
        return lists

    def _number_tasks(self, number: IntColumn, task: IntColumn) -> IntColumn:
        """Return new ids for array tasks that have none of their own, by array and index."""
        rows = np.flatnonzero(task >= 0)
        if not len(rows):
            return number
        _, codes = np.unique(np.stack([number[rows], task[rows]]), axis=1, return_inverse=True)
        result = number.copy()
        result[rows] = int(number.max()) + 1 + codes.reshape(-1)
        self.ledger.repair(task >= 0, "array task without JobIDRaw, given a new number")
        return result

    def merge_repeated(self, submit: IntColumn, start: IntColumn, end: IntColumn) -> None:
        """Of several records of one id keep the last: requeued jobs under ``sacct -D``, dumps that overlap.

        Raises WorkloadError when the records belong to different users: the id was used twice.
        """
        keep = np.flatnonzero(self.ledger.keep)
        order = keep[np.lexsort((keep, end[keep] >= 0, submit[keep], self.job_id[keep]))]
        ids = self.job_id[order]
        same = ids[1:] == ids[:-1]
        if not same.any():
            return
        user = self.columns.text("User").codes
        earlier, later = order[:-1][same], order[1:][same]
        clash = np.flatnonzero(user[earlier] != user[later])
        if len(clash):
            first, second = sorted((int(earlier[clash[0]]), int(later[clash[0]])))
            raise self.columns.fail(
                second, "JobIDRaw" if "JobIDRaw" in self.columns else "JobID",
                f"job {self.job_id[second]} is another user's on line {self.columns.lines[first]}",
                "one cluster and one range of job ids in a dump",
            )  # fmt: skip
        again = np.zeros(len(submit), np.bool_)
        again[earlier[submit[earlier] == submit[later]]] = True
        requeued = np.zeros(len(submit), np.bool_)
        requeued[earlier[submit[earlier] != submit[later]]] = True
        self.ledger.drop(again, "record repeated, the last one counts")
        self.ledger.drop(requeued, "earlier run of a requeued job, the last run counts")

    def array_limits(self, from_submit_line: IntColumn) -> IntColumn:
        """Return the throttle of each array task, from SubmitLine or from any pending record of its array."""
        recorded = np.full(len(from_submit_line), -1, np.int64)
        if self._throttle:
            arrays, codes = np.unique(self.array_job_id, return_inverse=True)
            recorded = np.array([self._throttle.get(number, -1) for number in arrays.tolist()], np.int64)[codes]
        return np.where(self.array_job_id > 0, np.where(recorded > 0, recorded, from_submit_line), -1)

    def known_numbers(self) -> frozenset[int]:
        """Return ids and array ids a dependency can name."""
        keep = self.ledger.keep
        return frozenset(np.union1d(self.job_id[keep], self.array_job_id[keep]).tolist()) - {-1}

    def expand(self, workload: Workload, rows: npt.NDArray[np.intp]) -> Workload:
        """Return `rows` of the workload, in order of submit time and job id, pending arrays as one row a task.

        The last task keeps the array's own number, as in Slurm; the others get new ones above all others. Tasks
        that have a record of their own are left out of the list.
        """
        lists = {row: self._lists[row] for row in rows.tolist() if row in self._lists}
        if not lists:
            return workload.take(rows)
        arrays = {int(self.array_job_id[row]) for row in lists}
        single = rows[np.isin(self.array_job_id[rows], list(arrays)) & (self.array_task_id[rows] >= 0)]
        taken = set(zip(self.array_job_id[single].tolist(), self.array_task_id[single].tolist(), strict=True))
        tasks_of = {
            row: [t for t in tasks if (int(self.array_job_id[row]), t) not in taken]
            for row, (tasks, _) in lists.items()
        }
        counts = np.array([len(tasks_of[row]) if row in tasks_of else 1 for row in rows.tolist()], np.int64)
        result = workload.take(np.repeat(rows, counts))
        job_id, task_id = result.ints["job_id"], result.ints["array_task_id"]
        next_id = int(workload.ints["job_id"].max()) + 1
        starts = np.cumsum(counts) - counts
        for position, row in zip(starts.tolist(), rows.tolist(), strict=True):
            if tasks_of.get(row):
                n = len(tasks_of[row])
                task_id[position : position + n] = tasks_of[row]
                job_id[position : position + n - 1] = np.arange(next_id, next_id + n - 1)
                next_id += n - 1
        grown = np.zeros(len(self.ledger.keep), np.bool_)
        grown[list(lists)] = True
        self.ledger.repair(grown, "pending array taken apart into its tasks")
        return result.sorted()


def _numbers(column: object) -> IntColumn:
    """Digits as int64; -1 for empty text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: IntColumn = pc.if_else(pc.equal(column, ""), "-1", column).cast(pa.int64()).to_numpy(False).copy()
    return found
