"""A recorded session as its file has it: what the cluster was made of, and every command with its answer.

One JSON object a line; the first is the head. A last line that was cut off is left out, as are lines of commands
without a recorded end.
"""

from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.input_file import read_text
from slurmsim.json_text import loads
from slurmsim.sessions.normalising import Answer

FORMAT = 1  # the newest format this release reads
MOST = 1 << 30  # bytes of a recording: those that slurmsim writes end well below


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a session."""

    number: int  # its place, in the order commands began
    user: str
    argv: tuple[str, ...]
    cwd: str
    # began, ended: seconds since the epoch, by the cluster's clock
    began: int
    ended: int
    stdin: str
    environ: dict[str, str]
    files: dict[str, str]  # texts of the files it read, by the path they were named by
    answer: Answer  # what it answered
    cut: bool  # whether more was written or read than is kept
    umask: int
    faults: tuple[str, ...]  # faults it met on request
    of_other: bool = False  # whether another user of the machine gave it, and not the cluster's owner

    @property
    def inside(self) -> bool:
        """True if a job gave it, which gives it again where its script runs again."""
        return "SLURM_JOB_ID" in self.environ


@dataclass(frozen=True, slots=True)
class Session:
    """A recorded session."""

    made_of: dict[str, Any]  # the header of the cluster's journal
    # folder, owner: the cluster's folder, and its owner's name
    folder: str
    owner: str
    files: dict[str, str]  # its configuration, by name
    jobs: int  # how many jobs it had had when the recording began
    commands: list[Command]
    full: bool  # whether the recording ended because it was as large as it may be


def read(path: Path) -> Session:
    """Read a recording. Raises ConfigError."""
    try:
        first, *lines = read_text(path, most=MOST).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no text"
        raise ConfigError(str(reason), file=str(path)) from None
    head = _object(first, path)
    if not isinstance(head.get("format"), int) or not isinstance(head.get("made_of"), dict):
        raise ConfigError("no recorded session", file=str(path), expected="what slurmsim record wrote")
    if head["format"] > FORMAT:
        raise ConfigError(
            f"format {head['format']}", file=str(path),
            expected=f"up to {FORMAT}; a newer slurmsim wrote it ({head.get('slurmsim')})",
        )  # fmt: skip
    commands, full = [], False
    for number, line in enumerate(lines[:-1], 2):  # what follows the last line's end was cut off
        if not line:
            continue  # here a daemon was killed and another one went on
        try:
            entry = _object(line, path, number)
        except ConfigError:
            if line.endswith("}"):
                raise  # whole, and damaged
            if any(lines[number - 1 :]):
                continue  # cut off by a kill, before another daemon went on
            break
        full = full or bool(entry.get("full"))
        if "argv" in entry:
            commands.append(_command(entry, path, number))
    files, jobs = head.get("files") or {}, head.get("jobs") or 0
    for key, value, kind in (("files", files, dict), ("jobs", jobs, int)):
        if not isinstance(value, kind):
            raise ConfigError(f"{str(value)[:40]!r}", file=str(path), line=1, field=key,
                              expected="what slurmsim record wrote")  # fmt: skip
    return Session(head["made_of"], str(head.get("folder") or ""), str(head.get("owner") or ""), files, jobs,
                   sorted(commands, key=lambda one: one.number), full)  # fmt: skip


def _object(line: str, path: Path, number: int = 1) -> dict[str, Any]:
    try:
        found = loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError("no recorded session", file=str(path), line=number, expected="a JSON object a line")
    return found


def _command(entry: dict[str, Any], path: Path, number: int) -> Command:
    try:
        return Command(
            int(entry["n"]), str(entry["user"]), tuple(map(str, entry["argv"])), str(entry["cwd"]),
            int(entry["began"]), int(entry["ended"]), str(entry["stdin"]), dict(entry["environ"]),
            dict(entry["files"]), Answer(int(entry["rc"]), str(entry["stdout"]), str(entry["stderr"])),
            bool(entry["cut"]), int(entry["umask"]), tuple(entry["faults"]), bool(entry.get("other")),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, OverflowError) as error:  # what JSON calls Infinity is no int
        raise ConfigError(f"a command without {error}", file=str(path), line=number) from None
