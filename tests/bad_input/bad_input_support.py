"""Good inputs to break, and the one judgement all bad inputs share."""

from __future__ import annotations

import contextlib
import gzip
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slurmsim.cli import main

CONF = """\
ClusterName=test
SlurmctldHost=ctl
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=4 RealMemory=4000
PartitionName=debug Nodes=n[1-4] Default=YES MaxTime=60 State=UP
"""


def swf_job(
    job_id: object, submit: object = 0, procs: object = 1, run: object = 60, limit: object = 120, **more: object
) -> str:
    """One SWF line; `more` sets fields by 1-based number, as ``f17=3``."""
    fields: list[object] = [job_id, submit, -1, run, procs, -1, -1, procs, limit, -1, 1, 1, 1, -1, -1, -1, -1, -1]
    for name, value in more.items():
        fields[int(name[1:]) - 1] = value
    return " ".join(map(str, fields)) + "\n"


SWF = "; MaxNodes: 4\n; MaxProcs: 16\n" + "".join(swf_job(i, submit=10 * i, procs=i) for i in range(1, 6))

SACCT_HEADER = (
    "JobIDRaw|JobID|User|Account|Partition|Submit|Eligible|Start|End|Timelimit|State|ExitCode|NNodes|NCPUS|Dependency"
)


def sacct_job(job_id: object = 1, **changed: object) -> str:
    """One line of a ``sacct -P`` dump in the order of SACCT_HEADER."""
    row: dict[str, object] = {
        "JobIDRaw": job_id, "JobID": job_id, "User": "ann", "Account": "physics", "Partition": "debug",
        "Submit": "2024-03-01T10:00:00", "Eligible": "2024-03-01T10:00:00", "Start": "2024-03-01T10:00:05",
        "End": "2024-03-01T10:05:05", "Timelimit": "00:30:00", "State": "COMPLETED", "ExitCode": "0:0",
        "NNodes": 1, "NCPUS": 4, "Dependency": "",
    }  # fmt: skip
    assert set(changed) <= set(row), changed
    return "|".join(str((row | changed)[name]) for name in SACCT_HEADER.split("|")) + "\n"


SACCT = SACCT_HEADER + "\n" + sacct_job(1) + sacct_job(2)


@dataclass
class Outcome:
    """What a command did: exit code and both streams."""

    code: int
    out: str
    err: str


def run_cli(*argv: str) -> Outcome:
    """Run ``slurmsim ARGV`` in this process, as the console script does."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(argv))
        except SystemExit as stop:  # argparse's way out
            code = stop.code if isinstance(stop.code, int) else 1
    return Outcome(code, out.getvalue(), err.getvalue())


@dataclass(frozen=True)
class Case:
    """One thing a user got wrong.

    Attributes
    ----------
    name
        What is wrong, in a few words.
    says
        What the message must name: file, line (``slurm.conf:7``), field, the bad value.
    argv
        Options after ``slurmsim run``; None stands for conf, workload and out folder alone.
    files
        Files beside or instead of the good ``slurm.conf`` and ``log.swf``; None removes one.
    workload
        Name of the file given as ``--workload``.
    conf
        Whether ``--conf slurm.conf`` is given.
    code
        Exit code: 2 for wrong input, 1 for a run that failed.
    """

    name: str
    says: tuple[str, ...]
    argv: tuple[str, ...] = ()
    files: Mapping[str, str | bytes | None] = field(default_factory=dict)
    workload: str = "log.swf"
    conf: bool = True
    code: int = 2


def prepare(folder: Path, case: Case) -> None:
    """Write the good files, then what the case changes."""
    for name, content in {"slurm.conf": CONF, "log.swf": SWF, **case.files}.items():
        if content is None:
            (folder / name).unlink(missing_ok=True)
        elif isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).write_text(content, encoding="utf-8")


def command(case: Case) -> list[str]:
    """The command line of a case, relative to its folder."""
    argv = ["run", "--quiet", "--workload", case.workload, "--out", "out", *case.argv]
    return argv[:2] + (["--conf", "slurm.conf"] if case.conf else []) + argv[2:]


def is_warning(line: str) -> bool:
    """Whether a line on stderr is a warning of ours: ``slurmsim: slurm.conf:3: warning: …``."""
    return line.startswith("slurmsim: ") and " warning: " in line


def assert_refused(outcome: Outcome, code: int, says: tuple[str, ...]) -> None:
    """One line on stderr that names everything in `says`, the right exit code, no traceback, no result."""
    text = outcome.err + outcome.out
    assert "Traceback" not in text, text
    assert outcome.code == code, f"exit code {outcome.code}\n{text}"
    lines = [line for line in outcome.err.splitlines() if line.strip() and not is_warning(line)]
    assert len(lines) == 1, text
    assert lines[0].startswith("slurmsim: error: "), text
    assert lines[0].isprintable(), repr(lines[0])
    for fragment in says:
        assert fragment in lines[0], f"{fragment!r} is not in {lines[0]!r}"
    assert outcome.out == "", outcome.out


def truncated_gzip(text: str) -> bytes:
    """A gzip file whose end is missing, as an interrupted copy leaves it."""
    return gzip.compress((text * 50).encode())[:-40]


def snapshot(folder: Path) -> dict[str, bytes]:
    """Content of every file below `folder`."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
