"""Recorded shell commands replayed around an in-process command: what the shell hands over, and what it makes of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

# What bash does itself costs no process: most lines have no input, and leave one of two streams empty.
_CAPTURE = """
{name}() {{
    for word in "$@"; do printf '%s\\0' "$word"; done > "$CAPTURE/args"
    env -0 > "$CAPTURE/env"
    if [ /dev/stdin -ef /dev/null ]; then : > "$CAPTURE/stdin"; else cat > "$CAPTURE/stdin"; fi
}}
"""
_PLAY = """
{name}() {{
    if [ -s "$CAPTURE/stderr" ]; then cat "$CAPTURE/stderr" >&2; fi
    if [ -s "$CAPTURE/stdout" ]; then cat "$CAPTURE/stdout"; fi
    return $(< "$CAPTURE/rc")
}}
"""


class Outcome(NamedTuple):
    """What a command left."""

    stdout: str
    stderr: str
    rc: int


class Handed(NamedTuple):
    """What the shell gave the command."""

    argv: list[str]
    environ: dict[str, str]
    stdin: str


def replay(
    line: str, name: str, home: Path, scratch: Path, environ: Mapping[str, str], run: Callable[[Handed], Outcome]
) -> Outcome | None:
    """Run the shell line `line` with `run` in the place of command `name`; None when it never gets called."""
    scratch.mkdir(exist_ok=True)
    for part in scratch.iterdir():
        part.unlink()
    outside = {**environ, "CAPTURE": str(scratch), "PATH": "/usr/bin:/bin"}
    _bash(_CAPTURE.format(name=name) + line, home, outside)
    if not (scratch / "args").exists():
        return None
    argv = (scratch / "args").read_text().split("\0")[:-1]
    pairs = (entry.partition("=") for entry in (scratch / "env").read_text().split("\0") if "=" in entry)
    inside = {"PATH": outside["PATH"]} | {
        key: value for key, _, value in pairs if key not in ("CAPTURE", "PATH", "PWD", "SHLVL", "_", "OLDPWD")
    }
    done = run(Handed(argv, inside, (scratch / "stdin").read_text()))
    (scratch / "stdout").write_text(done.stdout)
    (scratch / "stderr").write_text(done.stderr)
    (scratch / "rc").write_text(str(done.rc))
    found = _bash(_PLAY.format(name=name) + line, home, outside)
    return Outcome(found.stdout, found.stderr, found.returncode)


def _bash(script: str, home: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        cwd=home,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
