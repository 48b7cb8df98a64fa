"""How wrong the past would have been about itself: by which factor jobs ran longer than those before them had said.

Jobs of one morning err together: a deadline, a new code, a full file system. Drawing each user's run times from his own
past makes them independent of each other, and their sum far too certain. So whatever a copy draws is multiplied by one
such factor, drawn as well, and the copies are as far apart as forecasts of this kind have been wrong here.
"""

from collections.abc import Sequence

from slurmsim.live.waiting.past import Known

WINDOW_S = 6 * 3600  # jobs submitted within so long err together
BEFORE, OF_ALL = 8, 64  # jobs of a user, or of all where he has not so many, that say how long his next one runs
ENOUGH = 4  # jobs in a window that make a factor


def factors(past: Sequence[Known]) -> list[float]:
    """Of each stretch of the past what its jobs used of their CPU time's limit, over what those before them had said.

    Examples
    --------
    >>> def job(at, used):
    ...     return Known("ann", "", "p", "", at, 60, 1, 4, used)
    >>> factors([job(k, 0.2) for k in range(8)] + [job(30_000 + k, 0.6) for k in range(4)])
    [1.0, 2.181818]
    """
    by_user: dict[str, list[float]] = {}
    of_all: list[float] = []
    windows: dict[int, list[float]] = {}
    for job in past:
        if job.used is None:
            continue
        mine = by_user.setdefault(job.user, [])
        said = mine[-BEFORE:] if len(mine) >= BEFORE else of_all[-OF_ALL:]
        if said:
            asked = job.limit_min * job.cpus
            window = windows.setdefault(job.submit // WINDOW_S, [0.0, 0.0, 0.0])
            for k, more in enumerate((asked * job.used, asked * sum(said) / len(said), 1.0)):
                window[k] += more
        mine.append(job.used)
        of_all.append(job.used)
    return [round(ran / said, 6) for ran, said, n in windows.values() if n >= ENOUGH and said > 0]
