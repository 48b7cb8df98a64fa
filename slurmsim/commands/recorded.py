"""A command call of which a recorder keeps what it read and wrote: its streams are listened to, and pass as they are.

A stream that is no terminal is passed on by a process beside the command, so that what tasks of srun write is kept as
well. Of a terminal only what the command itself writes is kept: it is to stay one. Of each `MOST` bytes are kept.
"""

from __future__ import annotations

import io
import os
import selectors
import signal
from contextlib import suppress

from slurmsim.protocol import Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol, TextIO

    from slurmsim.protocol import Client

    class World(Protocol):
        """What is needed of the world of a command."""

        client: Client
        stdin: Any
        stdout: Any
        stderr: Any
        environ: Mapping[str, str]
        files: dict[str, str]
        exported: frozenset[str]

        @property
        def cwd(self) -> str:
            """The current folder."""

        @property
        def umask(self) -> int:
            """The process's file mode mask."""


MOST = 1 << 20  # bytes that are kept of each stream
_LEFT_S = 0.05
_READ_BY_COMMANDS = ("SLURM", "SBATCH_", "SALLOC_", "SRUN_", "SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_", "SCRONTAB_")
_NEVER = ("SLURM_JWT", "SLURMSIM_CLUSTER_DIR", "SLURMSIM_USER")
_ALSO = ("TZ", "COLUMNS")


