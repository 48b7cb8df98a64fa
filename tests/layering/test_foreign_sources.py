"""All that the repository holds was written for it: no source of Slurm's, and nothing under the GPL."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
C_SUFFIXES = frozenset((".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".pyx"))
C_SOURCES: frozenset[str] = frozenset()  # those that are ours; the kernels are Python and have files of types beside
NOTICES = ("GNU " + "General Public License", "GNU " + "Lesser General Public", "SchedMD " + "LLC. Written by")
"""What a file under the GPL says of itself, put together here so that this file does not say it."""


def tracked() -> list[str]:
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [name for name in found.decode().split("\0") if name and (ROOT / name).is_file()]


def says_gpl(content: bytes) -> bool:
    text = b" ".join(content.split()).lower()
    return any(notice.lower().encode() in text for notice in NOTICES)


def test_sources_in_c_are_those_that_are_listed() -> None:
    names = tracked()
    assert len(names) > 1000
    assert {name for name in names if Path(name).suffix in C_SUFFIXES} == C_SOURCES


def test_no_file_has_the_notice_of_the_gpl() -> None:
    assert [name for name in tracked() if says_gpl((ROOT / name).read_bytes())] == []


def test_the_notice_is_found_over_lines() -> None:
    notice = f" *  under the terms of the {NOTICES[0]} as published".replace("General", "General\n")
    assert says_gpl(notice.encode()) and not says_gpl(b"MIT License")
