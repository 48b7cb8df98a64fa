"""What a command sees of the world: streams, environment, folder, user, and the daemon. Tests hand in their own."""

from __future__ import annotations

import os
import sys
import time
from io import BufferedWriter, FileIO, TextIOWrapper

from slurmsim.protocol import FAULTS, RECORDING, Client, Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TextIO

    from slurmsim.commands.recorded import Recording


FAILED_CALLS = (Refusal, Unreachable)
UNREACHABLE = "Unable to contact slurm controller (connect failure)"


class Io:
    """The world of one command call.

    Parameters
    ----------
    stdin, stdout, stderr, environ, cwd
        As a process has them; the real ones by default.
    now
        The machine's time, seconds since the epoch: what dates that are typed in are relative to.
    """

    def __init__(
        self,
        client: Client,
        *,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: str | None = None,
        now: Callable[[], float] | None = None,
    ) -> None:
        self.client = client
        self.stdin = sys.stdin if stdin is None else stdin
        self.stdout = sys.stdout if stdout is None else stdout
        self.stderr = sys.stderr if stderr is None else stderr
        self.environ = os.environ if environ is None else environ
        self._cwd = cwd
        self.now = time.time if now is None else now
        # texts of files the command read that a recorder has to keep, by the path they were named by
        self.files: dict[str, str] = {}
        self.exported: frozenset[str] = frozenset()  # names of variables an ``--export`` names
        self.site_filter: object = None  # the site's cli_filter.lua, where the command has asked one

    @property
    def cwd(self) -> str:
        """The current folder."""
        return os.getcwd() if self._cwd is None else self._cwd

    @property
    def umask(self) -> int:
        """The process's file mode mask."""
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def out(self, text: str) -> None:
        """Write to standard output."""
        self.stdout.write(text)

    def error(self, text: str) -> None:
        """One line on standard error."""
        self.stderr.write(text + "\n")


class _Lossy(FileIO):
    """A file that drops what cannot be written, without a message, as Slurm's commands do; a closed pipe raises."""

    def write(self, data: Any) -> int:
        try:
            written = super().write(data)
            return len(data) if written is None else written  # None: the other end does not read
        except BrokenPipeError:
            raise
        except OSError:
            return len(data)


def _output(number: int, stream: Any) -> TextIO:
    """Return the stream to a descriptor in place of Python's own; one that the caller has closed leads nowhere."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    file = BufferedWriter(_Lossy(number, "w", closefd=False))
    return TextIOWrapper(file, stream.encoding, stream.errors, line_buffering=stream.line_buffering)


def real() -> Io:
    """Return the world of this process."""
    sys.stdout, sys.stderr = _output(1, sys.stdout), _output(2, sys.stderr)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 (as long as this process)
    return Io(Client.find(os.environ))


def run_command(name: str, run: Callable[[list[str], Io], int]) -> int:
    """Run a command's `run` in the real world; log the call with the daemon; the exit code."""
    sys.set_int_max_str_digits(0)  # Slurm clamps numbers of any length; Linux lets no argument be longer than 128 KiB
    io = real()
    words = sys.argv[1:]
    begin = time.monotonic()
    faults: list[str] = []
    recording = _recording(io)
    try:
        if os.path.exists(os.path.join(io.client.folder, FAULTS)):
            code = _run_among_faults(name, run, words, io, faults)
        else:
            code = run(words, io)
        io.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except KeyboardInterrupt:
        code = 130
    except UnicodeEncodeError:  # a locale that cannot show it; the names stay data
        code = 1
    if io.client.timed_out:  # the daemon is silent: to tell it would take as long again
        return code
    try:
        more: dict[str, Any] = {"faults": faults} if faults else {}
        if recording is not None:
            more["kept"] = recording.close()
        io.client.call("log_call", argv=[name, *words], rc=code, seconds=round(time.monotonic() - begin, 6), **more)
    except FAILED_CALLS:
        pass
    return code


def _recording(io: Io) -> Recording | None:
    """Where a session is recorded: what keeps this call's streams."""
    if not os.path.exists(os.path.join(io.client.folder, RECORDING)):
        return None
    from slurmsim.commands.recorded import Recording  # rarely wanted

    return Recording.of(io)


def _run_among_faults(
    name: str, run: Callable[[list[str], Io], int], words: list[str], io: Io, told: list[str]
) -> int:  # fmt: skip
    """As `run` in a cluster where something goes wrong on request; which faults were met goes to `told`."""
    from slurmsim.commands.faulty import FaultyClient, Kept, hurt  # rarely wanted

    io.client = client = FaultyClient(io.client, name, told)
    client.meet()
    answer = client.effects.get("answer")
    if answer is not None:
        io.stdout.write(answer["stdout"])
        io.stderr.write(answer["stderr"])
        return int(answer["rc"])
    if not client.hurts_output:
        return run(words, io)
    stdout, kept = io.stdout, Kept(io.stdout)
    io.stdout = kept
    try:
        return run(words, io)
    finally:
        io.stdout = stdout
        text, complaint = hurt(kept.take(), client.effects)
        io.stderr.write(complaint)
        io.stdout.write(text)


def text_of(error: Exception) -> str:
    """Slurm's text for a failed call."""
    return error.text if isinstance(error, (Refusal, Unreachable)) else UNREACHABLE
