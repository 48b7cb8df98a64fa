"""A twin's folder: that of an ordinary live cluster with a frozen clock."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from slurmsim.errors import ConfigError
from slurmsim.slurmctld.history.copies import write_folder
from slurmsim.slurmctld.history.header import JOURNAL
from slurmsim.slurmctld.history.state_folder import StateFolder
from slurmsim.slurmctld.snapshot.image import take
from slurmsim.twin.twin import Twin


def write(twin: Twin, folder: Path) -> None:
    """Write the twin to a `folder` without a cluster. Raises ConfigError, OutputError."""
    held = StateFolder.take(folder)
    try:
        if os.path.lexists(folder / JOURNAL):
            raise ConfigError("there is a cluster", file=str(folder), expected="a folder without one")
        header = {**twin.header, "texts": twin.configuration.texts, "id": secrets.token_hex(8)}
        write_folder(folder, header, twin.now, take(twin.engine))
    finally:
        held.close()
