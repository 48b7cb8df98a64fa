"""``--task-prolog`` and ``--task-epilog``: programs that run before and after each task of a step.

Mirrors slurmstepd's task.c (22.05, 24.11): what the prolog writes may set, unset and print; what the epilog writes goes
nowhere.
"""

from __future__ import annotations

import os

from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class PrologFailed(Exception):
    """The task must not run; the arguments are what slurmstepd says, `status` what the task exits with."""

    def __init__(self, status: int, *lines: str) -> None:
        super().__init__(*lines, f"--task-prolog failed status={status}")
        self.status = status


def after_prolog(path: str, environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Run the prolog; return the environment of the task and the lines it prints. Raises PrologFailed."""
    import subprocess  # rarely wanted

    try:
        done = subprocess.run([path], env=dict(environ), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise PrologFailed(
            1,
            f"run_command: user task_prolog can not be executed ({path}) {os.strerror(error.errno or 0)}",
            "user task_prolog did not exit normally. reason: Run command failed - configuration error",
        ) from None
    if done.returncode:
        raise PrologFailed(done.returncode & 0xFF)
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


def run_epilog(path: str, environ: Mapping[str, str], release: str) -> list[str]:
    """Run the epilog; return what slurmstepd says where it failed."""
    import subprocess  # rarely wanted

    exits = since(release, "epilog_exit_codes")
    try:
        done = subprocess.run(
            [path], env=dict(environ), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
    except OSError as error:
        why = f"execve({path}): {os.strerror(error.errno or 0)}"
        first = why if exits else f"Could not run user task_epilog [{path}]: access denied"
        return [first, f"TaskEpilog failed status={127 if exits else -1}"]
    code = done.returncode
    if not code:
        return []
    return [f"TaskEpilog failed status={code if exits or code < 0 else code << 8}"]
