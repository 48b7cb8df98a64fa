"""The mean of the run times of the user's last two jobs that ended.

With one such job its run time, without any the limit; rounded up to a whole second, as too little has to be corrected.
Jobs without a user are expected to use up their limits.
Source: Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007; the "-L2" dispatchers of the PCP'20 paper. (Their
published code keeps the prediction where the paper keeps the run time; here it is the run time.)
"""

from slurmsim.policy import Estimate, JobView, Predictor


class LastTwo(Predictor):
    """Remembers two run times a user."""

    name = "last_two"
    summary = "mean run time of the user's last two jobs that ended"
    needs = ("user",)
    STATE = ("known",)

    def __init__(self) -> None:
        # by user, the run times of his last two jobs, seconds, the latest last
        self.known: dict[str, tuple[int, ...]] = {}

    def predict(self, job: JobView, now: int) -> int | None:
        last = self.known.get(job.user)
        return -(-sum(last) // len(last)) if last else None

    def estimate(self, job: JobView, now: int) -> Estimate | None:
        """Return the range of the last two run times: nothing else is remembered."""
        last = self.known.get(job.user)
        return Estimate(min(last), -(-sum(last) // len(last)), max(last)) if last else None

    def ended(self, job: JobView, now: int, run_time_s: int) -> None:
        if job.user:
            self.known[job.user] = (*self.known.get(job.user, ()), run_time_s)[-2:]
