"""Did measured jobs draw what the workload says of them? Their phases beside the series, which is read anew here."""

from __future__ import annotations

import bisect

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.errors import WorkloadError
from slurmsim.validate.columns import NULL, Table
from slurmsim.validate.report import ValidationReport


@dataclass(frozen=True, slots=True)
class _Series:
    """Levels (milliwatts) and since which second of the run each holds; neighbours differ."""

    since: list[int]
    levels: list[int]

    @classmethod
    def of(cls, text: str) -> _Series:
        """Read ``900`` or ``300:900,950.5``. Raises ValueError."""
        head, colon, rest = text.partition(":")
        step, values = (int(head), rest.split(",")) if colon else (1, [head])
        since: list[int] = []
        levels: list[int] = []
        for k, value in enumerate(values):
            level = round(1000 * float(value))
            if not levels or levels[-1] != level:
                since.append(k * step)
                levels.append(level)
        return cls(since, levels)

    def at(self, second: int) -> int:
        """Return the level after so many seconds, from 0."""
        return self.levels[bisect.bisect_right(self.since, second) - 1]

    def steady(self, begin: int, end: int) -> bool:
        """Return True if the level does not change between two seconds."""
        return self.at(begin) == self.at(max(begin, end - 1))


def check_measured(report: ValidationReport, phases: Table, inputs: Table | None) -> None:
    """Compare the phases of each measured job with the workload's series, from its first start to the first break.

    What comes after a break (a suspension, a requeue) or on other nodes than the job asked for is not judged: how much
    of its run a job had then done is not in the trace.

    Parameters
    ----------
    inputs
        ``inputs.parquet`` with ``watts``; older traces have no such column, and the check is skipped.
    """
    if inputs is None or not inputs.has("watts"):
        report.skip("measured_watts", "no column watts of the workload's jobs")
        return
    cells = inputs.texts["watts"]
    series: dict[int, _Series] = {}
    for code in sorted(set(cells.codes.tolist())):
        if cells.values[code]:
            try:
                series[code] = _Series.of(cells.values[code])
            except ValueError:
                raise WorkloadError(f"{cells.values[code][:60]!r}", file="inputs.parquet", field="watts",
                                    expected="watts, or seconds and values (300:900,950.5)") from None  # fmt: skip
    told = zip(inputs.ints["job_id"].tolist(), cells.codes.tolist(), inputs.ints["nodes"].tolist(), strict=True)
    asked = {job: (series[code], nodes) for job, code, nodes in told if code in series}
    check = report.new("measured_watts", len(asked))
    began: dict[int, int] = {}
    upto: dict[int, int] = {}
    order = np.lexsort((phases.ints["end"] == NULL, phases.ints["start"], phases.ints["job_id"]))
    rows = (phases.ints[name][order].tolist() for name in ("job_id", "start", "end", "nodes", "drawn_mw"))
    for job, start, end, nodes, drawn in zip(*rows, strict=True):
        if job not in asked or (job in upto and upto[job] != start):
            continue
        one, wanted = asked[job]
        begin = began.setdefault(job, start)
        if wanted not in (NULL, nodes):
            continue
        upto[job] = end
        until = start + 1 if end == NULL else end
        level = one.at(start - begin)
        if start < until and (drawn != level or (end != NULL and not one.steady(start - begin, end - begin))):
            check.add(f"job {job}: draws {drawn} mW from {start} to {end}, by the workload {level} from there on")
