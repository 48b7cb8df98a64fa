"""A regular installation has kernels where it can, and is pure Python, said aloud, where it cannot."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BACKEND = Path(__file__).resolve().parents[2] / ".ci/build_backend/slurmsim_compiling.py"


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.delenv("SLURMSIM_COMPILE", raising=False)
    monkeypatch.syspath_prepend(str(BACKEND.parent))
    spec = importlib.util.spec_from_file_location("slurmsim_compiling", BACKEND)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.build_meta, "get_requires_for_build_wheel", lambda _: [])
    return module


@pytest.fixture
def builds(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """What SLURMSIM_COMPILE was at each build; compiled ones fail."""
    made: list[str | None] = []

    def build_wheel(*_: Any) -> str:
        made.append(os.environ.get("SLURMSIM_COMPILE"))
        if made[-1] in ("kernels", "1"):
            raise SystemExit("error: command 'cc' failed")
        return "slurmsim.whl"

    monkeypatch.setattr(backend.build_meta, "build_wheel", build_wheel)
    return made


@pytest.mark.slow  # three quarters of a minute; the compiled build, which the suite runs on too, shows it as well
def test_every_module_is_translated(tmp_path: Path) -> None:
    """A build that fails falls back to pure Python, which nobody notices who does not measure."""
    code = f"import sys; sys.path.insert(0, {str(BACKEND.parent)!r}); from pathlib import Path\n"
    code += f"from slurmsim_compiling import translate; translate(Path({str(tmp_path / 'tree')!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, [line for line in done.stdout.splitlines() if "error" in line]


def test_falls_back_to_pure_python_and_says_so(
    backend: ModuleType, builds: list[str | None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backend, "compiler_works", lambda: True)
    assert backend.build_wheel("there") == "slurmsim.whl"
    assert builds == ["kernels", "0"]
    assert "SLURMSIM_COMPILE" not in os.environ
    assert "pure Python, in which backfill is slower: error: command 'cc' failed" in capsys.readouterr().err


def test_without_a_compiler_nothing_is_tried(
    backend: ModuleType, builds: list[str | None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "/no/such/compiler")
    assert not backend.compiler_works()
    assert backend.get_requires_for_build_wheel() == []
    backend.build_wheel("there")
    assert builds == ["0"]
    assert "there is no C compiler" in capsys.readouterr().err


def test_a_plain_installation_asks_for_no_mypy(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine takes minutes to compile: that is for wheels, and on request."""
    monkeypatch.setattr(backend, "compiler_works", lambda: True)
    assert [required.partition(">")[0] for required in backend.get_requires_for_build_wheel()] == ["cython"]


@pytest.mark.parametrize(("said", "needs"), [("1", {"mypy", "cython"}), ("kernels", {"cython"}), ("0", set())])
def test_what_is_asked_for_is_done_or_fails(
    backend: ModuleType, builds: list[str | None], monkeypatch: pytest.MonkeyPatch, said: str, needs: set[str]
) -> None:
    monkeypatch.setenv("SLURMSIM_COMPILE", said)
    required = {line.partition(">")[0] for line in backend.get_requires_for_build_wheel()}
    assert required & {"mypy", "cython"} == needs
    if needs:
        with pytest.raises(SystemExit):
            backend.build_wheel("there")
    else:
        backend.build_wheel("there")
    assert builds == [said]


