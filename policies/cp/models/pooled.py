"""HCP'19: when alone, the resources of all nodes taken together; an allocator says where afterwards.

Source: the scheduling part of PCP'20, section 3.
"""

from collections.abc import Mapping

from slurmsim_policies.cp.models.base import ScheduleModel
from slurmsim_policies.cp.problem import Instance


class PooledModel(ScheduleModel):
    """Starts under one cumulative a resource."""

    def __init__(self, instance: Instance, earliest: Mapping[int, int]) -> None:
        super().__init__(instance, earliest)
        self._share_all_nodes()
        self._share_power()
