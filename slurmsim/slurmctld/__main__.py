"""The daemon as a process: ``python -m slurmsim.slurmctld FOLDER HEADER LOCK PIPE``.

HEADER is JSON, null to go on with what is there. LOCK and PIPE are descriptors that the starting process hands on: the
folder's lock, and a pipe for the progress of the start.
"""

import atexit
import gc
import json
import os
import sys
from pathlib import Path

GC_THRESHOLD = 50_000
"""Allocations between looks for dead cycles: an answer about 10,000 jobs makes as many, all alive until it is sent."""


def main() -> int:
    """Serve until told to stop."""
    os.umask(0o077)
    gc.set_threshold(GC_THRESHOLD, 10, 10)
    atexit.register(gc.freeze)  # no search for dead cycles in a process that ends
    # Imported here, behind the threshold: the many objects of 700 modules all stay, and are never looked at again.
    from slurmsim.errors import SlurmSimError
    from slurmsim.slurmctld.history.starter import Starter
    from slurmsim.slurmctld.history.state_folder import StateFolder
    from slurmsim.slurmctld.server.start import serve

    gc.freeze()
    folder, header, lock, pipe = sys.argv[1:]
    try:
        starter = Starter(int(pipe))
        held = StateFolder.adopt(Path(folder), int(lock))
        return serve(held, json.loads(header), starter.progress, starter.ready)
    except SlurmSimError as error:
        print(f"slurmsim: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
