"""Acts of another user of the machine: a process of its own with another uid, which only root can make."""

from __future__ import annotations

import encodings.idna  # noqa: F401  (the other user may not be able to read Python's own files)
import json
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

OTHER = 65_534
NEEDS_ROOT = "NOT TESTED: what another user of the machine may do: only root can become one"


def as_another(act: Callable[[], Any]) -> Any:
    """What `act` returns, as JSON holds it, when the user `OTHER` does it; what it raises is an AssertionError."""
    if os.geteuid() != 0:
        pytest.skip(NEEDS_ROOT)
    told, tells = os.pipe()
    child = os.fork()
    if not child:
        found: tuple[bool, Any] = (False, "nothing")
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
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
        os.setgroups([])
        os.setgid(OTHER)
        os.setuid(OTHER)
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
