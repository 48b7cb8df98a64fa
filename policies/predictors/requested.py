"""What users asked for: every job is expected to use up its limit. The default, and the same as no predictor."""

from slurmsim.policy import Predictor


class Requested(Predictor):
    """Knows nothing, so limits count."""

    name = "requested"
    summary = "what was asked for: jobs are expected to use up their limits (default)"