class Recording:
    """One call that is recorded.

    Parameters
    ----------
    io
        Its world; the streams in it are replaced until `close`.
    number, began
        Its place in the recording, and the cluster's second.
    """

    def __init__(self, io: World, number: int, began: int) -> None:
        self._io, self._number, self._began = io, number, began
        self._streams = (io.stdin, io.stdout, io.stderr)
        io.stdin = self._input = Heard(io.stdin)
        terminals = [os.isatty(fd) for fd in (1, 2)]
        self._said = [Said(stream) for stream in (io.stdout, io.stderr)]
        if terminals[0]:
            io.stdout = self._said[0]
        if terminals[1]:
            io.stderr = self._said[1]
        self._tee = Tee([fd for fd, terminal in zip((1, 2), terminals, strict=True) if not terminal])

    @classmethod
    def of(cls, io: World) -> Recording | None:
        """Tell the daemon that a call begins; None where nothing is recorded."""
        try:
            answer = io.client.call("record_begin")
        except (Refusal, Unreachable):
            return None
        return cls(io, int(answer["n"]), int(answer["began"])) if answer else None

    def close(self) -> dict[str, Any]:
        """End the call; return what is kept of it."""
        for stream in (self._io.stdout, self._io.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        heard = self._tee.close()
        self._io.stdin, self._io.stdout, self._io.stderr = self._streams
        texts = [heard.get(fd, said.text) for fd, said in zip((1, 2), self._said, strict=True)]
        given = self._input.text
        return {
            "n": self._number, "began": self._began, "cwd": self._io.cwd, "umask": self._io.umask,
            "stdin": given[:MOST], "stdout": texts[0][:MOST], "stderr": texts[1][:MOST],
            "cut": any(len(text) > MOST for text in (given, *texts)), "environ": self._environ(),
            "files": dict(self._io.files),
        }  # fmt: skip

    def _environ(self) -> dict[str, str]:
        """Variables that commands read, and those an ``--export`` names."""
        environ, named = self._io.environ, self._io.exported
        return {
            name: value for name, value in environ.items()
            if read_by_commands(name) or (name in named and name not in _NEVER)
        }  # fmt: skip


def read_by_commands(name: str) -> bool:
    """Return True if a variable is one that Slurm's commands read, and no secret."""
    return name not in _NEVER and (name.startswith(_READ_BY_COMMANDS) or name in _ALSO)


class Said:
    """A stream to a terminal: what is written goes there, and is kept."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.text = ""

    def write(self, text: str) -> int:
        """Pass on, and keep."""
        if len(self.text) <= MOST:
            self.text += text
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Heard:
    """Standard input: what the command itself reads of it is kept."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """What was read so far."""
        return "".join(self._parts)

    def _keep(self, found: Any) -> Any:
        text = found.decode("utf-8", "surrogateescape") if isinstance(found, bytes) else found
        if sum(map(len, self._parts)) <= MOST:
            self._parts.append(text)
        return found

    def read(self, *most: int) -> Any:
        return self._keep(self._stream.read(*most))

    def readline(self, *most: int) -> Any:
        return self._keep(self._stream.readline(*most))

    def __iter__(self) -> Any:
        return iter(self.readline, "")

    @property
    def buffer(self) -> Any:
        """The stream's bytes."""
        inner = Heard(self._stream.buffer)  # type: ignore[arg-type]
        inner._parts = self._parts
        return inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Tee:
    """A process that passes on what is written to some descriptors, and keeps it.

    It goes on for what the command leaves behind in the background; what is kept is what came before `close`.
    """

    def __init__(self, descriptors: list[int]) -> None:
        self._descriptors = descriptors
        self._before = {fd: os.dup(fd) for fd in descriptors}
        self._result = -1
        if not descriptors:
            return
        pipes = {fd: os.pipe() for fd in descriptors}
        done, self._done = os.pipe()
        self._result, told = os.pipe()
        if not os.fork():
            try:
                os.close(self._done)
                os.close(self._result)
                for _, writer in pipes.values():
                    os.close(writer)
                _pass_on({reader: (fd, self._before[fd]) for fd, (reader, _) in pipes.items()}, done, told)
            finally:
                os._exit(0)
        os.close(done)
        os.close(told)
        for fd, (reader, writer) in pipes.items():
            os.dup2(writer, fd)
            os.close(reader)
            os.close(writer)

    def close(self) -> dict[int, str]:
        """Put the descriptors back; what was written to each."""
        for fd, before in self._before.items():
            os.dup2(before, fd)
            os.close(before)
        if self._result < 0:
            return {}
        os.close(self._done)
        with open(self._result, "rb") as file:
            data = file.read()
        found, at = {}, 0
        for fd in self._descriptors:
            size = int.from_bytes(data[at : at + 8], "big")
            found[fd] = data[at + 8 : at + 8 + size].decode("utf-8", "surrogateescape")
            at += 8 + size
        return found


def _pass_on(streams: dict[int, tuple[int, int]], done: int, told: int) -> None:
    """Pass streams on until all their writers have closed them; tell what came until `done` closed or shortly after."""
    # signals for the command reach this process, too, which has to outlive it
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    kept = {fd: io.BytesIO() for fd, _ in streams.values()}
    with selectors.DefaultSelector() as ready:
        for descriptor in (*streams, done):
            ready.register(descriptor, selectors.EVENT_READ)
        ending = False
        while True:
            found = ready.select(_LEFT_S if ending else None)
            for key, _ in found:
                if key.fd == done:
                    ready.unregister(done)
                    ending = True
                elif not _one(key.fd, *streams[key.fd], kept):
                    ready.unregister(key.fd)
            left = any(descriptor in ready.get_map() for descriptor in streams)
            if ending and (not found or not left):
                with suppress(OSError):
                    for fd, _ in streams.values():
                        _all(told, len(kept[fd].getvalue()).to_bytes(8, "big") + kept[fd].getvalue())
                os.close(told)
                break
        while any(descriptor in ready.get_map() for descriptor in streams):
            for key, _ in ready.select(None):
                if not _one(key.fd, *streams[key.fd], {}):
                    ready.unregister(key.fd)


def _one(reader: int, fd: int, to: int, kept: dict[int, io.BytesIO]) -> bool:
    """Pass on what there is; whether there may be more."""
    data = os.read(reader, 1 << 16)
    if fd in kept and kept[fd].tell() <= MOST:
        kept[fd].write(data)
    with suppress(OSError):
        _all(to, data)
        return bool(data)
    os.close(reader)  # its reader is gone: the command gets SIGPIPE
    return False


def _all(to: int, data: bytes) -> None:
    while data:
        data = data[os.write(to, data) :]
