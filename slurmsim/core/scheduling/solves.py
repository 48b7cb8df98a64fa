"""What a policy has asked a solver: one request at a time, from the decision `Solve` to the fact `Solved`.

Request and answer are kept as JSON texts: they are plain data and cannot change meanwhile. They look the same to the
policy whether the solver ran here, elsewhere, or before a restart.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.messages import AskSolver, Solved
from slurmsim.errors import PolicyError
from slurmsim.policy import Solve

if TYPE_CHECKING:
    from slurmsim.core.state.controller_state import ControllerState


class Solves:
    """The request that is out, and its answer once it is there."""

    def __init__(self, state: ControllerState) -> None:
        self.state = state
        # Solvers that the policy has named in this process. It is no state: a snapshot cannot add one.
        self.named: set[str] = set()
        self.asked = 0  # how many requests there have been; the number of the last
        # solver, request: of the one that is out; None for none
        self.solver: str | None = None
        self.request: str | None = None
        self.answer: str | None = None  # to it; None while it is awaited

    @property
    def awaited(self) -> AskSolver | None:
        """What a solver has to answer, None for nothing: what the driver of a restored controller has to ask again."""
        if self.request is None or self.solver is None or self.answer is not None:
            return None
        return AskSolver(self.asked, self.solver, self.request)

    def ask(self, decision: Solve, policy: str) -> bool:
        """Have it solved, unless another is out. Raises PolicyError for what is no plain data."""
        if self.request is not None:
            return False
        module, colon, function = str(decision.solver).partition(":")
        if not (module and colon and function):
            raise PolicyError(policy, f"names the solver {decision.solver!r} (expected package.module:function)")
        try:
            text = json.dumps(decision.request, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise PolicyError(policy, f"asked for a solve of what is no plain data: {error}") from None
        self.asked += 1
        self.named.add(str(decision.solver))
        self.solver, self.request, self.answer = str(decision.solver), text, None
        self.state.actions.append(AskSolver(self.asked, self.solver, text))
        return True

    def on_solved(self, fact: Solved) -> None:
        """Keep the answer that has come; the policy is told of it when it is called next."""
        if self.request is not None and self.answer is None and fact.number == self.asked:
            self.answer = fact.answer

    @property
    def answered(self) -> bool:
        """True if there is an answer the policy has not been told."""
        return self.answer is not None

    def taken(self) -> tuple[Any, Any]:
        """Request and answer, which are done with."""
        assert self.request is not None and self.answer is not None
        found = json.loads(self.request), json.loads(self.answer)
        self.solver = self.request = self.answer = None
        return found
