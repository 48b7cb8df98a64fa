"""Learn to schedule: a Gymnasium environment on the simulation, and learned agents as ordinary policies.

``slurmsim.gym.SchedulingEnv`` asks an agent which job to start (docs/learning.md); the extra ``learn`` has what it
needs. `AgentPolicy` is a base of policies that ask an agent the same questions, for runs, sweeps and live clusters.
`learn_order` learns an order of the queue, which the policy ``learned_order`` goes by.
"""

from __future__ import annotations

from slurmsim.extras import how_to_install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.gym.agent_policy import AgentPolicy
    from slurmsim.gym.environment import SchedulingEnv
    from slurmsim.gym.ppo import Learning, learn_order

__all__ = ["AgentPolicy", "Learning", "SchedulingEnv", "learn_order"]


def __getattr__(name: str) -> Any:
    if name == "AgentPolicy":
        from slurmsim.gym.agent_policy import AgentPolicy

        return AgentPolicy
    if name in ("SchedulingEnv", "Learning", "learn_order"):
        try:
            from slurmsim.gym import environment, ppo

            return getattr(environment if name == "SchedulingEnv" else ppo, name)
        except ModuleNotFoundError as error:
            if error.name != "gymnasium":
                raise
            raise ModuleNotFoundError(f"gymnasium is not installed: {how_to_install('learn')}") from None
    raise AttributeError(f"module 'slurmsim.gym' has no attribute {name!r}")
