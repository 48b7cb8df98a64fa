"""``slurmsim mcp``: questions about a cluster as tools for an assistant, on standard input and output."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from slurmsim.errors import ConfigError
from slurmsim.extras import how_to_install
from slurmsim.protocol import cluster_folder

DESCRIPTION = """Answer questions over the Model Context Protocol: queue, nodes, why, when, whatif; about the twin of a
real cluster (--from) or a live cluster. Nothing is changed, unless --allow-write adds a tool that runs Slurm's commands
on the live cluster. With --sandbox an assistant practises instead: graded tasks on simulated clusters
(docs/twin-operators.md). Needs the extra mcp."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--from", metavar="DUMP", dest="dump", type=Path, help="folder or tar of slurmsim twin collect")
    p.add_argument("--state", metavar="DIR", type=Path, help="a live cluster's folder")
    p.add_argument("--sandbox", action="store_true", help="practise: graded tasks on simulated clusters")
    p.add_argument("--allow-write", action="store_true", help="let a tool run sbatch, scancel, scontrol … there")


def run(args: argparse.Namespace) -> int:
    """Serve until standard input ends. Raises SlurmSimError."""
    if args.sandbox and (args.dump is not None or args.state is not None or args.allow_write):
        raise ConfigError("has clusters of its own", field="--sandbox", expected="no other option")
    if args.dump is not None and (args.state is not None or args.allow_write):
        raise ConfigError("a dump cannot be changed", field="--from", expected="neither --state nor --allow-write")
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ModuleNotFoundError:
        raise ConfigError(f"mcp is not installed: {how_to_install('mcp')}", field="slurmsim mcp") from None
    from slurmsim.assistant.answers import answers
    from slurmsim.assistant.server import serve

    if args.sandbox:
        from slurmsim.assistant.practice import make_practice
        from slurmsim.assistant.tasks import Sandbox

        with Sandbox() as sandbox, contextlib.redirect_stdout(sys.__stdout__):
            make_practice(sandbox).run("stdio")
        return 0
    state = (args.state or Path(cluster_folder(os.environ))).absolute()
    # what is printed by others would be no message of the protocol
    with answers(args.dump, state) as found, contextlib.redirect_stdout(sys.__stdout__):
        serve(found, state if args.allow_write else None)
    return 0