def test_an_editable_installation_is_never_compiled(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not backend.wanted([sys.argv[0], "editable_wheel"])
    monkeypatch.setenv("SLURMSIM_COMPILE", "1")
    with pytest.raises(SystemExit, match="without -e"):
        backend.wanted([sys.argv[0], "editable_wheel"])
    assert backend.wanted([sys.argv[0], "bdist_wheel"])


@pytest.mark.parametrize(("said", "engine"), [("kernels", False), ("1", True)])
def test_kernels_alone_translate_no_engine(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, engine: bool
) -> None:
    asked: list[Path] = []
    monkeypatch.setenv("SLURMSIM_COMPILE", said)
    monkeypatch.setattr(backend, "ROOT", tmp_path)
    monkeypatch.setattr(backend, "translate", lambda tree: asked.append(tree) or [])
    monkeypatch.setattr(backend, "kernels", lambda tree: [])
    assert backend.extensions() == [] and bool(asked) is engine


def test_what_is_unknown_is_refused_by_name(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMSIM_COMPILE", "yes")
    with pytest.raises(SystemExit, match="SLURMSIM_COMPILE: expected 0, kernels, 1 or profile, not 'yes'"):
        backend.build_wheel("there")


def test_a_profile_needs_what_a_simulation_needs(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMSIM_COMPILE", "1")
    plain = backend.required()
    monkeypatch.setenv("SLURMSIM_COMPILE", "profile")
    monkeypatch.setattr(backend, "compiler_works", lambda _="": True)
    more = {requirement.partition(">=")[0] for requirement in set(backend.required()) - set(plain)}
    assert {"pyarrow", "pandas", "matplotlib"} <= more


def test_a_profile_needs_gcc(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMSIM_COMPILE", "profile")
    monkeypatch.setenv("CC", "/no/such/compiler")
    with pytest.raises(SystemExit, match="needs GCC 10 or newer"):
        backend.required()


SOURCE = """
#include <Python.h>
static PyObject *twice(PyObject *module, PyObject *number) { return PyNumber_Add(number, number); }
static PyMethodDef methods[] = {{"twice", twice, METH_O, NULL}, {NULL}};
static struct PyModuleDef about = {PyModuleDef_HEAD_INIT, "tried", NULL, -1, methods};
PyMODINIT_FUNC PyInit_tried(void) { return PyModule_Create(&about); }
"""


@pytest.fixture
def tried(backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The command that builds two small modules into ``built``; skipped without GCC."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURMSIM_COMPILE", "profile")
    try:
        backend.profiled()
    except SystemExit as why:
        pytest.skip(str(why))
    import slurmsim_building
    from setuptools import Distribution, Extension

    sources = [tmp_path / "tried.c", tmp_path / "left.c"]
    sources[0].write_text(SOURCE)
    sources[1].write_text(SOURCE.replace("tried", "left"))  # never imported: no counts
    built = [Extension(source.stem, [str(source)], extra_compile_args=["-Werror"]) for source in sources]
    about = {"name": "tried", "ext_modules": built, "script_name": "setup.py"}
    build = slurmsim_building.BuildExtensions(Distribution(about))
    build.build_lib = build.build_temp = str(tmp_path / "built")
    build.ensure_finalized()
    return build


def test_a_profile_without_counts_is_none(tried: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["slurmsim_building"], "train", lambda library, metadata: None)
    with pytest.raises(SystemExit, match="the simulations left no counts"):
        tried.run()


@pytest.mark.parametrize("profile", [False, True])
def test_what_the_first_build_counts_is_given_to_the_second(
    tried: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: bool
) -> None:
    monkeypatch.setenv("SLURMSIM_COMPILE", "profile" if profile else "1")
    counted: list[Path] = []

    def called() -> Path:
        code = "import tried; assert tried.twice(4) == 8; print(tried.__file__)"
        environment = {**os.environ, "PYTHONPATH": tried.build_lib}
        return Path(subprocess.check_output([sys.executable, "-P", "-c", code], env=environment, text=True).strip())

    def train(library: Path, metadata: Path) -> None:
        assert library == tmp_path / "built"
        assert (metadata / "PKG-INFO").is_file()
        called()
        counted.extend(tmp_path.rglob("*tried.gcda"))

    monkeypatch.setattr(sys.modules["slurmsim_building"], "train", train)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tried.run()
    assert len(counted) == profile
    assert [extension.extra_compile_args for extension in tried.extensions] == [["-Werror"], ["-Werror"]]
    assert b"gcov" not in called().read_bytes()


def test_an_editable_installation_is_found_by_a_module_that_loads_nothing(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """setuptools' finder loads `pathlib` and `re` at every start of Python."""
    package = tmp_path / "there"
    package.mkdir()
    (package / "__init__.py").write_text("from here_x.inner import WHO\n")
    (package / "inner.py").write_text("WHO = __name__\n")
    finder, record = "__editable___x_1_finder.py", "x-1.dist-info/RECORD"
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(finder, f"import pathlib\nMAPPING: dict[str, str] = {{'here_x': {str(package)!r}}}\n")
        archive.writestr(record, f"{finder},sha256=a,1\nother,sha256=b,2\n")
    monkeypatch.setattr(backend.build_meta, "build_editable", lambda *_: wheel.name)
    assert backend.build_editable(str(tmp_path)) == wheel.name
    with zipfile.ZipFile(wheel) as archive:
        lines = archive.read(record).decode().splitlines()
        archive.extractall(tmp_path / "installed")
    assert lines[0].startswith(f"{finder},sha256=") and lines[0] != f"{finder},sha256=a,1"
    assert lines[1] == "other,sha256=b,2"
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r}); import {finder[:-3]} as finder; "
        "finder.install(); print({'pathlib', 're'} & set(sys.modules)); "
        "import here_x; print(here_x.WHO, here_x.__file__)"
    )
    done = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["set()", f"here_x.inner {package / '__init__.py'}"]


def test_a_wheel_without_such_a_finder_stays(backend: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("x.pth", "/there\n")
    before = wheel.read_bytes()
    assert not backend.lighten(wheel) and wheel.read_bytes() == before
