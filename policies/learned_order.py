"""Start the job that fits and that a network scores best; the network was learned, and is read from a file.

Whenever a job of the first `slots` in the queue fits, one of them starts: nothing is kept free, so a wide job may wait
for as long as narrow ones come. Jobs behind these slots wait for their turn. A job without a limit has that of its
partition. The score follows from the job's wait, its limit and its part of the CPUs, and from what is free and waits.

Options: ``model=FILE`` (without it the network that comes with slurmsim, learned on the Lublin log of the Parallel
Workloads Archive) and ``slots``. How to learn another one: ``docs/learning.md``.
Source: the kernel network of D. Zhang, D. Dai, Y. He, F. S. Bao, B. Xie, "RLScheduler: An Automated HPC Batch Job
Scheduler Using Reinforcement Learning", SC 2020; ours chooses among the jobs that fit, theirs among all.
"""

from collections.abc import Mapping
from typing import ClassVar

from slurmsim.gym.network import Order, order_of, read_order
from slurmsim.gym.observing import SLOTS, ask
from slurmsim.input_file import read_text
from slurmsim.policy import Decisions, Policy, PolicyOption, SlurmView, Start
from slurmsim.toml_file import parse_toml
from slurmsim_policies.choices import whole

BUNDLED = __file__[: __file__.rindex("learned_order")] + "learned_order.toml"
"""The network that comes with slurmsim, beside this module."""


class LearnedOrder(Policy):
    """The best of a learned order among the jobs that fit."""

    name = "learned_order"
    summary = "a learned network scores the jobs that fit, and the best one starts"
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "model": PolicyOption(read_order, None, "file of the network, TOML; none: the one that comes with slurmsim"),
        "slots": PolicyOption(whole(1, 100_000), SLOTS, "how many of the first jobs in the queue are looked at"),
    }

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        given: Order | None = self.options["model"]
        self.order_of_jobs = given or order_of(parse_toml(read_text(BUNDLED)), BUNDLED)

    def schedule(self, view: SlurmView, now: int) -> Decisions:
        """Start jobs until none fits that may start: a job that a limit forbids is left out of this pass."""
        forbidden: set[int] = set()
        while True:
            question = ask(view, now, self.options["slots"])
            if question is None:
                return
            for slot, record in enumerate(question.records):
                if record.job.id in forbidden:
                    question.mask[slot] = 0
            if not question.mask[:-1].any():
                return
            chosen = question.records[self.order_of_jobs.choose(question)]
            if not (yield Start(chosen)):
                forbidden.add(chosen.job.id)
