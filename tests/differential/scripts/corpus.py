"""The scripts of the folder that SLURM_SCRIPTS names: REPOSITORY-NUMBER.sh, as public repositories have them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from scripts.mapping import mapped

VARIABLE = "SLURM_SCRIPTS"
_NO_DIRECTIVE = re.compile(r"^(?!#|\s*$)", re.MULTILINE)


def folder() -> Path | None:
    """Where the scripts are; None without the variable."""
    told = os.environ.get(VARIABLE)
    return Path(told) if told else None


def with_a_sleep(text: str) -> str:
    """The script with nothing to do but to sleep, where sbatch stops to read directives.

    >>> with_a_sleep("#!/bin/bash\\n#SBATCH -n2\\nmodule load x\\n./x")
    '#!/bin/bash\\n#SBATCH -n2\\nexec /bin/sleep 60\\nmodule load x\\n./x'
    """
    found = _NO_DIRECTIVE.search(text)
    head, body = (text[: found.start()], text[found.start() :]) if found else (f"{text.rstrip()}\n", "")
    return f"{head}exec /bin/sleep 60\n{body}"


def questions(place: Path, only: str = "") -> list[dict[str, Any]]:
    """What the asker gets, a script each; `only` is a part of its name."""
    found = []
    for path in sorted(place.glob("*.sh")):
        if only in path.name:
            text = mapped(path.read_text("utf-8").replace("\r\n", "\n"))
            found.append({"name": path.stem, "submitted": with_a_sleep(text), "run": text})
    return found
