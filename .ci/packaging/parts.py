"""Print the list of parts of a release as CycloneDX JSON: what an installation asks for, and what is copied in.

Required packages have the versions of `constraints.txt`, those of the extra ``run`` among them; the scripts of the
report's page have those of ``vendored.toml``. The same tree gives the same text.
"""

from __future__ import annotations

import json
import re
import runpy
import tomllib
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def pins() -> dict[str, str]:
    """The versions the suite passes with, by name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))


def required(project: dict[str, Any]) -> list[dict[str, Any]]:
    """A component for each package that slurmsim or its extra ``run`` asks for."""
    known, found = pins(), []
    for scope, lines in (("required", project["dependencies"]), ("optional", project["optional-dependencies"]["run"])):
        for line in lines:
            name = re.split(r"[<>=!~\[; ]", line)[0]
            found.append(component(name, known[name], scope, f"pkg:pypi/{name}@{known[name]}"))
    return found


def copied() -> list[dict[str, Any]]:
    """A component for each library whose file lies in the tree."""
    found = tomllib.loads((ROOT / "slurmsim/report/web/vendored/vendored.toml").read_text(encoding="utf-8"))["library"]
    return [
        component(one["name"], one["version"], "required", f"pkg:npm/{one['name']}@{one['version']}", one["license"])
        for one in found
    ]


def component(name: str, version: str, scope: str, purl: str, licence: str = "") -> dict[str, Any]:
    """One part, with its address among packages."""
    made: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name, "version": version, "scope": scope}
    if licence:
        made["licenses"] = [{"license": {"id": licence}}]
    return {**made, "purl": purl}


def document() -> dict[str, Any]:
    """The whole list."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = runpy.run_path(str(ROOT / "slurmsim/version.py"))["__version__"]
    me = f"pkg:pypi/slurmsim@{version}"
    parts = [*required(project), *copied()]
    body = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": me, "name": "slurmsim", "version": version, "purl": me,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": me, "dependsOn": [part["bom-ref"] for part in parts]}],
    }  # fmt: skip
    return {**body, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body))}"}


if __name__ == "__main__":
    print(json.dumps(document(), indent=2))
