"""First files of something new: a policy, a reader of job logs, a command of Slurm (``slurmsim new``).

A folder a kind, with files as they will be. In their names and texts ``$name`` is the name that was given, ``$Name``
the class's and ``$dist`` the distribution's. The ending ``.txt`` is left out of the names.
"""

import keyword
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from slurmsim.errors import ConfigError, OutputError


@dataclass(frozen=True)
class Kind:
    """One kind of thing to begin with."""

    summary: str  # what it is, for ``--help``
    own_folder: bool  # True: a package in a folder of its own, which is made. False: files in a checkout of slurmsim.
    then: tuple[str, ...]  # what to do next, a line each


_PACKAGE = ("cd $folder", "pip install -e . pytest", "pytest")
KINDS = {
    "policy": Kind("a scheduling policy, in a package of your own", True,
                   (*_PACKAGE, "slurmsim run --workload LOG --policy $name --out out")),
    "reader": Kind("a reader of a format of job logs, in a package of your own", True,
                   (*_PACKAGE, "slurmsim run --workload FILE.$name --nodes 4 --out out")),
    "command": Kind("a command of Slurm, in a checkout of slurmsim", False,
                    ("add $name to _ROOMS in slurmsim/commands/__init__.py",
                     "add $name to NAMES in slurmsim/live/programs.py",
                     "pytest tests/unit/commands/test_$name.py")),
}  # fmt: skip


def write(kind: str, name: str, folder: Path) -> tuple[list[Path], list[str]]:
    """Write the first files of a new thing.

    Parameters
    ----------
    kind
        A key of `KINDS`.
    name
        What it is called: a Python identifier in lower case.
    folder
        Where the package's folder is made, or the checkout.

    Returns
    -------
    The files, and what to do next, a line each.

    Raises
    ------
    ConfigError
        The name cannot be a module's, or `folder` is no checkout.
    OutputError
        A file is there already, or cannot be written. Nothing is overwritten.
    """
    if not (name.isidentifier() and name.isascii() and name == name.lower()) or keyword.iskeyword(name):
        raise ConfigError(f"{name!r} cannot be a module's name", expected="lower-case letters, digits and _")
    made = KINDS[kind]
    if made.own_folder:
        folder = folder / name
    elif not (folder / "slurmsim" / "commands").is_dir():
        raise ConfigError("not a checkout of slurmsim", file=str(folder), expected="the folder of its pyproject.toml")
    words = {
        "name": name, "Name": name.title().replace("_", ""), "dist": name.replace("_", "-"), "folder": str(folder)
    }  # fmt: skip
    texts = {folder / target: Template(text).substitute(words) for target, text in _files(kind, words)}
    for path in texts:
        if path.exists():
            raise OutputError(f"{path}: is there already")
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from None
    return list(texts), [Template(line).substitute(words) for line in made.then]


def _files(kind: str, words: dict[str, str]) -> list[tuple[str, str]]:
    """Return path and text of each file of a kind, in the order of their paths."""
    found: list[tuple[str, str]] = []
    for entry in sorted((resources.files(__package__) / kind).iterdir(), key=lambda entry: entry.name):
        target = Template(entry.name.removesuffix(".txt")).substitute(words).replace("--", "/")
        found.append((target, entry.read_text("utf-8")))
    return found
