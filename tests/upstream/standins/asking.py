"""Ask the keeper of the daemons (`keeper.py`): a line of words, its answer an exit code and a text."""

from __future__ import annotations

import json
import socket
import sys


def ask(prefix: str, *words: str) -> int:
    """Print what the keeper says of `words`; its exit code."""
    with socket.socket(socket.AF_UNIX) as keeper:
        keeper.connect(f"{prefix}/var/run/keeper.sock")
        keeper.sendall(json.dumps(words).encode() + b"\n")
        with keeper.makefile() as answer:
            code, text = json.loads(answer.readline())
    print(text, end="", file=sys.stderr)
    return int(code)
