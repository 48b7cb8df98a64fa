"""Files that a forge reads: forms of issues, the citation, the workflows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
USES = re.compile(r"^ *-? *uses: [\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
WRITES = {("release", "publish"): {"id-token": "write"}}  # what a job may do beside reading the repository


@pytest.mark.parametrize("path", FORMS, ids=lambda path: str(path.stem))
def test_a_form_asks_something(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"] and form["description"]
    ids = [part["id"] for part in form["body"]]
    assert ids and len(set(ids)) == len(ids)
    assert all(part["type"] in ("input", "textarea") and part["attributes"]["label"] for part in form["body"])


def test_the_citation_has_what_the_format_demands() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "title", "message", "authors"} <= set(found)
    assert found["license"] == "MIT" and all(author.get("name") for author in found["authors"])


def jobs(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from yaml.safe_load(path.read_text("utf-8"))["jobs"].items()


def test_there_are_workflows() -> None:
    assert {path.stem for path in WORKFLOWS} == {"tests", "nightly", "release"}
    pythons = [job["strategy"]["matrix"]["python"] for _, job in jobs(WORKFLOWS[2]) if "strategy" in job]
    assert pythons[0] == ["3.11", "3.12", "3.13", "3.14"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.stem))
def test_actions_are_pinned_by_commit_and_say_their_version(path: Path) -> None:
    lines = [line for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    assert lines and [line for line in lines if not USES.match(line)] == []
    pins: dict[str, set[str]] = {}
    for line in [line for each in WORKFLOWS for line in each.read_text("utf-8").splitlines() if "uses:" in line]:
        name, _, pin = line.rpartition("uses: ")[2].partition("@")
        pins.setdefault(name, set()).add(pin)
    assert {name: found for name, found in pins.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.stem))
def test_a_workflow_may_do_what_it_must(path: Path) -> None:
    assert yaml.safe_load(path.read_text("utf-8"))["permissions"] == {}
    for name, job in jobs(path):
        assert job["permissions"] == WRITES.get((path.stem, name), {"contents": "read"}), name
        assert job["timeout-minutes"] <= 360
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
            assert "${{" not in step.get("run", ""), "an expression in a script is code of its author"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.stem))
def test_what_a_workflow_runs_is_there(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    commands = [step["run"] for _, job in jobs(path) for step in job["steps"] if "run" in step]
    asked = {name for line in commands for name in re.findall(r"^make ([a-z-]+)", line)}
    scripts = {name for line in commands for name in re.findall(r"(?:^| )(\.ci/[\w/-]+)", line)}
    tests = {name for line in commands for name in re.findall(r" (tests/[\w/]+)", line)}
    assert asked | scripts and asked <= targets
    assert [name for name in scripts | tests if not (ROOT / name).exists()] == []
