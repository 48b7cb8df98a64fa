"""The process that solves for a live cluster.

Requests come on standard input, one a line; answers go to what was standard output, one a line. It is a program of its
own and not a fork: solvers bring threads, and load slowly. It ends as soon as its standard input is closed, in the
middle of a solve too: the daemon that would have read the answer is gone.
"""

import json
import os
import sys
from queue import SimpleQueue
from threading import Thread

from slurmsim.errors import SlurmSimError
from slurmsim.sim.solving import solve

NICE = 10  # the daemon answers first


def main() -> None:
    """Serve, and never return. What solvers print goes to standard error."""
    with open(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        os.nice(NICE)
        lines: SimpleQueue[str] = SimpleQueue()
        Thread(target=_listen, args=(lines,), daemon=True).start()
        while True:
            asked = json.loads(lines.get())
            try:
                told = {"number": asked["number"], "answer": solve(asked["solver"], asked["request"])}
            except SlurmSimError as error:
                told = {"number": asked["number"], "error": str(error)}
            answers.write(json.dumps(told) + "\n")
            answers.flush()


def _listen(lines: SimpleQueue[str]) -> None:
    """Pass on what is asked; at the end of input, end the process."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
