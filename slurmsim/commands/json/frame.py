"""What surrounds a ``--json`` document of Slurm 24.11 and 26.05 (data_parser v0.0.42 and v0.0.45), and its numbers."""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.json.data_text import as_json, as_yaml
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io


PARSERS = {"24.11": "data_parser/v0.0.42", "26.05": "data_parser/v0.0.45"}


def number(value: int | float | None, *, infinite: bool = False) -> dict[str, Any]:
    """A number that may be unset or without end."""
    return {"set": value is not None and not infinite, "infinite": infinite, "number": value or 0}


def write(
    io: Io, form: str, release: str, entries: dict[str, Any], command: list[str], cluster: str,
    storage: str = "accounting_storage/slurmdbd", warnings: list[Any] | None = None,
) -> None:  # fmt: skip
    """Print the document: `entries`, then who asked what of whom."""
    major, minor, micro = releases.VERSIONS[release].split(".")
    micro = micro.lstrip("0") or "0"
    if not since(release, "meta_tells_whole_command"):
        command = command[:1] + command[1:-1]  # it forgets the last word
    user = io.environ.get("SLURMSIM_USER") or io.environ.get("USER") or ""
    document = {
        **entries,
        "meta": {
            "plugin": {"type": "", "name": "", "data_parser": PARSERS[release], "accounting_storage": storage},
            "client": {"source": "", "user": user, "group": user},
            "command": command,
            "slurm": {
                "version": {"major": major, "micro": micro, "minor": minor}, "release": releases.VERSIONS[release],
                "cluster": cluster,
            },
        },
        "errors": [],
        "warnings": warnings or [],
    }  # fmt: skip
    io.out(as_json(document, brief=True) + "\n" if form == "json" else as_yaml(document))
