"""The small languages of slurm.conf and the trace, read without any code of the program that is judged."""

from __future__ import annotations

import re

_PART = re.compile(r"([^,\[\]]*)(?:\[([^\]]*)\])?([^,\[\]]*)(?:,|$)")


def expand(text: str) -> list[str]:
    """Names of a hostlist with one pair of brackets a name: ``n[1-3,7],m2``."""
    names: list[str] = []
    for head, inside, tail in _PART.findall(text):
        if not inside:
            names += [head + tail] if head + tail else []
            continue
        for piece in inside.split(","):
            low, _, high = piece.partition("-")
            names += [f"{head}{number:0{len(low)}}{tail}" for number in range(int(low), int(high or low) + 1)]
    return names


def unrun(text: str, n: int) -> list[int]:
    """Numbers of a run-length code: ``4(x2),2``."""
    found: list[int] = []
    for piece in filter(None, text.split(",")):
        number, _, times = piece.rstrip(")").partition("(x")
        found += [int(number)] * int(times or 1)
    return found or [0] * n


def gres_counts(text: str, n: int) -> dict[str, list[int]]:
    """Counts on each of `n` nodes, of each name and each name with its type.

    ``gpu:x:2,nic:1`` is the same on all nodes, ``gpu:1,0(x2),nic:1`` has three of which one has a GPU.
    """
    codes: dict[str, str] = {}
    kind = ""
    for word in filter(None, text.split(",")):
        head, colon, number = word.rpartition(":")
        if colon:
            kind, codes[head] = head, number
        else:
            codes[kind] += f",{word}"
    found: dict[str, list[int]] = {}
    for kind, code in codes.items():
        each = unrun(code, n)
        each = each * n if len(each) == 1 else each
        for key in {kind, kind.partition(":")[0]}:
            found[key] = [a + b for a, b in zip(found.get(key, [0] * n), each, strict=True)]
    return found


def asked_gres(text: str) -> dict[str, int]:
    """What ``--gres`` or ``--gpus`` ask for, by the name they use: ``gpu``, ``gpu:x:2``, ``x:2``."""
    found: dict[str, int] = {}
    for word in filter(None, text.split(",")):
        kind, colon, number = word.rpartition(":")
        if not colon or not number.isdecimal():
            kind, number = word, "1"
        found[kind] = found.get(kind, 0) + int(number)
    return found


def pairs(line: str) -> dict[str, str]:
    """``Key=value`` pairs of a line without quotes."""
    return dict(word.split("=", 1) for word in line.split() if "=" in word)
