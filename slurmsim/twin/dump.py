"""The files of a dump, from a folder or a tar, each of bounded size; nothing is unpacked onto the disk."""

from __future__ import annotations

import gzip
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from slurmsim.data_classes import dataclass
from slurmsim.errors import WorkloadError
from slurmsim.input_file import MIB, bound, open_input, read_bytes, too_large
from slurmsim.numerals import is_number
from slurmsim.releases import RELEASES, short
from slurmsim.twin.collect import FILES

MOST = 512 * MIB  # bytes of a file of a dump: 10,000 jobs are 20 MiB as text, and a month's records some hundred
MOST_MEMBERS = 1000  # entries of a tar that are looked at
_VERSION = re.compile(r"slurm(?:-[a-z]+)? (\d\d\.\d\d)", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d\d)(\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Dump:
    """What a real cluster answered.

    Attributes
    ----------
    name
        The folder or tar, as it was named.
    texts
        The answers by file name; one that is not there was not asked or not given.
    """

    name: str
    texts: Mapping[str, str]

    def text(self, file: str) -> str:
        """Return the answer in `file`, "" for none."""
        return self.texts.get(file, "")

    def path(self, file: str) -> str:
        """Return the name of `file` for errors."""
        return f"{self.name}/{file}"

    @property
    def about(self) -> dict[str, str]:
        """When and where it was asked, and by which user: ``begin``, ``end``, ``offset``, ``user``."""
        pairs = (line.partition("=") for line in self.text("about.txt").splitlines())
        return {key.strip(): value.strip() for key, equals, value in pairs if equals}

    @property
    def release(self) -> str:
        """The release that we imitate for this dump; "" where nothing tells its version."""
        for file in ("about.txt", "config.txt", "node.txt"):
            text = self.text(file)
            found = _VERSION.search(text) or re.search(r"SLURM_VERSION\s*=\s*(\d\d\.\d\d)", text, re.ASCII)
            found = found or re.search(r"\bVersion=(\d\d\.\d\d)", text, re.ASCII)
            if found:
                return short(found[1])
        return ""

    @property
    def offset_s(self) -> int | None:
        """Seconds by which the cluster's local time is ahead of UTC; None where that is not told."""
        found = _OFFSET.fullmatch(self.about.get("offset", ""))
        if found is None:
            return None
        seconds = int(found[2]) * 3600 + int(found[3]) * 60
        return -seconds if found[1] == "-" else seconds

    @property
    def begin(self) -> int | None:
        """When it was begun, seconds since the epoch; None where that is not told."""
        text = self.about.get("begin", "")
        return int(text) if is_number(text) else None


def read_dump(path: Path) -> Dump:
    """Return the dump in a folder or tar. Raises WorkloadError."""
    try:
        found = _of_folder(path) if path.is_dir() else _of_tar(path)
    except OSError as error:
        raise WorkloadError(f"cannot be read: {error.strerror or error}", file=str(error.filename or path)) from None
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, ValueError) as error:
        expected = "a folder or tar of slurmsim twin collect"
        raise WorkloadError(
            f"is no dump: {str(error).partition(chr(10))[0].rstrip(':')}", file=str(path), expected=expected
        ) from None
    texts = {name: content.decode("utf-8", "replace") for name, content in found.items()}
    if not any(texts.get(name, "").strip() for name in ("job.txt", "job.json")):
        raise WorkloadError("has no jobs", file=str(path), expected="job.txt or job.json in it")
    return Dump(str(path), texts)


def _of_folder(path: Path) -> dict[str, bytes]:
    return {name: read_bytes(path / name, MOST) for name in FILES if (path / name).is_file()}


def _of_tar(path: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    left = bound(MOST)
    with open_input(path) as raw, tarfile.open(fileobj=raw, mode="r:*") as tar:
        for number, entry in enumerate(tar):
            name = PurePosixPath(entry.name).name
            if number >= MOST_MEMBERS:
                raise ValueError(f"more than {MOST_MEMBERS:,} entries")
            if entry.size > left:  # what is passed over has to be unpacked, too
                raise too_large(bound(MOST), path)
            if entry.isreg() and name in FILES and name not in found:
                file = tar.extractfile(entry)
                if file is not None:
                    found[name] = _bounded(file, left, path)
            left -= entry.size
    return found


def _bounded(file: IO[bytes], most: int, path: Path) -> bytes:
    content = file.read(most + 1)
    if len(content) > most:
        raise too_large(bound(MOST), path)
    return content


def known_release(text: str) -> str:
    """Return `text` if it is a release we imitate. Raises WorkloadError."""
    if text not in RELEASES:
        raise WorkloadError(f"no release {text!r}", field="--release", expected=", ".join(RELEASES))
    return text
