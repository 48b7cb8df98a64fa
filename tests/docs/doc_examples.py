"""Finds the examples in a Markdown file, runs them in order and compares what they print.

The rules authors rely on are in docs/README.md, "Examples are run".
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_S = 300
_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w-]*)[^`]*$")
_DIRECTIVE = re.compile(r"^<!--\s*(?P<key>not run|file):\s*(?P<value>.*?)\s*-->$")


class ExampleError(AssertionError):
    """An example did not do what the document says; the text names file, line, expected and printed."""


@dataclass
class Block:
    """One fenced block: where it begins, its language, its lines, the directive before it, the block right after."""

    line: int
    language: str
    text: str
    directive: str = ""
    argument: str = ""
    output: str | None = None


def blocks(markdown: str) -> list[Block]:
    """All fenced blocks of a document in order; a ``text`` block right behind another becomes its `output`."""
    lines = markdown.splitlines()
    found: list[Block] = []
    i, previous_end = 0, -1
    while i < len(lines):
        fence = _FENCE.match(lines[i])
        if not fence:
            i += 1
            continue
        end = i + 1
        while end < len(lines) and lines[end].strip() != fence["ticks"]:
            end += 1
        indent = len(fence["indent"])
        body = "\n".join(line[indent:] for line in lines[i + 1 : end])
        before = i - 1
        while before >= 0 and not lines[before].strip():
            before -= 1
        directive = _DIRECTIVE.match(lines[before].strip()) if before > previous_end else None
        block = Block(i + 1, fence["language"], body)
        if directive:
            block.directive, block.argument = directive["key"], directive["value"]
        follows = bool(found) and before == previous_end
        if follows and block.language == "text" and found[-1].language == "python":
            found[-1].output = body
        found.append(block)
        i, previous_end = end + 1, end
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether `printed` is `expected`, where ``...`` stands for anything.

    Inside a line it stands for any text of that line; alone on a line for any number of lines, none included.
    Blanks at line ends and empty lines at the end do not count.
    """
    pattern = ""
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += "[^\n]*".join(re.escape(part) for part in line.rstrip().split("...")) + "\n"
    clean = "".join(line.rstrip() + "\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, clean) is not None


def console_commands(text: str) -> Iterator[tuple[int, str, str]]:
    """(line offset, command, output) of a ``console`` block; ``$ `` begins a command, a final ``\\`` continues it."""
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        if not lines[i].startswith("$ "):
            raise ExampleError(f"a console block must begin with '$ ', not {lines[i]!r}")
        start, command = i, lines[i][2:]
        while command.endswith("\\"):
            i += 1
            command = command[:-1] + lines[i].removeprefix("> ")
        i += 1
        output = []
        while i < len(lines) and not lines[i].startswith("$ "):
            output.append(lines[i])
            i += 1
        yield start, command, "\n".join(output)


def run_document(path: Path, folder: Path, *bin_folders: Path) -> int:
    """Run all examples of `path` with `folder` as working directory; how many ran. Raises ExampleError.

    Commands are found in `bin_folders` first, then in the environment of the tests.
    """
    places = (*bin_folders, Path(sys.executable).parent)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    with contextlib.chdir(folder):
        for block in blocks(path.read_text(encoding="utf-8")):
            where = f"{path.name}:{block.line}"
            if block.directive == "file":
                target = folder / block.argument
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)  # a link leads to a file of the repository
                target.write_text(block.text + "\n", encoding="utf-8")
            elif block.language not in ("python", "console"):
                continue
            elif block.directive == "not run":
                if not block.argument:
                    raise ExampleError(f"{where}: say why this example is not run: <!-- not run: reason -->")
            elif block.language == "console":
                for offset, command, expected in console_commands(block.text):
                    _run_command(f"{path.name}:{block.line + 1 + offset}", command, expected, folder, places)
                    count += 1
            else:
                _run_python(where, block, namespace)
                count += 1
    return count


def _compare(where: str, what: str, expected: str, printed: str) -> None:
    if not matches(expected, printed):
        raise ExampleError(f"{where}: {what}\n--- the document says\n{expected}\n--- it printed\n{printed}")


def _run_command(where: str, command: str, expected: str, folder: Path, places: Sequence[Path]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PATH"] = os.pathsep.join([*map(str, places), environment.get("PATH", "")])
    environment |= {"LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "120", "MPLBACKEND": "Agg"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
    )
    if done.returncode:
        raise ExampleError(f"{where}: $ {command}\nended with exit code {done.returncode}:\n{done.stdout}")
    _compare(where, f"$ {command}", expected, done.stdout)


def _run_python(where: str, block: Block, namespace: dict[str, Any]) -> None:
    printed = io.StringIO()
    if ">>> " in block.text:
        test = doctest.DocTestParser().get_doctest(block.text, {}, where, where, block.line)
        test.globs = namespace  # shared with the blocks before and after, not a copy
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=printed.write, clear_globs=False)
        if runner.failures:
            raise ExampleError(f"{where}\n{printed.getvalue()}")
        return
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, where, "exec"), namespace)
    except Exception as error:
        raise ExampleError(f"{where}: {type(error).__name__}: {error}\n{block.text}") from error
    _compare(where, "python block", block.output or "", printed.getvalue())
