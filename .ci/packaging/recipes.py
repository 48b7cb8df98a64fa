"""Write the conda recipe and the Homebrew formula of this version: ``recipes.py FOLDER [SDIST]``.

Both fetch the source distribution from the repository's page of releases, whose address SLURMSIM_REPOSITORY holds
(`slurmsim_describing`); without it HOST/OWNER stands in its place. Without SDIST the checksum is zeros.
"""

from __future__ import annotations

import hashlib
import runpy
import sys
import tomllib
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
TEMPLATES = {"conda.yaml.in": "recipe.yaml", "formula.rb.in": "slurmsim.rb"}


def values(sdist: Path | None) -> dict[str, str]:
    """What the templates leave open."""
    sys.path.insert(0, str(ROOT / ".ci/build_backend"))
    from slurmsim_describing import repository

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = runpy.run_path(str(ROOT / "slurmsim/version.py"))["__version__"]
    home = repository() or "https://HOST/OWNER/slurmsim"
    needs = [*project["dependencies"], *project["optional-dependencies"]["run"]]
    return {
        "version": version,
        "home": home,
        "source": f"{home}/releases/download/v{version}/slurmsim-{version}.tar.gz",
        "sha256": hashlib.sha256(sdist.read_bytes()).hexdigest() if sdist else "0" * 64,
        "summary": project["description"],
        "python": project["requires-python"],
        "run": "\n".join(f"    - {name.replace('>=', ' >=')}" for name in sorted(needs)),
    }


def main(folder: str, sdist: str = "") -> None:
    """Fill in the templates."""
    found = values(Path(sdist) if sdist else None)
    for template, name in TEMPLATES.items():
        text = Template((HERE / template).read_text(encoding="utf-8")).substitute(found)
        Path(folder, name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
