"""What a project gets out of its allocation: the model of allocation utilisation (docs/systems/titan.md)."""

from slurmsim.papers.titan.allocation.moments import Moments, spread_of_use, use_per_job
from slurmsim.papers.titan.allocation.utilization import counts, expected_use, normal_probability, probability

__all__ = [
    "Moments",
    "counts",
    "expected_use",
    "normal_probability",
    "probability",
    "spread_of_use",
    "use_per_job",
]
