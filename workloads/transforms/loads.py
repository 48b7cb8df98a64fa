"""More or less load from the same log, and a longer log of the same: what each way keeps, and what it distorts.

==========  ==========================================================================================================
arrivals    Gaps between submissions are divided by the factor. Jobs, sizes, run times and their order stay; days and
            weeks become shorter or longer, so that a daily cycle no longer lasts a day beside run times that stay, and
            users seem to submit faster than they would. Source: the usual way, which D. Feitelson,
            *Workload Modeling for Computer Systems Performance Evaluation*, Cambridge 2015, describes and criticises.
users       Users are drawn with replacement, as many as the factor says times those of the log, each with all their
            jobs, moved by whole weeks (around the end of the log). Days, weeks and each user's sessions stay; what ties
            users together (a deadline all have, one who waits for another) is lost, and the load is the factor on
            average only. Source: N. Zakay and D. Feitelson, "Workload resampling for performance evaluation of
            parallel job schedulers", ICPE 2013, and D. Feitelson, "Resampling with feedback", Euro-Par 2016. They tell
            users who stay from users who come once; here all are drawn alike.
weeks       (a longer log, `lengthened`) The log's whole weeks stay. In each further week every user has a week of his,
            drawn anew. Days, the user's work within a week and each user's mean load stay; what goes on over more than
            a week, trends, and what users of one week have in common are lost. Source: as for users.
==========  ==========================================================================================================

The recorded starts and ends of the log do not belong to what comes out, and are gone from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.workload import Workload

METHODS = ("arrivals", "users")
WEEK_S = 7 * 86_400
_WITH_SUBMIT = ("begin", "deadline", "cancel_at")  # absolute times that a user meant relative to a submission
_RECORDED = ("log_eligible", "log_start", "log_end")


def with_load(workload: Workload, factor: float, method: str, seed: int, file: str = "") -> Workload:
    """Return `workload` with `factor` times its load, by one of `METHODS`.

    Raises
    ------
    ConfigError
        The factor is not above 0, or there is no such method.
    WorkloadError
        The log lacks what the method needs.
    """
    if not (0 < factor < float("inf")):
        raise ConfigError(f"{factor:g}", field="--load", expected="a factor above 0; 1.2 is 20 % more")
    if method == "arrivals":
        return _scaled(workload, factor)
    if method == "users":
        return _resampled(workload, factor, seed, file)
    raise ConfigError(f"no method {method!r}", field="--load-by", expected=" or ".join(METHODS))


def _scaled(workload: Workload, factor: float) -> Workload:
    submit = workload.ints["submit"]
    first = int(submit.min()) if len(submit) else 0
    moved = first + np.rint((submit - first) / factor).astype(np.int64)
    return _moved(workload, np.arange(len(workload)), moved).sorted()


def _resampled(workload: Workload, factor: float, seed: int, file: str) -> Workload:
    users = workload.texts["user"]
    present = _present(workload, file, "--load-by users")
    submit = workload.ints["submit"]
    first = int(submit.min())
    weeks = max(1, -(-(int(submit.max()) + 1 - first) // WEEK_S))
    rng = np.random.default_rng(seed)
    drawn = rng.choice(present, size=max(1, round(factor * len(present))), replace=True)
    shifts = rng.integers(0, weeks, len(drawn)) * WEEK_S
    order = np.argsort(users.codes, kind="stable")
    rows, copy = _rows_of(users.codes[order], drawn)
    moved = first + (submit[order[rows]] - first + shifts[copy]) % (weeks * WEEK_S)
    return _renumbered(_moved(workload, order[rows], moved), copy).sorted()


def lengthened(workload: Workload, weeks: int, seed: int, file: str = "") -> Workload:
    """`workload` made `weeks` weeks long; jobs behind its last whole week give way to drawn ones.

    Raises
    ------
    ConfigError
        It is longer than that already.
    WorkloadError
        It is shorter than a week, no job has a user, or jobs depend on others.
    """
    users = workload.texts["user"]
    present = _present(workload, file, "--weeks")
    submit = workload.ints["submit"]
    first = int(submit.min())
    whole = (int(submit.max()) + 1 - first) // WEEK_S
    if not whole:
        raise WorkloadError("the log is shorter than a week", file=file, field="--weeks", expected="a longer log")
    if weeks < whole:
        raise ConfigError(f"{weeks} weeks of a log of {whole}", field="--weeks",
                          expected=f"at least {whole}; --window takes a part")  # fmt: skip
    week = (submit - first) // WEEK_S
    kept = np.flatnonzero(week < whole)
    order = kept[np.argsort(users.codes[kept] * whole + week[kept], kind="stable")]
    rng = np.random.default_rng([seed, weeks])
    drawn = rng.integers(0, whole, (weeks - whole, len(present)))
    rows, copy = _rows_of(users.codes[order] * whole + week[order], (present * whole + drawn).ravel())
    shift = (whole + np.arange(weeks - whole)[:, None] - drawn).ravel() * WEEK_S
    chosen = np.concatenate([kept, order[rows]])
    moved = submit[chosen] + np.concatenate([np.zeros(len(kept), np.int64), shift[copy]])
    return _renumbered(_moved(workload, chosen, moved), np.concatenate([np.full(len(kept), -1), copy])).sorted()


def _present(workload: Workload, file: str, field: str) -> npt.NDArray[np.int64]:
    """Return the codes of the users from which jobs may be drawn."""
    users, tied = workload.texts["user"], workload.texts["dependency"]
    present = np.unique(users.codes).astype(np.int64)
    if not any(users.values[code] for code in present.tolist()):
        raise WorkloadError("no job has a user", file=file, field=field, expected="a log with users")
    if (workload.ints["depends_on"] != -1).any() or any(tied.values[code] for code in np.unique(tied.codes).tolist()):
        raise WorkloadError("jobs depend on others, which may not be drawn", file=file, field=field,
                            expected="a log without dependencies")  # fmt: skip
    return present


def _rows_of(keys: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of sorted `keys` the places of each of `wanted` in turn, and which of them it was."""
    begins, ends = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    counts = ends - begins
    copy = np.repeat(np.arange(len(wanted)), counts)
    behind = np.arange(len(copy)) - (np.cumsum(counts) - counts)[copy]
    return begins[copy] + behind, copy


