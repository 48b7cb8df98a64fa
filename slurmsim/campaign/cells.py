"""A cell of a campaign: one run, where it stands in the grid, and the command that makes it alone."""

from slurmsim.data_classes import dataclass, replace
from slurmsim.replaying.options import RunOptions

AXES = ("workload", "window", "load", "settings", "policy", "seed")
"""What tells the cells of a grid apart, in the order in which they are made."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a campaign."""

    # workload, window, settings, policy: names from the grid; empty where the grid has no such axis
    workload: str
    window: str
    load: float  # times the workload's own load
    settings: str
    policy: str
    seed: int  # of whatever is drawn
    options: RunOptions  # what `slurmsim run` is told; its `out` is empty

    @property
    def labels(self) -> tuple[str, str, float, str, str, int]:
        """Its place in the grid, in the order of `AXES`."""
        return (self.workload, self.window, self.load, self.settings, self.policy, self.seed)

    @property
    def name(self) -> str:
        """``kth, load 1.2, easy, seed 3``: for messages."""
        load = "" if self.load == 1 else f"load {self.load:g}"
        return ", ".join(filter(None, (self.workload, self.window, load, self.settings, self.policy,
                                       f"seed {self.seed}")))  # fmt: skip

    @property
    def kind(self) -> str:
        """Cells of one kind need about the same time and memory."""
        return "\0".join((self.workload, self.window, self.settings, self.policy))

    def command(self, out: str) -> str:
        """Return the command line that makes this run alone, into the folder `out`."""
        return replace(self.options, out=out).command()
