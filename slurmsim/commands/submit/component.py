"""What one component of a command line of srun or salloc asks for."""

from __future__ import annotations

from slurmsim.fast_imports import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.submit.job_request import Builder
    from slurmsim.commands.submit.options.chosen_options import Chosen


class Part(NamedTuple):
    """One allocation that is asked for, and the command for it.

    Attributes
    ----------
    chosen
        The options; those of the command itself (``label``, ``pty``, ``immediate`` …) are looked up here.
    builder
        Its sizes are verified; ``builder.request()`` is the request.
    request
        Fields of the submit request.
    command
        What to run.
    group
        The component of a heterogeneous allocation it is for; None where nothing says so.
    """

    chosen: Chosen
    builder: Builder
    request: dict[str, Any]
    command: list[str]
    group: int | None = None
