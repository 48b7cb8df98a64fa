"""Libraries inside every report are, byte for byte, what is written beside them."""

from __future__ import annotations

import hashlib
import tomllib
from importlib.resources import files

from slurmsim.report.web import assets

FOLDER = files("slurmsim.report.web") / "vendored"
LIBRARIES = tomllib.loads((FOLDER / "vendored.toml").read_text("utf-8"))["library"]


def test_every_file_is_listed_with_its_hash():
    told = {name: digest for library in LIBRARIES for name, digest in library["sha256"].items()}
    there = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in FOLDER.iterdir() if f.name != "vendored.toml"}
    assert there == told


def test_each_library_has_its_licence_and_names_its_version():
    for library in LIBRARIES:
        assert library["license_file"] in library["sha256"]
        assert library["license"] == "MIT" and "MIT License" in (FOLDER / library["license_file"]).read_text("utf-8")
    texts = {name: assets.content(f"vendored/{name}") for lib in LIBRARIES for name in lib["sha256"]}
    assert f"Tabulator v{LIBRARIES[1]['version']}" in texts["tabulator.min.js"]
    assert f"(v{LIBRARIES[0]['version']})" in texts["uPlot.iife.min.js"]


def test_no_library_makes_code_of_text():
    """A page forbids it, so one that did would break there."""
    for name in assets.WORKBENCH_SCRIPTS:
        text = assets.content(name)
        assert "new Function(" not in text and "eval(" not in text
