"""slurmd: a node registers and is up. It stands for the daemon of a node that a ResumeProgram has switched on.

A node of slurmsim has no daemon: jobs run where the cluster does. So this one registers the node and is done, as a real
slurmd is seen from the shell that starts it; with ``-D`` it stays until it is told to end. With ``-Z`` the node may be
one that slurm.conf does not have: sizes that ``--conf`` does not give are then those of this machine (_dynamic_init,
22.05 to 26.05).
"""

from __future__ import annotations

import os

from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import NO, REQUIRED, OptionError, Parser, options
from slurmsim.commands.text.release import version_of
from slurmsim.protocol import Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmsim.commands.io import Io

_OPTIONS = options(
    (None, NO, "b"), (None, NO, "C"), (None, NO, "c"), ("conf", REQUIRED, "conf"), (None, NO, "D"), ("help", NO, "h"),
    (None, REQUIRED, "L"), (None, NO, "M"), (None, REQUIRED, "N"), (None, REQUIRED, "n"), ("version", NO, "V"),
    (None, NO, "v"), (None, REQUIRED, "f"), (None, NO, "Z"),
)  # fmt: skip
_HELP = """\
Usage: slurmd -N NODE [OPTIONS]

Register a node, so that it is up.

Options:
  -N NODE        which node; several as a hostlist
  -Z             a node that slurm.conf does not have; without -N it is called as this machine
  --conf LINE    with -Z: what slurm.conf would say of it, as CPUs=, RealMemory=, Feature=, Gres=
  -C             print a line with what this machine has
  -D             stay in the foreground until told to end
  -b, -c, -M, -v, -f FILE, -L FILE, -n VALUE
                 taken, without effect
  -h, --help     this text
  -V, --version  the release
"""
_SIZES = frozenset({"boards", "corespersocket", "cpus", "procs", "sockets", "socketsperboard"})


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
    here = os.uname().nodename
    if "C" in found:
        io.out(f"NodeName={nodes or here} {' '.join(f'{key}={value}' for key, value in _machine().items())}\n")
        return 0
    if "Z" not in found and not nodes:
        raise _stop(io, "slurmd: error: -N NODE says which node it is")
    if "D" in found:
        _stay(lambda: _register(io, nodes, found, here))
    else:
        _register(io, nodes, found, here)
    return 0


def _register(io: Io, nodes: str | None, found: dict[str, str | None], here: str) -> None:
    if "Z" in found:
        _register_dynamic(io, nodes or here.partition(".")[0], found.get("conf") or "", here)
    else:
        _ask(io, "node_action", nodes or "", action="register", nodes=nodes)


def _ask(io: Io, name: str, node: str, **arguments: object) -> dict[str, object]:
    """Return the answer to a request; raise Stop with a line that says why there is none."""
    try:
        found: dict[str, object] = io.client.call(name, **arguments)
    except Refusal as refusal:
        raise _stop(io, "\n".join(f"slurmd: error: {node}: {text}" for text in refusal.text.split("\n"))) from None
    except Unreachable:
        raise _stop(io, "slurmd: error: no slurmctld answers") from None
    return found


def _machine() -> dict[str, int]:
    """Return what this machine has, as slurm.conf says it."""
    cpus = os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return {"CPUs": cpus, "Boards": 1, "SocketsPerBoard": 1, "CoresPerSocket": cpus, "ThreadsPerCore": 1,
            "RealMemory": memory}  # fmt: skip


def _register_dynamic(io: Io, name: str, conf: str, here: str) -> None:
    """Register a node that may be new, and say which GPUs it has found."""
    given = {word.partition("=")[0].lower() for word in conf.split()}
    has = _machine()
    sizes = ("CPUs", "SocketsPerBoard", "CoresPerSocket") if not given & _SIZES else ()
    told = [*sizes, *(() if "realmemory" in given else ("RealMemory",))]
    line = " ".join([f"NodeName={name}", *(f"{key}={has[key]}" for key in told), conf]).strip()
    found = _ask(io, "register_node", name, line=line, host=here)
    if found.get("gres"):
        io.error(f"slurmd: Autodetected Gres for dynamic node {name}: {found['gres']}")


def _stay(register: Callable[[], None]) -> None:
    """Register, and stay until a signal says to end; one that comes sooner is kept until then."""
    import signal

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        register()
        signal.sigwait(numbers)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop(io: Io, text: str) -> Stop:
    io.error(text)
    return Stop(1)
