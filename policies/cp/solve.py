"""The door for everybody else: plain data in, plain data out, so that it can be asked for in another process.

A request is a table with ``dispatcher`` (a name of `options.OPTIONS`), ``options`` (words or numbers by key), and
``instance`` (`plain`); optionally ``q_length``, what the answer to the request before said. The answer is
`Answer.as_plain`.
"""

from collections.abc import Mapping
from typing import Any

from slurmsim.errors import PolicyError
from slurmsim.extras import how_to_install
from slurmsim_policies.cp.admission import Q_LENGTH
from slurmsim_policies.cp.dispatchers import DISPATCHERS
from slurmsim_policies.cp.options import parse
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.plan import Answer
from slurmsim_policies.cp.problem import Instance
from slurmsim_policies.cp.task import Clock, Task


def solve(request: Mapping[str, Any], clock: Clock | None = None) -> dict[str, Any]:
    """Return the answer to `request`. Equal requests have equal answers, but for seconds.

    Parameters
    ----------
    clock
        CPU seconds of this process, as `time.process_time`; without one the answer tells no seconds.

    Raises
    ------
    InstanceError
        The instance cannot be right; `field` says where.
    ConfigError
        There is no such dispatcher, option or value.
    PolicyError
        OR-Tools is not installed.
    """
    name = str(request.get("dispatcher"))
    options = parse(name, request.get("options") or {})
    instance = instance_from(request.get("instance") or {})
    answer = dispatch(instance, name, options, clock, int(request.get("q_length") or Q_LENGTH))
    return {"dispatcher": name, **answer.as_plain()}


def dispatch(
    instance: Instance, name: str, options: Mapping[str, Any], clock: Clock | None = None, q_length: int = Q_LENGTH
) -> Answer:
    """Solve `instance` with dispatcher `name` and its parsed `options`. Raises PolicyError without OR-Tools."""
    try:
        return DISPATCHERS[name](Task(instance, options, clock, q_length))
    except ImportError as error:
        if (error.name or "").split(".")[0] != "ortools":
            raise
        raise PolicyError(name, f"needs OR-Tools, which is not installed: {how_to_install('cp')}") from error
