"""What `Parm` asks for: a decision as plain data, and its answer as plain data."""

from collections.abc import Mapping
from typing import Any

from slurmsim_policies.parm.exact import choose
from slurmsim_policies.parm.plain import decision_from, plain_from


def solve(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the best choice: the answer of ``slurmsim parm`` to ``request["instance"]``.

    Its search is limited by numbers and never by time, so that equal requests have equal answers.
    """
    decision = decision_from(request["instance"])
    return plain_from(decision, choose(decision))
