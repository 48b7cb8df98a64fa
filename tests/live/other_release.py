"""Journals as another release of slurmsim would have written them."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

from slurmsim.slurmctld.history.replaying import OURS

OTHER = "slurmsim 0.0.9"


def written_by(writer: str, journal: Path) -> None:
    """Have the journal say that `writer` decided what is in it."""
    data = journal.read_bytes()
    assert data.count(OURS.encode()) == 1
    journal.write_bytes(rechained(data.replace(OURS.encode(), writer.encode())))


def rechained(data: bytes) -> bytes:
    """The lines with checksums that follow from them."""
    lines, crc = [], 0
    for line in data.splitlines():
        crc = crc32(line[9:], crc)
        lines.append(b"%08x %s\n" % (crc, line[9:]))
    return b"".join(lines)
