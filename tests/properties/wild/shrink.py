"""``python -m wild.shrink SEED|FOLDER KIND OUT``: the finding of that kind with as few jobs and lines as it needs.

OUT gets the files, ``cmd`` (the ``slurmsim run`` line that makes it again) and ``wrong`` (what is wrong).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from wild.generator import wild_world
from wild.judging import Finding, judge
from wild.shrinking import shrink
from wild.world import World, read


def main(what: str, kind: str, out: Path) -> None:
    """Write the small world into `out`."""
    world = wild_world(int(what)) if what.isdecimal() else read(Path(what))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "w"

        def found(other: World) -> list[Finding]:
            return judge(other, folder, kind)[1]

        if not found(world):
            sys.exit(f"{what}: nothing of kind {kind}")
        small = shrink(world, lambda other: bool(found(other)))
        text = "\n".join(f"{finding.kind}: {finding.text}" for finding in judge(small, folder)[1])
    shutil.rmtree(out, ignore_errors=True)
    small.write(out)
    note = "" if small.release == "22.05" else f"(release {small.release}: python -m wild.shrink {out} {kind} OUT)\n"
    (out / "wrong").write_text(f"world {small.seed}, {len(small.jobs)} jobs\n{note}{text}\n", "utf-8")
    print(f"{out}: {len(small.jobs)} jobs, {len(small.conf)} lines: {text.splitlines()[0][:300]}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
