"""The daemon of a cluster as seen from outside: start it, ask it, stop it; and how commands are led to it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError, OutputError
from slurmsim.live.programs import write_programs
from slurmsim.live.settings import Settings, exists, make_folder
from slurmsim.protocol import (
    CURRENT,
    FOLDER_VARIABLE,
    SOCKET,
    USER_VARIABLE,
    Client,
    Refusal,
    Unreachable,
    state_folder,
)

READY_S = 60.0
_LOG = "log"


def is_alive(folder: Path) -> bool:
    """Whether a daemon answers there."""
    if not (folder / SOCKET).exists():
        return False
    try:
        Client(str(folder), timeout_s=5).call("ping")
    except Unreachable:
        return False
    return True


def prepare(folder: Path, settings: Settings) -> dict[str, Any] | None:
    """Make the folder ready for a daemon: the header of a new cluster, None to go on with the one that is there.

    Raises
    ------
    ConfigError, OutputError
        What is asked for is wrong, or cannot be written.
    """
    header = None if exists(folder) else make_folder(folder, settings)
    try:
        write_programs(folder)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}") from None
    return header


def start(folder: Path, header: Mapping[str, Any] | None) -> None:
    """Start a daemon in a process of its own and wait until it answers. Raises OutputError with its last words."""
    command = [sys.executable, "-m", "slurmsim.slurmctld", str(folder), json.dumps(header)]
    log = folder / _LOG
    with open(log, "ab") as out:
        before = out.tell()
        daemon = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd="/"
        )
    last = time.monotonic() + READY_S
    while time.monotonic() < last:
        if is_alive(folder):
            daemon.returncode = 0  # it lives on; nobody waits for it
            return
        if daemon.poll() is not None:
            break
        time.sleep(0.005)
    with open(log, "rb") as file:
        file.seek(before)
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    said = lines[-1].removeprefix("slurmsim: error: ") if lines else f"see {log}"
    raise OutputError(f"the daemon did not start: {said}")


def call(folder: Path, name: str, *, timeout_s: float | None = 60.0, **arguments: Any) -> dict[str, Any]:
    """Ask the daemon. Raises OutputError when there is none, ConfigError when it refuses."""
    try:
        return Client(str(folder), timeout_s=timeout_s).call(name, **arguments)
    except Unreachable:
        raise OutputError(f"no cluster is running in {folder}; start one with slurmsim up") from None
    except Refusal as refusal:
        raise ConfigError(refusal.text) from None


def stop(folder: Path) -> None:
    """Stop the daemon; its state stays."""
    call(folder, "down")
    last = time.monotonic() + READY_S
    while (folder / SOCKET).exists() and time.monotonic() < last:
        time.sleep(0.005)


def remember(folder: Path) -> None:
    """From now on this is the cluster of commands that nobody told which. Raises OutputError."""
    base = Path(state_folder(os.environ))
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = base / f"{CURRENT}.{os.getpid()}"
        part.write_text(f"{folder}\n", "utf-8")
        part.rename(base / CURRENT)
    except OSError as error:
        raise OutputError(f"{base}: {error.strerror}") from None


def environment(folder: Path, environ: Mapping[str, str], user: str | None = None) -> dict[str, str]:
    """`environ` with the commands on PATH, talking to this cluster (as `user`)."""
    bin_folder = str(folder / "bin")
    others = [part for part in environ.get("PATH", os.defpath).split(os.pathsep) if part != bin_folder]
    found = {**environ, FOLDER_VARIABLE: str(folder), "PATH": os.pathsep.join([bin_folder, *others])}
    if user is not None:
        found[USER_VARIABLE] = user
    return found


def shell_lines(folder: Path) -> str:
    """What ``eval`` wants: PATH and the cluster's folder."""
    return (
        f'export {FOLDER_VARIABLE}={shlex.quote(str(folder))}\nexport PATH={shlex.quote(str(folder / "bin"))}:"$PATH"\n'
    )


def profile_lines(environ: Mapping[str, str]) -> str:
    """For ``~/.profile``: login shells find the commands of the cluster that was started last, if it is still there."""
    current = shlex.quote(os.path.join(state_folder(environ), CURRENT))
    return (
        f"# slurmsim: commands of the cluster that {FOLDER_VARIABLE} or the file `{CURRENT}` names\n"
        f'slurmsim_folder="${{{FOLDER_VARIABLE}:-$(cat {current} 2>/dev/null)}}"\n'
        'if [ -d "$slurmsim_folder/bin" ]; then\n'
        '    case ":$PATH:" in *":$slurmsim_folder/bin:"*) ;; *) export PATH="$slurmsim_folder/bin:$PATH" ;; esac\n'
        "fi\n"
        "unset slurmsim_folder\n"
    )
