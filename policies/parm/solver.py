"""What `Parm` asks for: a decision as plain data, and its answer as plain data."""

from collections.abc import Mapping
from typing import Any

from slurmsim_policies.parm.exact import Effort, choose
from slurmsim_policies.parm.plain import decision_from, plain_from


def solve(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the best choice: the answer of ``slurmsim parm`` to ``request["instance"]``.

    Limits are deterministic work of the solver (`Effort`) and never time, so that equal requests have equal answers.
    """
    effort = Effort(**request["effort"])
    decision = decision_from(request["instance"])
    return plain_from(decision, choose(decision, effort))
