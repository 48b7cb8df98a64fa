"""What users of an open cluster ask of its daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slurmsim.protocol import SOCKET, Client

DENIED = "Access/permission denied"
SIMULATED = "#!/bin/sh\n#SLURMSIM runtime=600\n"


def opened(folder: Path) -> Path:
    """Open the cluster in `folder` to all users, as docs/security.md says for a class."""
    folder.chmod(0o711)
    (folder / SOCKET).chmod(0o666)
    return folder


def ask(folder: Path, call: str, user: str | None = None, *, asks: bool = False, **arguments: Any) -> dict[str, Any]:
    """The answer to one call, asked over a connection of its own."""
    client = Client(str(folder), user, 20.0, asks=asks)
    try:
        return client.call(call, **arguments)
    finally:
        client.close()


def job(script: str, **more: Any) -> dict[str, Any]:
    """A batch job, as sbatch describes it."""
    return {"name": "j", "script": script, "work_dir": "/", "std_out": "/dev/null", "environment": {"A": "b"}, **more}
