"""Why a job waited, told from the trace of a run: `explain`."""

from slurmsim.why.explain import Explanation, Span, explain

__all__ = ["Explanation", "Span", "explain"]
