"""Runs slurmsim's commands, each in a process of its own with bounds of time and memory: ``python fork_commands.py``.

A line of JSON on standard input is ``[argv, folder]``; the answer is ``{"rc", "cpu_s", "rss_mb", "said"}`` in a line.
Each command is a fork. The modules that a command had to load are loaded here after it, so the next one has them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import sys
import tempfile

import slurmsim.cli

CPU_S = 20
SAID = 100_000


def run(argv: list[str], folder: str) -> dict[str, object]:
    """One command; its exit status (negative: the signal that ended it), what it used and what it said."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as loaded:
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
            os.chdir(folder)
            for number in (1, 2):
                os.dup2(said.fileno(), number)
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
            status = 70
            try:
                status = slurmsim.cli.main(argv)
            except SystemExit as left:
                status = left.code if isinstance(left.code, int) else 1
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os.write(loaded.fileno(), " ".join(sys.modules).encode())
                os._exit(status)
        _, status, used = os.wait4(child, 0)
        said.seek(0)
        text = said.read(SAID).decode("utf-8", "replace")
        loaded.seek(0)
        load(loaded.read().decode().split())
    return {"rc": os.waitstatus_to_exitcode(status), "cpu_s": used.ru_utime + used.ru_stime,
            "rss_mb": used.ru_maxrss / 1024, "said": text}  # fmt: skip


def load(names: list[str]) -> None:
    """Load what the last command loaded; a name that is no module of its own is left out."""
    for name in names:
        if name not in sys.modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(*json.loads(line))), flush=True)
