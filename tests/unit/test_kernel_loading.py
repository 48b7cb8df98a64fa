"""An extension made from another source than the kernel's is not used, and that is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import machinery
from pathlib import Path

import pytest

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
    (tmp_path / "_slurmsim_cycle.py").write_text(f'SOURCE = "{kernel.source_hash()}"\n', encoding="utf-8")
    assert asked(tmp_path) == ("_slurmsim_cycle True", "")


def test_an_extension_whose_making_was_cut_short(tmp_path: Path) -> None:
    suffix = machinery.EXTENSION_SUFFIXES[0]
    (tmp_path / f"_slurmsim_cycle{suffix}").write_bytes(b"\x7fELF")
    printed, said = asked(tmp_path)
    assert printed == "slurmsim.kernel.cycle False"
    assert "the compiled kernel cycle cannot be used (run .ci/setup)" in said


def test_an_edit_of_one_kernel_is_another_source_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They know each other's types: an extension of one cannot work on objects of the other in Python."""
    before = kernel.source_hash()
    shutil.copytree(Path(kernel.__file__).parent, tmp_path / "kernel")
    monkeypatch.setattr(kernel, "__file__", str(tmp_path / "kernel/__init__.py"))
    assert kernel.source_hash() == before
    with open(tmp_path / "kernel/placement.pxd", "a", encoding="utf-8") as file:
        file.write("# edited\n")
    assert kernel.source_hash() != before


def test_every_kernel_has_a_file_of_types() -> None:
    folder = Path(kernel.__file__).parent
    assert {path.stem for path in folder.glob("*.pxd")} == set(kernel.MODULES)
