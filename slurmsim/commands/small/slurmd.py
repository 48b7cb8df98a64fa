"""slurmd: a node registers and is up. It stands for the daemon of a node that a ResumeProgram has switched on.

A node of slurmsim has no daemon: jobs run where the cluster does. So this one registers the node and is done, as a real
slurmd is seen from the shell that starts it; with ``-D`` it stays until it is told to end.
"""

from __future__ import annotations

from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import NO, REQUIRED, OptionError, Parser, options
from slurmsim.commands.text.release import version_of
from slurmsim.protocol import Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io

_OPTIONS = options(
    (None, NO, "b"), (None, NO, "c"), (None, NO, "D"), ("help", NO, "h"), (None, REQUIRED, "L"), (None, NO, "M"),
    (None, REQUIRED, "N"), (None, REQUIRED, "n"), ("version", NO, "V"), (None, NO, "v"), (None, REQUIRED, "f"),
)  # fmt: skip
_HELP = """\
Usage: slurmd -N NODE [OPTIONS]

Register a node, so that it is up.

Options:
  -N NODE        which node; several as a hostlist
  -D             stay in the foreground until told to end
  -b, -c, -M, -v, -f FILE, -L FILE, -n VALUE
                 taken, without effect
  -h, --help     this text
  -V, --version  the release
"""


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One slurmd call in the world `io`; the exit code."""
    found: dict[str, str | None] = {}
    parser = Parser(_OPTIONS, permute=True)
    try:
        for key, value in parser.parse(argv):
            if key in ("h", "V"):
                io.out(_HELP if key == "h" else version_of(io))
                return 0
            found[key] = value
    except OptionError as error:
        raise _stop(io, f"slurmd: error: {error}: only what --help names is modelled") from None
    nodes = found.get("N") or io.environ.get("SLURMD_NODENAME")
    if not nodes:
        raise _stop(io, "slurmd: error: -N NODE says which node it is")
    try:
        io.client.call("node_action", action="register", nodes=nodes)
    except Refusal as refusal:
        raise _stop(io, f"slurmd: error: {nodes}: {refusal.text}") from None
    except Unreachable:
        raise _stop(io, "slurmd: error: no slurmctld answers") from None
    if "D" in found:
        _stay()
    return 0


def _stay() -> None:
    """Stay until a signal says to end."""
    import signal

    def told(number: int, frame: object) -> None:
        raise Stop(0)

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, told) for number in numbers]
    try:
        signal.pause()
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _stop(io: Io, text: str) -> Stop:
    io.error(text)
    return Stop(1)
