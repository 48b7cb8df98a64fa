"""Make one file of a release's recorded writes: python compact_writes.py RECORDING… DEST

A recording is what `record_writes` made in one version; DEST gets ``writes-RELEASE.json.xz`` with all of them.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from pathlib import Path

_MACHINE = re.compile(r'(operating_system\\": \\").*?(\\")')
"""What is in it of the machine it was made on."""


def main(*paths: Path) -> None:
    *recordings, dest = paths
    found = [json.loads(_MACHINE.sub(r"\1Linux\2", path.read_text("utf-8"))) for path in recordings]
    release = found[0]["slurm"][:5]
    data = json.dumps({str(one["version"]): one for one in found}, separators=(",", ":"), sort_keys=True).encode()
    (dest / f"writes-{release}.json.xz").write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:]))
