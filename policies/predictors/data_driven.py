"""The run time of the user's last job that was most like this one.

A job's *profile* is its name, its partition, its limit, and the amounts it asks for (`JobView.asked`). Of each profile
of a user the run time of the last job is kept. The first of these rules that finds one decides:

1. the same profile;
2. all the same but the name, which begins alike: the longest common beginning first;
3. the same name, partition and limit, other amounts: the most equal amounts first;
4. a name that begins alike, the same partition and limit, other amounts: longest beginning, then most equal amounts;
5. the last job of the same name;
6. the last job of a name that begins alike, the longest common beginning first.

Otherwise the limit counts. Where a rule finds several, the one that ended last decides. Jobs without a user or a name
are expected to use up their limits, and are not learned from. What is kept grows with the number of different profiles.
Source: the rules of the "-D" dispatchers of the PCP'20 paper, as in their authors' published code (docs/predictors.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slurmsim.policy import JobView, Predictor

Amounts = tuple[tuple[str, int], ...]
Known = tuple[int, int]  # (how many jobs had ended, run time): the latest is the largest
Likes = dict[tuple[str, Amounts], Known]
Rank = tuple[int, ...]


class DataDriven(Predictor):
    """Six rules over profiles."""

    name = "data_driven"
    summary = "run time of the user's last job most like this one: name, partition, limit, amounts"
    needs = ("user", "name")
    STATE = ("profiles", "names", "n_ended")

    def __init__(self) -> None:
        # by user, then (partition, limit), then (name, amounts): what is known
        self.profiles: dict[str, dict[tuple[str, int], Likes]] = {}
        self.names: dict[str, dict[str, Known]] = {}  # by user, then name: of the last job of that name
        self.n_ended = 0  # how many jobs have been learned from

    def predict(self, job: JobView, now: int) -> int | None:
        if not job.user or not job.name:
            return None
        likes = self.profiles.get(job.user, {}).get(_place(job), {})
        found = by_profile(likes, job.name, tuple(job.asked)) or by_name(self.names.get(job.user, {}), job.name)
        return found[1] if found is not None else None

    def ended(self, job: JobView, now: int, run_time_s: int) -> None:
        if job.user and job.name:
            self.n_ended += 1
            known = self.n_ended, run_time_s
            likes = self.profiles.setdefault(job.user, {}).setdefault(_place(job), {})
            likes[job.name, tuple(job.asked)] = known
            self.names.setdefault(job.user, {})[job.name] = known


def _place(job: JobView) -> tuple[str, int]:
    """Partition and limit: those first asked for, as it may run elsewhere."""
    return job.partitions[0].name, job.time_limit_s


def by_profile(likes: Likes, name: str, amounts: Amounts) -> Known | None:
    """Rules 1 to 4, among profiles of the same partition and limit."""
    if (name, amounts) in likes:
        return likes[name, amounts]

    def begins_alike(other: str, asked: Amounts) -> Rank | None:
        return (common,) if asked == amounts and (common := alike(name, other)) else None

    def same_name(other: str, asked: Amounts) -> Rank | None:
        return (n_equal(amounts, asked),) if other == name else None

    def both(other: str, asked: Amounts) -> Rank | None:
        return (common, n_equal(amounts, asked)) if (common := alike(name, other)) else None

    for rule in (begins_alike, same_name, both):
        if (found := _best(likes, rule)) is not None:
            return found
    return None


def _best(likes: Likes, rule: Callable[[str, Amounts], Rank | None]) -> Known | None:
    """Return what is known of the profile that `rule` ranks highest; None if it ranks none."""
    ranked = ((rank, known) for (name, asked), known in likes.items() if (rank := rule(name, asked)) is not None)
    return _last_of_highest(ranked)


def by_name(names: dict[str, Known], name: str) -> Known | None:
    """Rules 5 and 6, whatever was asked for."""
    if name in names:
        return names[name]
    return _last_of_highest(((common,), known) for other, known in names.items() if (common := alike(name, other)))


def _last_of_highest(ranked: Iterable[tuple[Rank, Known]]) -> Known | None:
    found = max(ranked, default=None)
    return found[1] if found is not None else None


def alike(name: str, other: str) -> int:
    """Return how many characters two names begin with in common."""
    for k, (a, b) in enumerate(zip(name, other, strict=False)):
        if a != b:
            return k
    return min(len(name), len(other))


def n_equal(amounts: Amounts, others: Amounts) -> int:
    """Return how many amounts are equal."""
    return len(set(amounts) & set(others))
