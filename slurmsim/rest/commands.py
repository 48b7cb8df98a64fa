"""Documents that a command makes already: the command runs in this process, as the user of the request."""

from __future__ import annotations

import io
import json
from importlib import import_module
from typing import TYPE_CHECKING

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.commands.json.versions import name
from slurmsim.rest.messages import Found, Rejected

if TYPE_CHECKING:
    from slurmsim.rest.calls import Call

_AROUND = ("meta", "errors", "warnings")


def found_by(call: Call, words: list[str], source: str = "") -> Found:
    """Return what the command's ``--json`` holds. Raises Rejected with what it complains about."""
    out, errors = io.StringIO(), io.StringIO()
    client = call.client
    environ = {"SLURMSIM_USER": client.user or "", "SLURM_TIME_FORMAT": "%s"}
    world = Io(client, stdin=io.StringIO(), stdout=out, stderr=errors, environ=environ, cwd="/")
    run = import_module(MODULES[words[0]]).run
    code = run([*words[1:], f"--json={name(call.version)}"], world)
    try:
        document = json.loads(out.getvalue())
    except ValueError:
        lines = errors.getvalue().strip().splitlines() or [f"{words[0]} fails ({code})"]
        text = lines[-1].removeprefix(f"{words[0]}: ").removeprefix("error: ").strip()
        raise Rejected(text, -1, "Unspecified error", source or words[0]) from None
    entries = {key: value for key, value in document.items() if key not in _AROUND}
    return Found(entries, document["errors"], document["warnings"])
