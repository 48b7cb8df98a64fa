"""The few columns of ``jobs.parquet`` that measures need, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass, replace
from slurmsim.states import FINAL_STATES, REFUSED

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# Columns `JobColumns.of` reads; a caller that loads columns one by one needs no others.
NEEDED = ("submit", "start", "end", "cpus", "nodes", "state")
RUN_TIME = "run_time_s"  # read where it is there: without it `end - start` is taken
ARRIVED = "arrived"  # read where it is there: without it no job is of a stream


@dataclass(frozen=True, slots=True)
class JobColumns:
    """Jobs as equally long columns, one row a job; times in seconds on one clock.

    Refused submissions have rows too until they are left out: see `accepted`.
    """

    # submit, start, end: int64; `start` is meaningless where not `started`, `end` where not `ended`
    submit: IntArray
    start: IntArray
    end: IntArray
    # int64, seconds it ran: without the time it was suspended; meaningless where not both `started` and `ended`
    run: IntArray
    # started, ended: bool: whether the job has a start, an end
    started: BoolArray
    ended: BoolArray
    # cpus, nodes: int64, allocated (requested where the job never started)
    cpus: IntArray
    nodes: IntArray
    # states, state_codes: ``states[state_codes[i]]`` is row i's state
    state_codes: npt.NDArray[np.int32]
    states: Sequence[str]
    buffered: IntArray  # int64, seconds a job of a stream waited before it was submitted; -1 for the others

    @classmethod
    def of(cls, jobs: Any) -> JobColumns:
        """Columns of `jobs`: a ``pyarrow.Table`` with the columns `NEEDED`, or a mapping of arrays by name.

        In a mapping, `start` and `end` mark null by NaN, a mask or the least int64; `state` is a sequence of texts.

        Raises
        ------
        ValueError
            Columns missing or of different lengths.
        """
        if isinstance(jobs, cls):
            return jobs
        names = jobs.keys() if isinstance(jobs, Mapping) else jobs.column_names
        if missing := [name for name in NEEDED if name not in names]:
            raise ValueError(f"columns missing: {', '.join(missing)}")
        if isinstance(jobs, Mapping):
            return cls._of_mapping(jobs)
        from slurmsim.trace.columns import NULL, int_values, text_codes

        ints = {name: int_values(jobs.column(name)) for name in NEEDED if name != "state"}
        codes, states = text_codes(jobs.column("state"))
        run = ints["end"] - ints["start"]
        if RUN_TIME in names:
            told = int_values(jobs.column(RUN_TIME))
            run = np.where(told != NULL, told, run)
        arrived = int_values(jobs.column(ARRIVED)) if ARRIVED in names else np.full(len(run), NULL)
        return cls(
            submit=ints["submit"],
            start=ints["start"],
            end=ints["end"],
            run=run,
            started=ints["start"] != NULL,
            ended=ints["end"] != NULL,
            cpus=ints["cpus"],
            nodes=ints["nodes"],
            state_codes=codes,
            states=states,
            buffered=np.where(arrived != NULL, ints["submit"] - arrived, -1),
        )

    @classmethod
    def _of_mapping(cls, jobs: Mapping[str, Any]) -> JobColumns:
        index: dict[str, int] = {}
        codes = np.fromiter((index.setdefault(str(s), len(index)) for s in jobs["state"]), np.int32)
        start, started = nullable(jobs["start"])
        end, ended = nullable(jobs["end"])
        submit = np.asarray(jobs["submit"], np.int64)
        arrived, known = nullable(jobs[ARRIVED]) if ARRIVED in jobs else (submit, np.zeros(len(submit), bool))
        found = cls(
            submit=submit,
            start=start,
            end=end,
            run=np.asarray(jobs[RUN_TIME], np.int64) if RUN_TIME in jobs else end - start,
            started=started,
            ended=ended,
            cpus=np.asarray(jobs["cpus"], np.int64),
            nodes=np.asarray(jobs["nodes"], np.int64),
            state_codes=codes,
            states=list(index),
            buffered=np.where(known, submit - arrived, -1),
        )
        if len({len(found.submit), len(start), len(end), len(found.cpus), len(found.nodes), len(codes)}) != 1:
            raise ValueError("columns of different lengths")
        return found

    def __len__(self) -> int:
        return len(self.submit)

    def in_state(self, *states: str) -> BoolArray:
        """Return a mask of the rows that have one of `states`; (n,)."""
        wanted = np.fromiter((s in states for s in self.states), bool, len(self.states))
        return wanted[self.state_codes] if len(self) else np.zeros(0, bool)

    @property
    def accepted(self) -> BoolArray:
        """Rows that are jobs: all but refused submissions."""
        return ~self.in_state(REFUSED)

    def where(self, rows: BoolArray) -> JobColumns:
        """Return the columns of these rows only."""
        if rows.all():
            return self
        return replace(
            self,
            submit=self.submit[rows], start=self.start[rows], end=self.end[rows], run=self.run[rows],
            started=self.started[rows],
            ended=self.ended[rows], cpus=self.cpus[rows], nodes=self.nodes[rows], state_codes=self.state_codes[rows],
            buffered=self.buffered[rows],
        )  # fmt: skip

    @property
    def finished(self) -> BoolArray:
        """Jobs that ran and reached a final state: those with a turnaround and a slowdown."""
        return self.started & self.ended & self.in_state(*FINAL_STATES)


def nullable(values: Any) -> tuple[IntArray, BoolArray]:
    """Integers and where they are not null; null is NaN, pandas' NA, masked, or the least int64."""
    least = np.iinfo(np.int64).min
    if hasattr(values, "isna"):  # a pandas column
        values = np.ma.MaskedArray(values.fillna(0).to_numpy(), values.isna().to_numpy())
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(values.filled(least), np.int64), ~np.ma.getmaskarray(values)
    array = np.asarray(values)
    if array.dtype.kind == "f" or array.dtype == object:
        array = array.astype(float)
        valid = ~np.isnan(array)
        return np.where(valid, array, 0).astype(np.int64), valid
    array = array.astype(np.int64, copy=False)
    return array, array != least
