"""``slurmsim new``: the first files of a policy, a reader of job logs or a command of Slurm."""

import argparse
from pathlib import Path

from slurmsim.scaffold import KINDS, write

DESCRIPTION = "Write small files that work, with their first test. " + " ".join(
    f"{name}: {kind.summary}." for name, kind in KINDS.items()
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=KINDS, help="what it is")
    parser.add_argument("name", metavar="NAME", help="what it is called: lower-case letters, digits and _")
    parser.add_argument("--folder", type=Path, default=Path(), metavar="FOLDER",
                        help="where the package is made, or the checkout (default: the present folder)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Write the files; 0."""
    files, then = write(args.kind, args.name, args.folder)
    print(*(f"wrote {path}" for path in files), "", "Next:", *(f"  {line}" for line in then), sep="\n")
    return 0
