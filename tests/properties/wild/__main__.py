"""``python -m wild FIRST COUNT [FOLDER]``: judge so many worlds in two processes; FOLDER gets the files of bad ones."""

from __future__ import annotations

import sys
from pathlib import Path

from wild.campaign import judge_all

if __name__ == "__main__":
    first, number, *keep = sys.argv[1:]
    summary = judge_all(int(first), int(number), processes=2, keep=Path(keep[0]) if keep else None)
    print(summary)
    sys.exit(bool(summary.bad))
