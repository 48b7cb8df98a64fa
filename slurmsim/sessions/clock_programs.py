"""``sleep``, ``timeout`` and ``date`` by a cluster's clock: what scripts find on PATH where a session is asked again.

Run under the names of the ordinary programs; the session's player puts them on PATH before the real ones.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PROGRAM = """#!{python} -IS
import sys
sys.path.insert(0, {imports!r})
from slurmsim.sessions.clock_programs import main
main({name!r})
"""


def seconds(text: str) -> float:
    """``4``, ``0.5``, ``2m``, ``infinity``. Raises ValueError."""
    if text[-1:] in UNITS:
        return float(text[:-1]) * UNITS[text[-1]]
    return float(text)


def wait(length: float) -> None:
    """Until the cluster's clock has gone on by `length` seconds."""
    from slurmsim.protocol import Client, Unreachable

    whole = 10**9 if length > 10**9 else int(length) + (length % 1 > 0)
    if not whole:
        return
    client = Client(os.environ["SLURMSIM_CLUSTER_DIR"], None, None)
    try:
        client.call("wait_until", until=client.call("ping")["now"] + whole)
    except Unreachable:
        signal.pause()  # the session is over


def sleep(words: list[str]) -> int:
    """Run the program ``sleep``."""
    wait(sum(seconds(word) for word in words))
    return 0


def date(words: list[str]) -> int:
    """Run the program ``date``; for other instants than the present that is the machine's own."""
    from slurmsim.protocol import Client, Unreachable

    if not any(word.startswith(("-d", "--date", "-f", "--file", "-r", "--reference", "-s", "--set")) for word in words):
        client = Client(os.environ["SLURMSIM_CLUSTER_DIR"], None, None)
        with suppress(Unreachable):
            words = ["-d", f"@{client.call('ping')['now']}", *words]
    here = os.path.dirname(os.path.abspath(sys.argv[0]))
    folders = [folder for folder in os.environ.get("PATH", "").split(":") if os.path.abspath(folder) != here]
    os.execvpe("date", ["date", *words], {**os.environ, "PATH": ":".join(folders)})


def timeout(words: list[str]) -> int:
    """Run the program ``timeout [-s SIGNAL] SECONDS COMMAND…``."""
    number = signal.SIGTERM
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-s", "-k"):
            value = words.pop(0)
            if option == "-s":
                number = signal.Signals(int(value)) if value.isdigit() else signal.Signals[f"SIG{value}"]
    length, command = seconds(words[0]), words[1:]
    with suppress(PermissionError):  # it leads its session
        os.setpgid(0, 0)
    child = os.fork()
    if not child:
        os.execvp(command[0], command)
    waiter = os.fork()
    if not waiter:
        wait(length)
        os._exit(0)
    first, status = os.wait()
    if first == child:
        os.kill(waiter, signal.SIGKILL)
        return os.waitstatus_to_exitcode(status) & 0xFF
    os.kill(child, number)
    if number != signal.SIGKILL:  # which takes this program with it
        signal.signal(number, signal.SIG_IGN)
    os.killpg(0, number)
    os.waitpid(child, 0)
    return 124


PROGRAMS = {"sleep": sleep, "timeout": timeout, "date": date}


def install(folder: Path) -> None:
    """Put the programs into `folder`."""
    imports = str(Path(__file__).parents[2])
    for name in PROGRAMS:
        path = folder / name
        path.write_text(_PROGRAM.format(python=sys.executable, imports=imports, name=name))
        path.chmod(0o755)


def main(name: str) -> NoReturn:
    """Run as the program `name`."""
    code = PROGRAMS[name](sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
