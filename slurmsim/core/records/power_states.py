"""Which nodes are switched off, and which are on their way."""

from __future__ import annotations

from slurmsim.bitmap import Bitmap


class PowerStates:
    """Masks of nodes."""

    def __init__(self) -> None:
        # off, going, coming: powered down; powering down (no job gets them); powering up (for a job, or by request)
        # asked: to be powered down as soon as no job is on them (POWER_DOWN, PowerDownOnIdle)
        self.off: Bitmap = 0
        self.going: Bitmap = 0
        self.coming: Bitmap = 0
        self.asked: Bitmap = 0
