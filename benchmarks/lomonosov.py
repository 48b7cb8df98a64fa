"""Per-user CPU-hour limits on backfill, the paper's numbers beside ours: ``slurmsim bench lomonosov`` as a script.

The experiment is in `slurmsim.papers.lomonosov.run`; its page is docs/systems/lomonosov.md.
"""

from __future__ import annotations

import sys

from slurmsim.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", "lomonosov", *sys.argv[1:]]))
