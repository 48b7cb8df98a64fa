"""Programs that run before and after each task of a step: ``--task-prolog``, ``--task-epilog``, and slurm.conf's.

Mirrors slurmstepd's task.c and mgr.c (22.05, 24.11, 26.05): what the prolog writes may set, unset and print; what the
epilog writes goes nowhere. `TaskProlog` comes before the user's, `TaskEpilog` after the user's, which has five seconds.
What an epilog leaves behind is killed.
"""

from __future__ import annotations

import os
from contextlib import suppress

from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


USERS_EPILOG_S = 5.0


class PrologFailed(Exception):
    """The task must not run; the arguments are what slurmstepd says, `status` what the task exits with."""

    def __init__(self, status: int, *lines: str, which: str = "--task-prolog") -> None:
        super().__init__(*lines, f"{which} failed status={status}")
        self.status = status


def after_prologs(
    configured: str | None, users: str | None, environ: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Run slurm.conf's prolog and the user's; return the task's environment and the lines. Raises PrologFailed."""
    found, printed = dict(environ), []
    for path, which in ((configured, "TaskProlog"), (users, "--task-prolog")):
        if path:
            found, more = after_prolog(path, found, which)
            printed += more
    return found, printed


def after_prolog(
    path: str, environ: Mapping[str, str], which: str = "--task-prolog"
) -> tuple[dict[str, str], list[str]]:
    """Run the prolog; return the environment of the task and the lines it prints. Raises PrologFailed."""
    import subprocess  # rarely wanted

    try:
        done = subprocess.run([path], env=dict(environ), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise PrologFailed(
            1,
            f"run_command: user task_prolog can not be executed ({path}) {os.strerror(error.errno or 0)}",
            "user task_prolog did not exit normally. reason: Run command failed - configuration error",
            which=which,
        ) from None
    if done.returncode:
        raise PrologFailed(done.returncode & 0xFF, which=which)
    return obeyed(done.stdout.decode("utf-8", "surrogateescape"), environ)


def obeyed(text: str, environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return `environ` as a prolog's output changes it, and the lines to print.

    >>> obeyed("export A=1\\nunset B\\nprint hello\\nwhatever\\n", {"B": "2"})
    ({'A': '1'}, ['hello'])
    """
    found, printed = dict(environ), []
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        name, equals, value = rest.partition("=")
        if word == "print":
            printed.append(rest)
        elif word == "export" and equals:
            found[name] = value
        elif word == "unset":
            found.pop(rest, None)
    return found, printed


def run_epilogs(configured: str | None, users: str | None, environ: Mapping[str, str], release: str) -> list[str]:
    """Run the user's epilog and slurm.conf's; return what slurmstepd says where one failed."""
    said = run_epilog(users, environ, release, USERS_EPILOG_S) if users else []
    return said + (run_epilog(configured, environ, release) if configured else [])


def run_epilog(path: str, environ: Mapping[str, str], release: str, limit_s: float | None = None) -> list[str]:
    """Run an epilog, for so many seconds at most; return what slurmstepd says where it failed."""
    import signal
    import subprocess  # rarely wanted

    exits = since(release, "epilog_exit_codes")
    try:
        done = subprocess.Popen(
            [path], env=dict(environ), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        with suppress(subprocess.TimeoutExpired):
            done.wait(limit_s)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(done.pid, signal.SIGKILL)
        done.wait()
    except OSError as error:
        why = f"execve({path}): {os.strerror(error.errno or 0)}"
        first = why if exits else f"Could not run user task_epilog [{path}]: access denied"
        return [first, f"TaskEpilog failed status={127 if exits else -1}"]
    code = done.returncode
    if not code:
        return []
    return [f"TaskEpilog failed status={code if exits or code < 0 else code << 8}"]
