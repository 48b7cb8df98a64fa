"""The kernels: sources of slurmsim/kernel made into extensions by Cython.

``python .ci/build_backend/slurmsim_kernels.py FOLDER [FLAG...]`` builds them into a folder, for an editable
installation; where Cython or a C compiler is missing it says so in one line and builds nothing. Flags for the compiler
and the linker take the place of those that make them fast (`.ci/sanitize`); then what is missing is an error.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parents[2]
REQUIRES = ("cython>=3.1,<3.4",)
# Integers stay inside 64 bits and indices inside their arrays, which the suite shows with the same source in Python.
DIRECTIVES = {
    "language_level": 3, "infer_types": True, "annotation_typing": False, "boundscheck": False, "wraparound": False,
    "cdivision": True, "initializedcheck": False,
}  # fmt: skip
EXACT = ("-ffp-contract=off",)  # a product and a sum are rounded one after the other, as Python does
FAST = ("-O3", "-g0")
SMALL = ("-O1", "-g0")
SHARED = "_slurmsim_shared"  # what Cython needs for arrays, once instead of in each extension: half of a build's time


def package() -> ModuleType:
    """The package of the kernels, which says what there are and what marks an extension of theirs, on its own."""
    spec = importlib.util.spec_from_file_location("kernel", ROOT / "slurmsim/kernel/__init__.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def kernels(tree: Path, flags: Sequence[str] = FAST) -> list[Extension]:
    """The extensions, translated to C in the folder `tree`. ImportError without Cython."""
    from Cython.Build import cythonize

    tree.mkdir(parents=True, exist_ok=True)
    about = package()
    mark = about.source_hash()
    found = []
    for name in about.MODULES:
        source = ROOT / f"slurmsim/kernel/{name}.py"
        text = source.read_text(encoding="utf-8")
        copy = tree / f"_slurmsim_{name}.py"
        copy.write_text(f'{text}\n\nSOURCE = "{mark}"\n', encoding="utf-8")
        shutil.copy(source.with_suffix(".pxd"), copy.with_suffix(".pxd"))
        compiling, linking = [*flags, *EXACT], list(flags)
        found.append(Extension(f"_slurmsim_{name}", [str(copy)], extra_compile_args=compiling, extra_link_args=linking))
    shared = [*(SMALL if flags == FAST else flags)]
    found.append(Extension(SHARED, [str(tree / f"{SHARED}.c")], extra_compile_args=shared, extra_link_args=shared))
    made: list[Extension] = cythonize(
        found, compiler_directives=DIRECTIVES, quiet=True, shared_utility_qualified_name=SHARED
    )  # fmt: skip
    return made


def build(folder: Path, flags: Sequence[str] = FAST) -> None:
    """Build all kernels into `folder`."""
    with tempfile.TemporaryDirectory() as tree:
        command = build_ext(Distribution({"name": "kernels", "ext_modules": kernels(Path(tree), flags)}))
        command.build_lib, command.build_temp, command.parallel = str(folder), tree, 2
        command.ensure_finalized()
        command.run()


if __name__ == "__main__":
    where, *wanted = sys.argv[1:]
    try:
        build(Path(where), wanted or FAST)
    except (Exception, SystemExit) as failure:
        if wanted:
            raise
        why = (str(failure) or type(failure).__name__).strip().splitlines()[-1]
        print(f"slurmsim: the kernels are not compiled, which makes backfill slower: {why}", file=sys.stderr)
