"""The jobs that ended in a dump's ``sacct`` records, as forecasts draw from them."""

from __future__ import annotations

from pathlib import Path

from slurmsim.errors import SlurmSimError
from slurmsim.live.waiting.past import NEWEST, Known
from slurmsim.twin.dump import Dump
from slurmsim.twin.findings import Findings, Weight
from slurmsim.workload import Workload

FILE = "sacct.txt"
_OPTIONS = {"bad_lines": "drop", "unfinished": "drop"}
_RAN = frozenset({"COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY"})
_MINUTE = 60


def read_past(dump: Dump, scratch: Path, findings: Findings) -> Workload | None:
    """Return the records as a workload, which has the real starts; None where there are none that can be read."""
    from slurmsim_workloads import read_workload

    text = dump.text(FILE)
    if text.count("\n") < 2:
        findings.add(Weight.MIDDLE, "no sacct.txt: forecasts have no run times to draw from")
        return None
    path = scratch / FILE
    path.write_text(text, "utf-8")
    try:
        found = read_workload(path, "sacct", _OPTIONS)
    except SlurmSimError as error:
        findings.add(Weight.MIDDLE, f"sacct.txt is not read: {str(error).replace(str(path), dump.path(FILE))}")
        return None
    finally:
        path.unlink()
    return found


def known(records: Workload, most: int = NEWEST, before: int | None = None) -> list[Known]:
    """Return the last jobs by submission; `before`: those alone that had ended by then, others as not ended."""
    ints, texts = records.ints, records.texts
    columns = [ints[name].tolist() for name in ("submit", "run_time", "time_limit", "nodes", "tasks", "cpus_per_task",
                                                "log_end")]  # fmt: skip
    found = []
    for row, (submit, ran, limit, nodes, tasks, each, end) in enumerate(zip(*columns, strict=True)):
        if limit < _MINUTE or submit <= 0 or (before is not None and submit > before):
            continue
        over = texts["log_state"][row] in _RAN and ran >= 0 and (before is None or 0 < end <= before)
        found.append(Known(
            texts["user"][row], texts["account"][row], texts["partition"][row], texts["qos"][row], submit,
            limit // _MINUTE, max(nodes, 1), max(tasks, 1) * max(each, 1), min(1.0, ran / limit) if over else None,
        ))  # fmt: skip
    found.sort(key=lambda job: job.submit)
    return found[-most:]
