"""The machine that recorded sessions ran on, played by this one: its clock, its host name, its users.

Run as ``python -S fake_machine.py NAME ARGUMENT…`` under the names of ordinary programs, which the driver puts on PATH
before the real ones: ``sleep``, ``timeout`` and ``date`` go by the cluster's clock, ``hostname`` and ``id`` answer as
there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

from slurmsim.sessions.clock_programs import PROGRAMS

SHIMS = (*PROGRAMS, "hostname", "id", "whoami")


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
        **PROGRAMS, "hostname": hostname, "id": user, "whoami": user,
    }  # fmt: skip
    code = programs[name](sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
