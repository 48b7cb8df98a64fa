"""Learn to schedule: a Gymnasium environment on the simulation, and learned agents as ordinary policies.

``slurmsim.gym.SchedulingEnv`` asks an agent which job to start (docs/learning.md); the extra ``learn`` has what it
needs. `AgentPolicy` is a base of policies that ask an agent the same questions, for runs, sweeps and live clusters.
"""

from __future__ import annotations

from slurmsim.extras import how_to_install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.gym.agent_policy import AgentPolicy
    from slurmsim.gym.environment import SchedulingEnv

__all__ = ["AgentPolicy", "SchedulingEnv"]


def __getattr__(name: str) -> Any:
    if name == "AgentPolicy":
        from slurmsim.gym.agent_policy import AgentPolicy

        return AgentPolicy
    if name == "SchedulingEnv":
        try:
            from slurmsim.gym.environment import SchedulingEnv
        except ModuleNotFoundError as error:
            if error.name != "gymnasium":
                raise
            raise ModuleNotFoundError(f"gymnasium is not installed: {how_to_install('learn')}") from None
        return SchedulingEnv
    raise AttributeError(f"module 'slurmsim.gym' has no attribute {name!r}")
