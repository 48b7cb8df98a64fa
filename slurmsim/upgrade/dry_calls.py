"""A submitting command of one release without a cluster: what it says, and what it would ask of slurmctld."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.commands.submit.cli_filter import SiteFilter
from slurmsim.data_classes import dataclass
from slurmsim.protocol import Unreachable
from slurmsim.releases import VERSION_VARIABLE

_JOB_ID, _STEP_ID = 1, 0  # what a filter is told of a submission that is taken


@dataclass(frozen=True, slots=True)
class Submission:
    """What came of it: exit code, what was said, and what would be asked of slurmctld, a mapping a component."""

    code: int
    said: str
    jobs: list[dict[str, Any]]
    filtered: SiteFilter | None = None


class _Submitted(Exception):
    """The command has said what it wants: the call ends there."""

    def __init__(self, jobs: list[dict[str, Any]]) -> None:
        super().__init__()
        self.jobs = jobs


class _Taker:
    """A daemon that takes every submission and knows nothing but `hello`."""

    folder = "/nowhere"
    patience_s = 0.0

    def __init__(self, hello: Mapping[str, Any] | None) -> None:
        self._hello = hello

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Raise _Submitted with what is submitted; all else but `hello` is not answered."""
        if name == "hello" and self._hello is not None:
            return dict(self._hello)
        if name != "submit":
            raise Unreachable("no cluster")
        raise _Submitted([arguments["job"], *arguments.get("components", ())])


def dry_call(
    command: str, words: list[str], release: str, folder: Path, *, hello: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Submission:  # fmt: skip
    """Return what sbatch, salloc or srun of `release` makes of a command line in a folder, without a cluster.

    Parameters
    ----------
    hello
        What the cluster tells of itself; None for one that does not answer.
    environ
        Variables beside PATH.
    """
    said, jobs = io.StringIO(), list[dict[str, Any]]()
    world = Io(
        _Taker(hello),  # type: ignore[arg-type]
        stdin=io.StringIO(), stdout=said, stderr=said,
        environ={VERSION_VARIABLE: release, "PATH": "/usr/bin:/bin", **(environ or {})}, cwd=str(folder),
        now=lambda: 0.0,
    )  # fmt: skip
    before = os.getcwd()  # salloc goes to the folder of --chdir
    try:
        code = import_module(MODULES[command]).run(words, world)
    except _Submitted as taken:
        code, jobs = 0, taken.jobs
    finally:
        os.chdir(before)
    script = world.site_filter if isinstance(world.site_filter, SiteFilter) else None
    if jobs and script is not None:
        if command == "srun":
            script.post_step(0, _JOB_ID, _STEP_ID)
        else:
            script.post_submit(len(jobs), _JOB_ID)
    return Submission(code, said.getvalue(), jobs, script)
