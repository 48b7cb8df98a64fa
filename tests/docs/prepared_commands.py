"""``slurmsim`` for examples: each call is carried out in a fork of one process that has loaded the package already.

Loading takes a command 0.35 s, most of what an example computes, and documents have 60 of them. A call has its own
words, folder, environment and streams, and ends as the program does. The program as installed is what README's
examples and those of the guides for authors run.

``python prepared_commands.py FOLDER`` serves until its standard input ends; ``FOLDER/slurmsim`` is what calls it.
"""

from __future__ import annotations

import ast
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

LOADED = (
    "slurmsim.cli.compare", "slurmsim.cli.run", "slurmsim.cli.validate", "slurmsim.replaying.preparation",
    "slurmsim.replaying.replay", "slurmsim.report.build", "slurmsim.trace.reader", "slurmsim_policies.slurm_backfill",
    "slurmsim_workloads.registry",
)  # fmt: skip
CLIENT = """#!{python} -IS
import os, sys, _socket
from array import array
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
line.connect({path!r})
call = repr((sys.argv, os.getcwd(), dict(os.environ))).encode("utf-8", "surrogateescape")
line.sendmsg([call], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array("i", [0, 1, 2]))])
line.shutdown(_socket.SHUT_WR)
sys.exit(int(line.recv(16) or 1))
"""


@contextmanager
def prepared(folder: Path) -> Iterator[Path]:
    """Serve until the end of the block; the folder with the program."""
    command = [sys.executable, "-P", __file__, str(folder)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**environ, "OPENBLAS_NUM_THREADS": "1"}
    ) as server:
        assert server.stdout is not None and server.stdin is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield folder
        finally:
            server.stdin.close()


def serve(folder: Path) -> int:
    """Answer calls until standard input ends; in a call's own process, the exit code of the command."""
    for name in LOADED:
        import_module(name)
    threads = {file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")}
    assert threads <= {Path("/proc/self/comm").read_text().strip(), "jemalloc_bg_thd"}  # which knows forks
    signal.signal(signal.SIGCHLD, lambda number, frame: bury())
    path = folder / "calls"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        program = folder / "slurmsim"
        program.write_text(CLIENT.format(python=sys.executable, path=str(path)), "utf-8")
        program.chmod(0o755)
        print("ready", flush=True)
        while True:
            if sys.stdin in (ready := select.select([listening, sys.stdin], [], [])[0]):
                return 0
            assert ready
            line = listening.accept()[0]
            if os.fork() == 0:
                listening.close()
                return answer(line)
            line.close()


def bury() -> None:
    """Forget the processes that have answered."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def answer(line: socket.socket) -> int:
    """Have one call carried out by a process of its own, and tell its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, streams, _, _ = socket.recv_fds(line, 1 << 20, 3)
    while more := line.recv(1 << 20):
        text += more
    if (pid := os.fork()) == 0:
        line.close()
        run(*ast.literal_eval(text.decode("utf-8", "surrogateescape")), streams)
    line.sendall(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
    os._exit(0)


def run(words: list[str], cwd: str, environ: dict[str, str], streams: list[int]) -> NoReturn:
    """Be the program that was called, and end at once: a fork cannot take apart the threads of libraries."""
    from slurmsim.cli import main

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv = words
    code: object = 1
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
    if not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1])))