def _moved(workload: Workload, rows: npt.NDArray[np.int64], submit: npt.NDArray[np.int64]) -> Workload:
    """Return the jobs of `rows` submitted at `submit`, with the times that go along and without what was recorded."""
    found = workload.take(rows)
    shift = submit - found.ints["submit"]
    ints = {**found.ints, "submit": submit}
    for name in _WITH_SUBMIT:
        ints[name] = np.where(ints[name] == -1, -1, ints[name] + shift)
    for name in _RECORDED:
        ints[name] = np.full(len(rows), -1, np.int64)
    return Workload(ints, found.texts, found.header, found.quality)


def _renumbered(workload: Workload, copy: npt.NDArray[np.int64]) -> Workload:
    """Return job ids from 1 on in order of submission; arrays of each `copy` of a user are arrays of their own."""
    ints = dict(workload.ints)
    n = len(workload)
    order = np.lexsort((ints["job_id"], copy, ints["submit"]))
    ids = np.empty(n, np.int64)
    ids[order] = np.arange(1, n + 1)
    arrays = ints["array_job_id"]
    tasks = np.flatnonzero(arrays != -1)
    if len(tasks):  # an array is called by the least id of its tasks
        _, which = np.unique(np.stack([copy[tasks], arrays[tasks]]), axis=1, return_inverse=True)
        least = np.full(int(which.max()) + 1, n + 1, np.int64)
        np.minimum.at(least, which.ravel(), ids[tasks])
        arrays = arrays.copy()
        arrays[tasks] = least[which.ravel()]
    ints["job_id"], ints["array_job_id"] = ids, arrays
    return Workload(ints, workload.texts, workload.header, workload.quality)
