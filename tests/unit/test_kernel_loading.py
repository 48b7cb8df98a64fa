"""An extension made from another source than the kernel's is not used, and that is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from slurmsim import kernel

ASK = "from slurmsim import kernel; print(kernel.load('cycle').__name__, kernel.compiled('cycle'))"


def asked(folder: Path) -> tuple[str, str]:
    """What `ASK` prints where `folder` is looked through first, and what it warns of."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", ASK], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.strip(), done.stderr


def test_an_extension_of_another_source(tmp_path: Path) -> None:
    (tmp_path / "_slurmsim_cycle.py").write_text('SOURCE = "another"\n', encoding="utf-8")
    printed, said = asked(tmp_path)
    assert printed == "slurmsim.kernel.cycle False"
    assert "the compiled kernel cycle is of another source and is not used" in said


def test_an_extension_of_this_source(tmp_path: Path) -> None:
    source = Path(kernel.__file__).with_name("cycle.py").read_bytes()
    (tmp_path / "_slurmsim_cycle.py").write_text(f'SOURCE = "{kernel.source_hash(source)}"\n', encoding="utf-8")
    assert asked(tmp_path) == ("_slurmsim_cycle True", "")


def test_every_kernel_has_a_file_of_types() -> None:
    folder = Path(kernel.__file__).parent
    assert {path.stem for path in folder.glob("*.pxd")} == set(kernel.MODULES)
