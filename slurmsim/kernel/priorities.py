"""New priorities of a whole queue: ranks of fair share, sums of factors, and the order that follows.

Plain Python as its siblings, on arrays that others keep; `priorities.pxd` gives it types. Every sum is made in
slurmctld's order, so that the last bit is the same.
"""

from __future__ import annotations

from array import array
from typing import Any

FEW = 16  # so many are put in order one by one
MOST = 4294967295.0  # what a priority can be
INFINITE = float("inf")


def put_in_order(keys: Any, order: Any, spare: Any, begin: int, end: int) -> None:
    """Sort ``order[begin:end]``, ascending by what `keys` (float64) has of each; those that are equal stay as they are.

    `spare` is room for as many as `order` has.
    """
    low = begin
    while low < end:
        high = low + FEW if low + FEW < end else end
        for i in range(low + 1, high):
            one, k = order[i], i
            while k > low and keys[order[k - 1]] > keys[one]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = one
        low = high
    width = FEW
    while width < end - begin:
        low = begin
        while low + width < end:
            high = low + 2 * width if low + 2 * width < end else end
            _merge(keys, order, spare, low, low + width, high)
            low = high
        width *= 2


def _merge(keys: Any, order: Any, spare: Any, low: int, middle: int, high: int) -> None:
    """Make one of two parts that are in order and lie side by side."""
    if keys[order[middle - 1]] <= keys[order[middle]]:
        return
    for i in range(low, middle):
        spare[i] = order[i]
    i, j, k = low, middle, low
    while i < middle:
        if j < high and keys[order[j]] < keys[spare[i]]:
            order[k] = order[j]
            j += 1
        else:
            order[k] = spare[i]
            i += 1
        k += 1


def arrange(things: list[Any], keys: Any) -> None:
    """Sort `things` by their `keys` (float64), ascending; those with equal ones stay as they are."""
    n = len(things)
    _arrange(things, keys, array("q", (0,)) * n, array("q", (0,)) * n, n)


def _arrange(things: list[Any], keys: Any, order: Any, spare: Any, n: int) -> None:
    for i in range(n):
        order[i] = i
    put_in_order(keys, order, spare, 0, n)
    things[:] = [things[order[i]] for i in range(n)]


def compare(used: Any, parent: Any, part: Any, effective: Any, level_fs: Any) -> None:
    """Level fair shares: what a branch may have of its parent's usage, over what it has.

    Parameters
    ----------
    used, part
        By row of the tree, float64: usage, and the part the branch has of its siblings' shares.
    parent
        By row, int64: the row of the branch above; that of the root is its own.
    effective, level_fs
        By row, float64: usage as part of the parent's, and the level fair share; they are set.
    """
    for row in range(len(used)):
        above = used[parent[row]]
        has = used[row] / above if above > 0 else 0.0
        effective[row] = has
        level_fs[row] = 0.0 if part[row] <= 0 else part[row] / has if has else INFINITE


def rank(
    level_fs: Any, rows: Any, starts: Any, above: Any, users: Any, is_user: Any, count: int, factors: Any
) -> None:  # fmt: skip
    """Rank the users of a fair tree, best first from the root down (`slurmsim.core.accounting.fairshare.FairTree`).

    Parameters
    ----------
    level_fs
        Level fair shares by row of the tree, float64.
    rows, starts, above, users, is_user
        The branches as `Siblings` has them.
    count
        Users there are.
    factors
        By row, float64: set to rank / `count` for users, 1 for the best.
    """
    n = len(level_fs)
    order, spare, first, tied, place, again = (array("q", (0,)) * n for _ in range(6))
    keys = array("d", (0.0,)) * n
    _rank(level_fs, rows, starts, above, users, is_user, count, factors, keys, order, spare, first, tied, place, again)


def _rank(
    level_fs: Any, rows: Any, starts: Any, above: Any, users: Any, is_user: Any, count: int, factors: Any,
    keys: Any, order: Any, spare: Any, first: Any, tied: Any, place: Any, again: Any,
) -> None:  # fmt: skip
    """Rank, with room for what it finds of each branch: the users ranked before its first, and if it ties.

    And of each user: how many rank before it; and by that number, whether the one there shares the rank of the one
    before.
    """
    for i in range(len(rows)):
        keys[i], order[i] = -level_fs[rows[i]], i
    for group in range(len(starts) - 1):
        begin, end = starts[group], starts[group + 1]
        put_in_order(keys, order, spare, begin, end)
        before, same = first[above[begin]], tied[above[begin]]
        for i in range(begin, end):
            at = order[i]
            if i > begin:
                same = keys[at] == keys[order[i - 1]]
            row = rows[at]
            first[row], tied[row] = before, same
            if is_user[at]:
                place[at], again[before] = before, same
            before += users[at]
    spare[0] = 0
    for i in range(1, count):
        spare[i] = spare[i - 1] if again[i] else i  # who shares a rank has that of the first of them
    for at in range(len(rows)):
        if is_user[at]:
            factors[rows[at]] = float(count - spare[place[at]]) / float(count)


def changes(
    records: list[Any], weighted: Any, since: Any, branch: Any, priority: Any, fixed: Any, several: Any, factors: Any,
    now: int, w_age: float, max_age: float, w_fairshare: float, increase_only: bool,
) -> tuple[list[Any], list[int]]:  # fmt: skip
    """Return the records with another priority at `now`, and their new priorities; `priority` gets these, too.

    Parameters
    ----------
    records
        By slot, None in those that are free.
    weighted
        By slot, float64 (n_slots, 6): the terms that stay, in slurmctld's order of summation; the last is taken off.
    since, branch
        By slot, int64: when the job began to accrue age; the row of its association in `factors`, or beyond them.
    priority
        By slot, int64: the one it has.
    fixed, several
        By slot: whether its priority was given to it; whether its job has records in several partitions.
    factors
        Fair share by association, float64 (n_branches,).
    w_age, max_age, w_fairshare, increase_only
        PriorityWeightAge, PriorityMaxAge (seconds), PriorityWeightFairshare, PriorityFlags=INCR_ONLY.
    """
    found: list[Any] = []
    new: list[int] = []
    n_factors = len(factors)
    for slot in range(len(records)):
        if fixed[slot]:
            continue
        total = weighted[slot, 0]
        if w_age:
            waited = float(now - since[slot]) if now > since[slot] else 0.0
            age = waited / max_age
            total = w_age * (age if age < 1.0 else 1.0) + total
        if branch[slot] < n_factors:
            total = total + w_fairshare * factors[branch[slot]]
        size, part, qos, tres, nice = (
            weighted[slot, 1], weighted[slot, 2], weighted[slot, 3], weighted[slot, 4], weighted[slot, 5]
        )  # fmt: skip
        if several[slot]:
            value = part + (total + size + qos + tres - nice)
        else:
            value = total + size + part + qos + tres - nice
        value = 1.0 if value < 1.0 else MOST if value > MOST else value
        had = float(priority[slot])
        if value < had if increase_only else had <= value and value < had + 1.0:
            continue  # as its whole part is the same, or less
        whole = int(value)
        if whole != priority[slot]:
            priority[slot] = whole
            found.append(records[slot])
            new.append(whole)
    return found, new
