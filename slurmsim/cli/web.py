"""``slurmsim web``: a page to watch the live cluster."""

import argparse
from functools import partial

from slurmsim.cli.inject import folder_of
from slurmsim.errors import ConfigError
from slurmsim.live import daemon

_MOST_PORT = 65_535

DESCRIPTION = """Serve a page that shows the live cluster as things happen, on this machine alone, until interrupted.
The address it prints is its key. About the page: docs/web.md."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", metavar="DIR", help="the cluster's folder")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port of 127.0.0.1 (any that is free)")
    parser.add_argument("--control", action="store_true", help="let the page change the clock, nodes and faults")
    parser.add_argument("--with-cluster", action="store_true", help="end when the cluster does")
    parser.add_argument("--with-input", action="store_true", help="end when standard input does")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from slurmsim.web.serve import serve

    if not 0 <= args.port <= _MOST_PORT:
        raise ConfigError(f"bad port {args.port}", field="--port", expected=f"0 to {_MOST_PORT}")
    folder = folder_of(args)
    daemon.call(folder, "ping")
    serve(
        folder, args.port, may_change=args.control, with_cluster=args.with_cluster, with_input=args.with_input,
        ready=partial(print, flush=True),
    )  # fmt: skip
    return 0
