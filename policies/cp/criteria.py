"""The objectives, from starts alone: makespan, weighted tardiness, late jobs, slowdown. All are minimised.

Each is counted in integers, so that two plans can be compared exactly; `scale` of the integers make one of the paper's
unit. Sources: EURORA 2014, equations 1-3; PCP'20, section 3 (its integer form is the authors' code's).
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import lcm

from slurmsim_policies.cp.instance_data import Job
from slurmsim_policies.cp.problem import Instance

MKS, WT, NL, SLOWDOWN = "mks", "wt", "nl", "slowdown"
NAMES = (MKS, WT, NL, SLOWDOWN)
SLOWDOWN_SCALE = 100_000

Starts = Mapping[str, int]  # start of each job by id, seconds


def scale(instance: Instance, name: str) -> int:
    """Return how many of the integers of criterion `name` make one of the paper's unit."""
    if name == WT:
        return lcm(*{job.ewt for job in instance.jobs})
    return SLOWDOWN_SCALE if name == SLOWDOWN else 1


def value(instance: Instance, name: str, starts: Starts) -> int:
    """Criterion `name` of a plan, in integers; jobs without a start do not count. Raises KeyError for other names."""
    return _VALUES[name](instance, starts)


def in_units(instance: Instance, name: str, integers: int) -> int | float:
    """Return a value of criterion `name` in the paper's unit: an integer where it is one."""
    exact = Fraction(integers, scale(instance, name))
    return exact.numerator if exact.denominator == 1 else float(exact)


def slowdown_integer(job: Job, start: int) -> int:
    """Slowdown of `job` in hundred-thousandths, rounded down as in the authors' code."""
    return (start - job.q + job.duration) * SLOWDOWN_SCALE // job.duration


def _placed(instance: Instance, starts: Starts) -> Iterable[tuple[Job, int]]:
    return ((job, starts[job.id]) for job in instance.jobs if job.id in starts)


def _makespan(instance: Instance, starts: Starts) -> int:
    """Equation 1: when the last job ends, running ones too, counted from the origin."""
    ends = [instance.end(job) if job.running else start + job.duration for job, start in _placed(instance, starts)]
    return max(ends) - instance.origin if ends else 0


def least_makespan(instance: Instance) -> int:
    """No plan has a smaller one: the work on each resource, over all there is of it."""
    there = [int(amount) for amount in instance.capacity.sum(axis=0)]
    work = [0] * len(there)
    for job in instance.jobs:
        left = instance.end(job) - instance.now if job.running else job.duration
        for r, amount in enumerate(job.demand):
            work[r] += amount * job.units * left
    seconds = max((-(-asked // most) for asked, most in zip(work, there, strict=True) if most), default=0)
    return instance.now + seconds - instance.origin


def _tardiness(instance: Instance, starts: Starts) -> int:
    """Equation 2: lateness of each job over the wait its queue should have, summed."""
    whole = scale(instance, WT)
    return sum(max(0, start - job.q - job.ewt) * (whole // job.ewt) for job, start in _placed(instance, starts))


def _late(instance: Instance, starts: Starts) -> int:
    """Equation 3: how many jobs start later than their queue should let them wait."""
    return sum(start - job.q > job.ewt for job, start in _placed(instance, starts))


def _slowdown(instance: Instance, starts: Starts) -> int:
    """PCP'20: wait plus duration over duration, summed over the jobs that wait."""
    return sum(slowdown_integer(job, start) for job, start in _placed(instance, starts) if not job.running)


_VALUES = {MKS: _makespan, WT: _tardiness, NL: _late, SLOWDOWN: _slowdown}
