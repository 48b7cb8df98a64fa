"""The process that solves for a live cluster: one request a line on standard input, one answer a line on what was
standard output.

It is no child that was forked: solvers bring threads, and load slowly. It ends when nobody writes to it any more.
"""

from __future__ import annotations

import json
import os
import sys

from slurmsim.errors import SlurmSimError
from slurmsim.sim.solving import solve

NICE = 10
"""The daemon answers first."""


def main() -> None:
    """Serve until the end of input. What solvers print goes to standard error."""
    with open(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        os.nice(NICE)
        for line in sys.stdin:
            asked = json.loads(line)
            try:
                told = {"number": asked["number"], "answer": solve(asked["solver"], asked["request"])}
            except SlurmSimError as error:
                told = {"number": asked["number"], "error": str(error)}
            answers.write(json.dumps(told) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
