"""What the tests of workload formats share: looking at columns and comparing whole workloads."""

from __future__ import annotations

from slurmsim.workload import INT_COLUMNS, TEXT_COLUMNS, Workload


def ints(workload: Workload, name: str) -> list[int]:
    """An integer column as a list."""
    return workload.ints[name].tolist()


def texts(workload: Workload, name: str) -> list[str]:
    """A text column as a list."""
    return [workload.texts[name][i] for i in range(len(workload))]


def assert_equal(a: Workload, b: Workload) -> None:
    """Both have the same jobs, column by column, whatever their text tables look like."""
    for name in INT_COLUMNS:
        assert ints(a, name) == ints(b, name), name
    for name in TEXT_COLUMNS:
        assert texts(a, name) == texts(b, name), name


def given(workload: Workload, row: int = 0) -> dict[str, int | str]:
    """What one job says beyond the defaults."""
    found: dict[str, int | str] = {}
    for name, (_, default) in INT_COLUMNS.items():
        if (value := int(workload.ints[name][row])) != default:
            found[name] = value
    return found | {name: text for name in TEXT_COLUMNS if (text := workload.texts[name][row])}
