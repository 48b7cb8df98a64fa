"""The independent validator: it judges a finished run from its trace alone and shares no code with the core.

`validate_trace` reads a folder, `validate_schedule` takes columns. The checks and the manifest keys they need are in
``docs/validation.md``.
"""

from slurmsim.validate.judge import validate_schedule, validate_trace
from slurmsim.validate.report import Check, ValidationReport

__all__ = [
    "Check",
    "ValidationReport",
    "validate_schedule",
    "validate_trace",
]
