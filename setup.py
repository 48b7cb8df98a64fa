"""What pyproject.toml cannot say: the packages are found, and a regular installation has compiled modules.

setuptools finds packages by itself only under the names of their folders; `policies` and `workloads` install under
others (`tool.setuptools.package-dir`). About the compiled modules: docs/speed.md.
"""

import sys
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

sys.path.insert(0, str(Path(__file__).resolve().parent / ".ci/build_backend"))

from slurmsim_building import BuildExtensions
from slurmsim_compiling import BUILD_BASE, ROOT, extensions, wanted


def packages() -> list[str]:
    """The packages of all folders, by the names under which they install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = project["tool"]["setuptools"]["package-dir"]
    inner = {top: find_packages(str(ROOT / folder)) for top, folder in folders.items()}
    return [*inner, *(f"{top}.{name}" for top, names in inner.items() for name in names)]


if wanted(sys.argv):
    setup(
        packages=packages(),
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildExtensions},
        options={"build": {"build_base": BUILD_BASE}},
    )
else:
    setup(packages=packages())
