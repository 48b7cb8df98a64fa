"""Acts of another user of the machine: a process of its own with another uid, which only root can make."""

from __future__ import annotations

import encodings.idna  # noqa: F401  (the other user may not be able to read Python's own files)
import json
import os
import resource
import signal
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

OTHER, THIRD = 65_534, 65_533
NEEDS_ROOT = "NOT TESTED: what another user of the machine may do: only root can become one"


def become(uid: int) -> None:
    """Be that user, and in no group but its own, until the end of the process."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def as_another(act: Callable[[], Any], uid: int = OTHER) -> Any:
    """What `act` returns, as JSON holds it, when the user `uid` does it; what it raises is an AssertionError."""
    if os.geteuid() != 0:
        pytest.skip(NEEDS_ROOT)
    told, tells = os.pipe()
    child = os.fork()
    if not child:
        found: tuple[bool, Any] = (False, "nothing")
        try:
            become(uid)
            found = (True, act())
        except BaseException:
            found = (False, traceback.format_exc())
        finally:
            os.write(tells, json.dumps(found).encode())
            os._exit(0)
    os.close(tells)
    with os.fdopen(told, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    good, value = json.loads(data)
    assert good, value
    return value


@contextmanager
def held_open(connect: Callable[[], Any], count: int) -> Iterator[None]:
    """`count` connections of the user `OTHER`, kept until the end."""
    if os.geteuid() != 0:
        pytest.skip(NEEDS_ROOT)
    there, tells = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        become(OTHER)
        with suppress(OSError):
            lines = [connect() for _ in range(count)]
            os.write(tells, b"x" * bool(lines))
        time.sleep(60)
        os._exit(0)
    os.close(tells)
    try:
        assert os.read(there, 1) == b"x"
        yield
    finally:
        os.close(there)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@contextmanager
def goes_on_as(uid: int, run: Callable[[], Iterator[None]]) -> Iterator[None]:
    """What the generator `run` sets up is there, in a process of the user `uid`, until the end."""
    if os.geteuid() != 0:
        pytest.skip(NEEDS_ROOT)
    mine, theirs = socket.socketpair()
    child = os.fork()
    if not child:
        mine.close()
        try:
            become(uid)
            for _ in run():
                theirs.send(b"there")
                theirs.recv(1)
        except BaseException:
            theirs.send(traceback.format_exc().encode())
        finally:
            os._exit(0)
    theirs.close()
    with mine:
        said = mine.recv(1 << 16)
        assert said == b"there", said.decode()
        yield
    os.waitpid(child, 0)


def theirs(path: Path, text: str | bytes) -> Path:
    """A file that the other user writes, for all to read."""
    data = text.encode() if isinstance(text, str) else text

    def write() -> None:
        path.write_bytes(data)
        path.chmod(0o644)

    as_another(write)
    assert path.stat().st_uid == OTHER
    return path


def refusal(act: Callable[[], Any]) -> str:
    """The text of the refusal, or the name of the error of the system, that `act` ends with; empty for none."""
    from slurmsim.protocol import Refusal, Unreachable

    try:
        act()
    except (Refusal, Unreachable) as refused:
        return refused.text
    except OSError as error:
        return type(error).__name__
    return ""
