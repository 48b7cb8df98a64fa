"""Journals of slurmsim 0.1.0: a line is the CRC-32 of the rest in hex, a blank, JSON; requests alone, no numbers."""

from __future__ import annotations

import zlib
from typing import Any

from slurmsim.json_text import loads


def fits(line: bytes) -> bool:
    line = line.lstrip(b"\0")
    try:
        return line[8:9] == b" " and int(line[:8], 16) == zlib.crc32(line[9:])
    except ValueError:
        return False


def read(data: bytes) -> tuple[list[Any], int, bool]:
    """Entries, how many bytes are good, and whether a whole line follows the first bad one."""
    entries: list[Any] = []
    good = 0
    while (end := data.find(b"\n", good)) >= 0 and fits(line := data[good:end]) and line[:1] != b"\0":
        try:
            entries.append(loads(line[9:]))
        except ValueError:
            break
        good = end + 1
    return entries, good, any(map(fits, data[good:].split(b"\n")[1:]))
