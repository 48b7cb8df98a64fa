"""Predictors: who says how long a job will run, to a policy that plans (docs/predictors.md)."""

from typing import ClassVar

from slurmsim.data_classes import dataclass
from slurmsim.policy.cluster import Estimate, JobView


class Predictor:
    """Base of predictors. The core asks once for each job, and tells of every job that ran and ended.

    Class attributes
    ----------------
    name, summary
        As it registers (entry point group ``slurmsim.predictors``), and one line.
    oracle
        It is right because it is told: `predict` is not asked, a simulation hands over the real run times. No live
        cluster takes it, and results say so.
    needs
        What jobs have to have, of ``user``, ``name`` and ``account``: a log that has none of it is refused.
    STATE
        Attributes that hold what it has learned, as plain values and collections of them: they are in snapshots. There
        must be nothing else that a prediction depends on: no clock, no random numbers.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    oracle: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    STATE: ClassVar[tuple[str, ...]] = ()

    def predict(self, job: JobView, now: int) -> int | None:
        """Seconds `job` will run, now that it comes into the queue; None: nothing is known of it, its limit counts.

        More than its limit counts as its limit.
        """
        return None

    def estimate(self, job: JobView, now: int) -> Estimate | None:
        """Return an interval that holds four of five run times of such jobs, and their median; None if it knows none.

        Asked only when a policy asks (`ClusterView.estimate`), also of running jobs: from what was known when they
        came it would be the same. More than the limit counts as the limit.
        """
        return None

    def ended(self, job: JobView, now: int, run_time_s: int) -> None:
        """`job` ended after `run_time_s` seconds of running, in whatever state; not told where its nodes failed it.

        Of the job what it asked for may be read (`JobView.asked`), and who it was; not what has happened to it.
        """


@dataclass(frozen=True, slots=True)
class ChosenPredictor:
    """The value of an option ``predictor``: a name and what it stands for; None: jobs use up their limits."""

    name: str
    predictor: type[Predictor] | None = None

    def make(self) -> Predictor | None:
        """Return a new predictor, which knows nothing yet."""
        return None if self.predictor is None else self.predictor()

    def __str__(self) -> str:
        return self.name
