"""File name patterns of a job filled in: ``slurm-%A_%a.out`` (squeue --expand-patterns, 24.11 and later)."""

from __future__ import annotations

import re

_PATTERN = re.compile(r"%(\d*)([%AabjJNnstux])")


def expand_path(
    path: str, job: int, array: int | None, task: int | None, host: str | None, name: str, user: str, folder: str
) -> str:
    """`path` with its patterns filled in and made absolute in `folder`; a backslash in it turns patterns off."""
    if "\\" in path:
        text = path.replace("\\", "")
    else:
        index = 4294967294 if task is None else task
        numbers = {"A": array or job, "a": index, "b": (task or 0) % 10, "j": job, "n": 0, "t": 0}
        words = {"%": "%", "J": f"{job}.batch", "N": (host or "").partition(".")[0], "s": "batch", "u": user, "x": name}

        def filled(match: re.Match[str]) -> str:
            width, letter = min(int(match[1] or 0), 10), match[2]
            return f"{numbers[letter]:0{width}d}" if letter in numbers else words[letter]

        text = _PATTERN.sub(filled, path)
    return text if text.startswith("/") else f"{folder}/{text}"
