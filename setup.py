"""What pyproject.toml cannot say: packages under other names than their folders, the description, compiled modules.

setuptools finds packages by itself only under the names of their folders; `policies` and `workloads` install under
others (`tool.setuptools.package-dir`). About the compiled modules: docs/speed.md.
"""

import runpy
import sys
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

sys.path.insert(0, str(Path(__file__).resolve().parent / ".ci/build_backend"))

from slurmsim_building import BuildExtensions
from slurmsim_compiling import BUILD_BASE, ROOT, extensions, wanted
from slurmsim_describing import addresses, long_description, repository


def packages() -> list[str]:
    """The packages of all folders, by the names under which they install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = project["tool"]["setuptools"]["package-dir"]
    inner = {top: find_packages(str(ROOT / folder)) for top, folder in folders.items()}
    return [*inner, *(f"{top}.{name}" for top, names in inner.items() for name in names)]


VERSION = runpy.run_path(str(ROOT / "slurmsim/version.py"))["__version__"]
COMPILING = {
    "ext_modules": extensions(),
    "cmdclass": {"build_ext": BuildExtensions},
    "options": {"build": {"build_base": BUILD_BASE}},
} if wanted(sys.argv) else {}  # fmt: skip

setup(
    packages=packages(),
    version=VERSION,
    long_description=long_description((ROOT / "README.md").read_text(encoding="utf-8"), repository(), VERSION),
    long_description_content_type="text/markdown",
    project_urls=addresses(repository()),
    **COMPILING,
)
