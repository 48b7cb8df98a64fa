"""What would change: a baseline replay graded against the log, a changed replay, and a band from replicates."""

from slurmsim.whatif.study import Question, Study, study

__all__ = ["Question", "Study", "study"]
