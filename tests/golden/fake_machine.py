"""The machine that recorded sessions ran on, played by this one: its clock, its host name, its users.

Run as ``python -S fake_machine.py NAME ARGUMENT…`` under the names of ordinary programs, which the driver puts on PATH
before the real ones: ``sleep`` and ``timeout`` go by the cluster's clock, ``hostname`` and ``id`` answer as there.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SHIMS = ("sleep", "timeout", "hostname", "id", "whoami")


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
    """The program ``sleep``."""
    wait(sum(seconds(word) for word in words))
    return 0


def timeout(words: list[str]) -> int:
    """The program ``timeout [-s SIGNAL] SECONDS COMMAND…``."""
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


def hostname(words: list[str]) -> int:
    """The program ``hostname``: everything of the recording ran on one machine."""
    print("head")
    return 0


def user(words: list[str]) -> int:
    """The programs ``id`` and ``whoami``."""
    name = os.environ.get("USER", "root")
    uid = {"alice": 2001, "bob": 2002, "carol": 2003, "dave": 2004}.get(name, 0)
    if "-un" in words or not words:
        print(name)
    elif "-u" in words or "-g" in words:
        print(uid)
    else:
        print(name if "-n" in words or "-gn" in words else uid)
    return 0


def install(folder: str, imports: list[str]) -> None:
    """Put the programs into `folder`."""
    for name in SHIMS:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f"#!{sys.executable} -S\nimport sys\nsys.path[:0] = {[*imports, os.path.dirname(__file__)]!r}\n"
                f"from fake_machine import main\nmain({name!r})\n"
            )
        os.chmod(path, 0o755)


def main(name: str) -> NoReturn:
    """Run as the program `name`."""
    programs: dict[str, Callable[[list[str]], int]] = {
        "sleep": sleep, "timeout": timeout, "hostname": hostname, "id": user, "whoami": user,
    }  # fmt: skip
    code = programs[name](sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
