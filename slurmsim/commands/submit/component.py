"""What one component of a command line of srun or salloc asks for."""

from __future__ import annotations

from slurmsim.fast_imports import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.submit.job_request import Builder
    from slurmsim.commands.submit.options.chosen_options import Chosen


class Part(NamedTuple):
    """One allocation that is asked for, and the command for it."""

    chosen: Chosen  # the options; those of the command itself (``label``, ``pty``, ``immediate`` …) are looked up here
    builder: Builder  # its sizes are verified; ``builder.request()`` is the request
    request: dict[str, Any]  # fields of the submit request
    command: list[str]  # what to run
    group: int | None = None  # the component of a heterogeneous allocation it is for; None where nothing says so
