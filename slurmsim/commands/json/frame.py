"""The frame of a data_parser document, from Slurm 24.11 on: client, command, plug-in, cluster, errors and warnings."""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.json.data_text import as_json, as_yaml
from slurmsim.commands.json.versions import name, number, served
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io

__all__ = ["document", "number", "plugin", "write"]
DATABASE = "accounting_storage/slurmdbd"


def plugin(kind: str, title: str, version: int, storage: str = DATABASE) -> dict[str, str]:
    """Which plug-ins made a document."""
    return {"type": kind, "name": title, "data_parser": name(version), "accounting_storage": storage}


def document(
    entries: dict[str, Any], release: str, made_by: dict[str, str], client: dict[str, str], command: list[str],
    cluster: str, errors: list[Any] | None = None, warnings: list[Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    major, minor, micro = releases.VERSIONS[release].split(".")
    version = {"major": major, "micro": micro.lstrip("0") or "0", "minor": minor}
    slurm = {"version": version, "release": releases.VERSIONS[release], "cluster": cluster}
    meta = {"plugin": made_by, "client": client, "command": command, "slurm": slurm}
    return {**entries, "meta": meta, "errors": errors or [], "warnings": warnings or []}


def write(
    io: Io, form: str, release: str, entries: dict[str, Any], command: list[str], cluster: str,
    storage: str = DATABASE, warnings: list[Any] | None = None, version: int | None = None,
    errors: list[Any] | None = None,
) -> None:  # fmt: skip
    """Print the document of a command as "json" or "yaml"."""
    if not since(release, "meta_tells_whole_command"):
        command = command[:-1]  # it forgets the last word
    user = io.environ.get("SLURMSIM_USER") or io.environ.get("USER") or ""
    made_by = plugin("", "", served(release)[0] if version is None else version, storage)
    client = {"source": "", "user": user, "group": user}
    found = document(entries, release, made_by, client, command, cluster, errors, warnings)
    io.out(as_json(found, brief=True) + "\n" if form == "json" else as_yaml(found, brief=True))


def no_tres(hello: dict[str, Any]) -> list[dict[str, str]]:
    """Return the warning that TRES have no names without a database; nothing where there is one."""
    if storage_of(hello):
        return []
    text = "Slurm accounting storage is disabled. Could not query the following: [TRES]."
    return [{"description": text, "source": ""}]


def storage_of(hello: dict[str, Any]) -> str:
    """Return the accounting plug-in of a cluster, by what the daemon says of itself; nothing without one."""
    return DATABASE if hello.get("accounting", True) else ""
