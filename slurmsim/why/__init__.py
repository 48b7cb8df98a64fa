"""Why a job waited, told from the trace of a run: `explain`."""

from slurmsim.why.explain import Explanation, explain
from slurmsim.why.jobs import Span

__all__ = ["Explanation", "Span", "explain"]
