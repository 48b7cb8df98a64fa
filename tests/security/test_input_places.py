"""Files of users are opened in one module (`slurmsim.input_file`); every other place that opens one has its reason."""

from __future__ import annotations

import ast
from pathlib import Path

from parsed_sources import below

ROOT = Path(__file__).parents[2]
READING = {"read_text", "read_bytes", "read_parquet", "ParquetFile", "copyfile", "copy2"}

OWN = "a file slurmsim wrote, in a folder of its own"
PACKAGE = "a file of the package"
PROC = "what the kernel tells"
CALLER = "what the caller names, read as Slurm's command reads it (from a pipe, too), so many bytes at most"
WRITES = "writes"
PLACES = {
    "slurmsim/input_file.py": "the one place",
    "slurmsim/parquet_file.py": "the one place for Parquet, on top of it",
    "slurmsim/calibrate/bundle.py": OWN,
    "slurmsim/campaign/": OWN,
    "slurmsim/campaign/memory.py": PROC,
    "slurmsim/campaign/sources.py": PACKAGE,
    "slurmsim/cli/": OWN,
    "slurmsim/commands/": CALLER,
    "slurmsim/config/document.py": PACKAGE,
    "slurmsim/experiments/": OWN,
    "slurmsim/jwt_key.py": "the key, in a file the owner names",
    "slurmsim/kernel/": PACKAGE,
    "slurmsim/live/daemon.py": OWN,
    "slurmsim/live/killing.py": PROC,
    "slurmsim/live/programs.py": OWN,
    "slurmsim/papers/": OWN,
    "slurmsim/protocol.py": OWN,
    "slurmsim/report/web/assets.py": PACKAGE,
    "slurmsim/scaffold/": PACKAGE,
    "slurmsim/sessions/quiet.py": PROC,
    "slurmsim/slurmctld/": OWN,
    "slurmsim/slurmd/": "a job's files, opened as the job's owner",
    "slurmsim/trace/document.py": PACKAGE,
    "slurmsim/trace/staging.py": WRITES,
    "slurmsim/twin/follow.py": WRITES,
    "slurmsim/web/app.py": PACKAGE,
    "workloads/files.py": WRITES,
    "workloads/swf/write.py": WRITES,
}


def opens(tree: ast.Module) -> bool:
    """Whether code opens files by a path."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="open")):
                return True
            case ast.Call(func=ast.Attribute(attr=name)) if name in READING:
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os" | "io" | "path" | "Path" | "codecs"), attr="open")):
                return True
    return False


def test_the_search_finds() -> None:
    for text in ("open(x)", "Path(x).read_text()", "os.open(x, 0)", "path.open()", "pq.ParquetFile(x)"):
        assert opens(ast.parse(text))
    assert not opens(ast.parse("self.open(x)\nread_text(x)\n'open(x)'"))


def test_every_place_has_a_reason() -> None:
    used = set()
    for room in ("slurmsim", "policies", "workloads"):
        for file, tree in below(ROOT / room).items():
            if opens(tree):
                name = file.relative_to(ROOT).as_posix()
                whose = [place for place in PLACES if name.startswith(place)]
                assert whose, f"{name} opens files: use slurmsim.input_file, or give a reason here"
                used.add(max(whose, key=len))
    assert used == set(PLACES)
