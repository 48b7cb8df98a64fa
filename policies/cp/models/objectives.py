"""The objectives as CP-SAT expressions over starts: one to minimise, others that may be bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from ortools.sat.python import cp_model

from slurmsim_policies.cp.criteria import MKS, NL, SLOWDOWN, SLOWDOWN_SCALE, WT, scale, slowdown_integer
from slurmsim_policies.cp.instance_data import Job
from slurmsim_policies.cp.problem import Instance

_EXACT_BELOW = 1 << 56  # weighted sums up to here are exact; the solver's own limit is 2^62


class Objective:
    """Criteria over the starts of one model; each is built when it is first asked for.

    Parameters
    ----------
    starts, earliest
        Of each waiting job, by index: its variable, and the lower end of that variable's domain (s).
    """

    def __init__(
        self,
        instance: Instance,
        cp: cp_model.CpModel,
        starts: Mapping[int, cp_model.IntVar],
        earliest: Mapping[int, int],
    ) -> None:
        self._instance, self._cp, self._starts, self._earliest = instance, cp, starts, earliest
        self._built: dict[str, cp_model.LinearExprT] = {}
        self._helpers: list[tuple[cp_model.IntVar, Callable[[Mapping[int, int]], int]]] = []
        self.weights_scale = self._weights_scale()

    def minimise(self, name: str) -> None:
        """Make criterion `name` the objective."""
        self._cp.minimize(self._expression(name))

    def at_most(self, name: str, most: int) -> None:
        """Keep criterion `name` at `most` of the model's integers or below."""
        self._cp.add(self._expression(name) <= most)

    def scale(self, name: str) -> int:
        """Return how many of the model's integers make one of the paper's unit."""
        return self.weights_scale if name == WT else scale(self._instance, name)

    def exact(self, name: str) -> bool:
        """Return True if the model's integers are those of `criteria`, so that its optimum is one."""
        return self.scale(name) == scale(self._instance, name)

    def hint(self, starts: Mapping[int, int]) -> None:
        """Hint the variables that were needed beside the starts."""
        for var, value_of in self._helpers:
            self._cp.add_hint(var, value_of(starts))

    def _expression(self, name: str) -> cp_model.LinearExprT:
        if name not in self._built:
            makers = {MKS: self._makespan, WT: self._tardiness, NL: self._late, SLOWDOWN: self._slowdown}
            self._built[name] = makers[name]()
        return self._built[name]

    def _latest(self, job: Job) -> int:
        return self._instance.horizon - job.duration

    def _makespan(self) -> cp_model.LinearExprT:
        """Equation 1: no job, running ones included, ends after it."""
        instance = self._instance
        running = max((instance.end(instance.jobs[i]) for i in instance.running), default=instance.now)
        soonest = max((self._earliest[i] + instance.jobs[i].duration for i in self._starts), default=running)
        last = self._cp.new_int_var(max(running, soonest), max(running, instance.horizon), "makespan")
        for i, start in self._starts.items():
            self._cp.add(last >= start + instance.jobs[i].duration)
        durations = {i: instance.jobs[i].duration for i in self._starts}
        self._helpers.append((last, lambda starts: max([running, *(starts[i] + d for i, d in durations.items())])))
        return last - instance.origin

    def _tardiness(self) -> cp_model.LinearExprT:
        """Equation 2: seconds beyond q_i + ewt_i, each weighted with 1 / ewt_i."""
        known, terms, weights = 0, [], []
        for i, job in enumerate(self._instance.jobs):
            weight = self.weights_scale // job.ewt
            due = job.q + job.ewt
            if job.start is not None:
                known += weight * max(0, job.start - due)
            elif self._earliest[i] >= due:
                terms.append(self._starts[i])
                weights.append(weight)
                known -= weight * due
            elif self._latest(job) > due:
                terms.append(self._beyond(i, due))
                weights.append(weight)
        return cp_model.LinearExpr.weighted_sum(terms, weights) + known

    def _beyond(self, i: int, due: int) -> cp_model.IntVar:
        """max(0, s_i - due)."""
        late = self._cp.new_int_var(0, self._latest(self._instance.jobs[i]) - due, f"beyond{i}")
        self._cp.add(late >= self._starts[i] - due)
        self._helpers.append((late, lambda starts: max(0, starts[i] - due)))
        return late

    def _late(self) -> cp_model.LinearExprT:
        """Equation 3: how many start after q_i + ewt_i."""
        known, terms = 0, []
        for i, job in enumerate(self._instance.jobs):
            due = job.q + job.ewt
            if job.start is not None:
                known += job.start > due
            elif self._earliest[i] > due:
                known += 1
            elif self._latest(job) > due:
                terms.append(self._is_late(i, due))
        return cp_model.LinearExpr.sum(terms) + known

    def _is_late(self, i: int, due: int) -> cp_model.IntVar:
        late = self._cp.new_bool_var(f"late{i}")
        self._cp.add(self._starts[i] <= due).only_enforce_if(~late)
        self._helpers.append((late, lambda starts: int(starts[i] > due)))
        return late

    def _slowdown(self) -> cp_model.LinearExprT:
        """Sum of the floors of (s_i - q_i + d_i) 10^5 / d_i: z_i is one if d z_i > (s_i - q_i + d_i) 10^5 - d."""
        terms = []
        for i, start in self._starts.items():
            job = self._instance.jobs[i]
            low, high = (slowdown_integer(job, s) for s in (self._earliest[i], self._latest(job)))
            z = self._cp.new_int_var(low, high, f"slowdown{i}")
            waited = start - job.q + job.duration
            self._cp.add(job.duration * z >= waited * SLOWDOWN_SCALE - (job.duration - 1))
            self._helpers.append((z, lambda starts, job=job, i=i: slowdown_integer(job, starts[i])))  # type: ignore[misc]
            terms.append(z)
        return cp_model.LinearExpr.sum(terms)

    def _weights_scale(self) -> int:
        """Return the least common multiple of the waits, or a power of two if sums of it would not fit into 64 bits.

        Weights are rounded down then, so that what is a lower bound stays one.
        """
        exact = scale(self._instance, WT)
        jobs = self._instance.jobs
        longest = max((self._instance.horizon - job.q for job in jobs), default=1)
        most = sum(Fraction(longest, job.ewt) for job in jobs) or Fraction(1)
        if exact * most < _EXACT_BELOW:
            return exact
        return 1 << max(0, int(_EXACT_BELOW / most).bit_length() - 1)
