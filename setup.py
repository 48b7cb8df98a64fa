"""What pyproject.toml cannot say: a regular installation has compiled modules (docs/speed.md)."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent / ".ci/build_backend"))

from slurmsim_building import BuildExtensions
from slurmsim_compiling import BUILD_BASE, extensions, wanted

if wanted(sys.argv):
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildExtensions},
        options={"build": {"build_base": BUILD_BASE}},
    )
else:
    setup()
