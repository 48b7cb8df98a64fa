"""Public job traces in the formats of their publishers: one table of columns (`table`), one reader (`reader`).

Each name below is registered as a workload format (`slurmsim convert --from philly`).
"""

from collections.abc import Callable
from functools import partial

from slurmsim_workloads.traces.reader import TraceFormat
from slurmsim_workloads.traces.table import TRACES


def _of(name: str) -> Callable[[], TraceFormat]:
    return partial(TraceFormat, TRACES[name])


philly, helios, pm100, fdata = _of("philly"), _of("helios"), _of("pm100"), _of("fdata")
pai2020, openb2023, dlrm2025, spot2026 = _of("pai2020"), _of("openb2023"), _of("dlrm2025"), _of("spot2026")
supercloud, frontier, squeue = _of("supercloud"), _of("frontier"), _of("squeue")

__all__ = ["TRACES", "TraceFormat"]
