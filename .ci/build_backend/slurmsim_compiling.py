"""The compiled build: which modules mypyc translates, and the build backend that does so on request.

A plain ``pip install .`` compiles the kernels (`slurmsim_kernels`), which takes seconds, if there is a C compiler;
else the installation is pure Python and says so. The variable SLURMSIM_COMPILE asks for more or less, and what it asks
for is done or fails: ``0`` is pure Python, ``kernels`` the kernels, ``1`` all of the engine, an extension module beside
each source of `MODULES`, made from that very source; Python prefers it. ``profile`` is how wheels are made
(`slurmsim_building`). An editable installation is always pure: no build ever writes next to the sources of the
checkout, where a stale extension would win over an edit.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from setuptools import Extension, build_meta
from setuptools.build_meta import *  # noqa: F403  (a PEP 517 backend is setuptools' with a few hooks of its own)
from slurmsim_editable import lighten
from slurmsim_kernels import REQUIRES as KERNEL_REQUIRES
from slurmsim_kernels import kernels

ROOT = Path(__file__).resolve().parents[2]
BUILD_BASE = "build/compiled"
KINDS = ("0", "kernels", "1", "profile")  # what SLURMSIM_COMPILE may say
ENGINE = ("1", "profile")  # of these, what compiles more than kernels
PACKAGES = {"slurmsim": "slurmsim", "policies": "slurmsim_policies"}  # folder here -> import name
# mypyc's own version matters; NumPy and SimPy are read for their types.
REQUIRES = ("mypy>=2.4,<2.5", "numpy>=2.0", "simpy>=4.1", *KERNEL_REQUIRES)

# Where the time goes: the core, the capacity structures, the driver's loop, the columns, the backfill engines, and of
# the daemon what each submission and each job of a squeue goes through.
# Left out: enumerations' modules, which gain nothing; the modules of the policies that are only a name and a depth,
# which stay open to whoever patches or extends them; decisions, in which a policy may be wrong and is told so in words.
MODULES = (
    "slurmsim/bitmap.py",
    "slurmsim/capacity.py",
    "slurmsim/core/*/*.py",
    "slurmsim/model/submission.py",
    "slurmsim/policy/outlook.py",
    "slurmsim/sim/listener.py",
    "slurmsim/sim/network.py",
    "slurmsim/sim/recorder.py",
    "slurmsim/sim/simulation.py",
    "slurmsim/sim/submissions.py",
    "slurmsim/sim/timers.py",
    "slurmsim/slurmctld/base/live_job.py",
    "slurmsim/slurmctld/base/request_interning.py",
    "slurmsim/slurmctld/fields/dependencies.py",
    "slurmsim/slurmctld/fields/job_details.py",
    "slurmsim/slurmctld/fields/job_fields.py",
    "slurmsim/slurmctld/requests/show/queries.py",
    "slurmsim/slurmctld/requests/submit/refusals.py",
    "slurmsim/slurmctld/requests/submit/normalising.py",
    "slurmsim/slurmctld/requests/shapes/values.py",
    "slurmsim/slurmctld/requests/submit/size_limits.py",
    "slurmsim/slurmctld/requests/submit/submissions.py",
    "slurmsim/slurmctld/base/submit_request.py",
    "slurmsim_policies/backfill.py",
    "slurmsim_policies/slurm_backfill/*.py",
)
LEFT_OUT = ("__init__.py", "read_only.py")  # facades are made as they are needed, and one is a list


def asked() -> str:
    """What the environment asks for, a text of `KINDS`; empty where it says nothing. SystemExit for what is unknown."""
    said = os.environ.get("SLURMSIM_COMPILE", "")
    if said not in ("", *KINDS):
        raise SystemExit(f"SLURMSIM_COMPILE: expected {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {said!r}")
    return said


def profiled() -> bool:
    """Whether the environment asks for a profile. SystemExit where there is no GCC for one."""
    if os.environ.get("SLURMSIM_COMPILE") != "profile":
        return False
    if not compiler_works("#if defined(__clang__) || __GNUC__ < 10\n#error\n#endif\n"):
        raise SystemExit("SLURMSIM_COMPILE=profile needs GCC 10 or newer and the headers of this Python")
    return True


def compiler_works(asking: str = "") -> bool:
    """Whether a C compiler and the headers of this Python are there, and what `asking` asks of the compiler holds."""
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.c")
        text = f"#include <Python.h>\n{asking}PyMODINIT_FUNC PyInit_probe(void) {{ return NULL; }}\n"
        probe.write_text(text, encoding="utf-8")
        command = build_ext(Distribution({"name": "probe", "ext_modules": [Extension("probe", [str(probe)])]}))
        command.build_lib = command.build_temp = folder
        try:
            command.ensure_finalized()
            command.run()
        except (Exception, SystemExit):
            return False
    return True


def wanted(command: list[str]) -> bool:
    """Whether `command`, the arguments of setup.py, is to build compiled modules."""
    compiles = asked() not in ("", "0")
    if compiles and {"editable_wheel", "develop", "build_ext"} & set(
        command
    ):  # extensions would lie beside the sources
        raise SystemExit(f"SLURMSIM_COMPILE={asked()} is for regular installations: pip install . (without -e)")
    return compiles and "bdist_wheel" in command


def extensions() -> list[Extension]:
    """What is to be compiled, its sources where setuptools looks for them: relative to the root."""
    base = ROOT / BUILD_BASE
    tree = base / "tree"
    for old in (*base.glob("lib*"), *base.glob("bdist*"), *(tree / name for name in PACKAGES.values())):
        shutil.rmtree(old, ignore_errors=True)  # what was compiled before and is no longer there must not be installed
    found = translate(tree) if asked() in ENGINE else []
    if found:
        _optimize(tree / "c/int_ops.c")
    for extension in found:
        extension.sources = [f"{BUILD_BASE}/tree/{source}" for source in extension.sources]
        extension.include_dirs = [os.path.join(tree, folder) for folder in extension.include_dirs]
        extension.depends = [f"{BUILD_BASE}/tree/{file}" for file in extension.depends]
        if sys.platform != "win32":  # calls between the modules need no table then
            extension.extra_compile_args = [*extension.extra_compile_args, "-fvisibility=hidden"]
    for extension in kernels(base / "kernels"):
        extension.sources = [os.path.relpath(source, ROOT) for source in extension.sources]
        found.append(extension)
    return found


def translate(tree: Path) -> list[Extension]:
    """Translate `MODULES` to C in `tree`, a copy of the sources laid out as they install. SystemExit on errors."""
    from mypyc.build import mypycify

    for folder, name in PACKAGES.items():
        shutil.copytree(ROOT / folder, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    here = Path.cwd()
    os.chdir(tree)  # tracebacks then say slurmsim/core/records/job.py
    try:
        paths = [str(path) for pattern in MODULES for path in sorted(Path().glob(pattern)) if path.name not in LEFT_OUT]
        found: list[Extension] = mypycify(
            [f"--config-file={ROOT / '.ci/build_backend/mypy.ini'}", *paths],
            opt_level="2", debug_level="0", multi_file=True, target_dir="c",
        )  # fmt: skip
    finally:
        os.chdir(here)
    return found


def _optimize(source: Path) -> None:
    """Have mypyc's loops over the digits of integers vectorised: node sets are integers of thousands of bits.

    CPython's own loops are compiled like that too; without, these took a fifth of a run on 18,688 nodes.
    """
    pragma = '#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC optimize ("O3")\n#endif\n'
    source.write_text(pragma + source.read_text(encoding="utf-8"), encoding="utf-8")


def required() -> list[str]:
    """What compiling needs: Cython; for the engine mypyc too; with a profile also what a simulation needs."""
    if asked() not in ENGINE:
        return [*KERNEL_REQUIRES] if asked() == "kernels" or (not asked() and compiler_works()) else []
    if not profiled():
        return [*REQUIRES]
    project = tomllib.loads(Path(ROOT, "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*REQUIRES, *project["dependencies"], *project["optional-dependencies"]["run"]]


def get_requires_for_build_wheel(config_settings: Mapping[str, Any] | None = None) -> list[str]:
    """What a build needs: setuptools' and ours."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *required()]


def build_wheel(
    wheel_directory: str, config_settings: Mapping[str, Any] | None = None, metadata_directory: str | None = None
) -> str:  # fmt: skip
    """The wheel: with kernels where that is possible, unless the environment says what it is to be."""
    if asked():
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    why = "there is no C compiler with the headers of this Python"
    try:
        if compiler_works():
            os.environ["SLURMSIM_COMPILE"] = "kernels"
            try:
                return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
            except (Exception, SystemExit) as failure:
                why = str(failure) or type(failure).__name__
        print(f"slurmsim: installed as pure Python, in which backfill is slower: {why}", file=sys.stderr)
        os.environ["SLURMSIM_COMPILE"] = "0"
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    finally:
        os.environ.pop("SLURMSIM_COMPILE", None)


def build_editable(
    wheel_directory: str, config_settings: Mapping[str, Any] | None = None, metadata_directory: str | None = None
) -> str:  # fmt: skip
    """The wheel of an editable installation, with a finder that loads fast."""
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    lighten(Path(wheel_directory, name))
    return name


if __name__ == "__main__":  # for `.ci/setup`, which installs what is required as pinned
    print(*required(), sep="\n")
