"""The daemon as a process: ``python -m slurmsim.slurmctld FOLDER HEADER`` (JSON, null to go on with what is there)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from slurmsim.errors import SlurmSimError
from slurmsim.slurmctld.start import serve


def main() -> int:
    """Serve until told to stop."""
    try:
        return serve(Path(sys.argv[1]), json.loads(sys.argv[2]))
    except SlurmSimError as error:
        print(f"slurmsim: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
