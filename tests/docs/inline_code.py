"""What README and docs say in passing: words in backticks, and lines of shell blocks that nobody runs.

Each claim is a word a reader may type: a command, an option, a directive, a variable, a file, a Python name. `wrong`
says what is untrue about one, None where nothing is or where it is not of a kind that can be looked up.
"""

from __future__ import annotations

import argparse
import functools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from coverage_tables import options_of
from doc_examples import blocks

from slurmsim.cli import COMMANDS as MODULES
from slurmsim.cli import MODULE_OF, build_parser
from slurmsim.commands import MODULES as PROGRAMS
from slurmsim.commands.submit.scripts.batch_script import BadScript, directives
from slurmsim.config.scheduler_options import SUB_OPTIONS
from slurmsim.errors import nearest
from slurmsim.protocol import Refusal
from slurmsim.releases import RELEASES
from slurmsim.slurmctld.base.simulated import behaviour

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("coverage.md", "port.md")  # made of the tables themselves
TOPS = tuple(sorted(one.name for one in ROOT.iterdir() if one.is_dir() and one.name not in (".git", "demo")))
_FENCED = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")
_VARIABLE = re.compile(r"\bSLURMSIM_[A-Z_]+\b")
_FOREIGN = {"pip", "pytest", "python", "git", "ruff", "mypy"}  # programs of others
_INNER = re.compile(r"\$\(([^()]*)\)")


@dataclass(frozen=True)
class Claim:
    """Some words, and where they stand."""

    where: str
    text: str


def pages() -> list[Path]:
    """README and every page of the docs that people write."""
    return [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in GENERATED)]


def claims(page: Path) -> Iterator[Claim]:
    """Inline code and links of a page, and commands of its shell blocks."""
    text = page.read_text("utf-8")
    name = str(page.relative_to(ROOT))
    for block in blocks(text):
        if block.language in ("sh", "bash", "console"):
            joined = re.sub(r"\s*\\\n\s*", " ", block.text)
            for line in joined.splitlines():
                yield Claim(f"{name}:{block.line}", line.removeprefix("$ ").strip())
    prose = _FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in _INLINE.finditer(prose):
        where = f"{name}:{prose.count(chr(10), 0, match.start()) + 1}"
        yield Claim(where, " ".join(match[2].replace("\\|", "|").split()))
    for match in _LINK.finditer(prose):
        if "://" not in match[1] and not (page.parent / match[1]).exists():
            yield Claim(f"{name}:{prose.count(chr(10), 0, match.start()) + 1}", f"link to {match[1]}")


@functools.cache
def our_commands() -> dict[str, argparse.ArgumentParser]:
    """Subcommand -> its parser."""
    action = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def our_options(parser: argparse.ArgumentParser) -> set[str]:
    """All options of a subcommand, those of its own subcommands too."""
    found = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found |= our_options(inner)
    return found


@functools.cache
def slurm_options(command: str) -> frozenset[str]:
    """Options of one of Slurm's commands, in any release; empty when it has no table."""
    found = set()
    for release in RELEASES:
        for option in options_of(command, release):
            found |= {f"--{option.name}"} if option.name else set()
            found |= {f"-{option.key}"} if len(option.key) == 1 else set()
    return frozenset(found)


@functools.cache
def every_option() -> frozenset[str]:
    """All long options there are."""
    found = {"--help", "--version", *re.findall(r'"(--[a-z][\w-]*)"', _tools())}
    for parser in our_commands().values():
        found |= our_options(parser)
    for command in PROGRAMS:
        found |= slurm_options(command)
    return frozenset(found)


def _tools() -> str:
    """The programs beside slurmsim: of the tests' drivers and the benchmarks."""
    files = [*(ROOT / "tests" / "golden").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    return "\n".join(path.read_text("utf-8") for path in files)


@functools.cache
def sources() -> str:
    """Everything in which a variable or a target may be named."""
    files = [*(ROOT / "slurmsim").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    files += [ROOT / "Makefile", ROOT / "setup.py", *(path for path in (ROOT / ".ci").rglob("*") if path.is_file())]
    files = [path for path in files if path.parent != Path(__file__).parent and path.suffix != ".pyc"]
    return "\n".join(path.read_text("utf-8", "replace") for path in files)


def _parts(text: str) -> Iterator[list[str]]:
    """Commands of a line: split at pipes, semicolons and the like, assignments and comments dropped."""
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&()<>")
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:  # a quote that is not closed: words in passing, no command
        return
    part: list[str] = []
    for word in [*words, ";"]:
        if word.startswith("#") and not word.startswith(("#SB", "#SL")):
            break
        if set(word) <= set(";|&()<>$"):
            yield part
            part = []
        elif part or "=" not in word:
            part.append(word)
    yield part


def wrong(text: str) -> str | None:
    """What is untrue about some words; None: nothing that could be found out."""
    if text.startswith("link to "):
        return "no such file"
    if re.match("#(SBATCH|SLURM)", text):
        return _wrong_directive(text)
    if re.fullmatch(r"(?:-\w )?--[A-Za-z][\w-]*(?:[ =].*)?", text):
        option = _OPTION.search(text)
        assert option is not None
        return None if option[0] in every_option() else f"no command has {option[0]}"
    for variable in _VARIABLE.findall(text):
        if variable not in sources():
            return f"nothing reads {variable}"
    path = text.removeprefix("./").partition("#")[0]
    if re.fullmatch(r"[\w./{},-]+/[\w./{},-]*", path) and path.split("/")[0] in TOPS:
        return None if _exists(path) else "no such file"
    if re.fullmatch(r"bf_\w+(=\d+)?", text):
        name = text.partition("=")[0]
        return None if name in SUB_OPTIONS else f"no such option; {nearest(name, SUB_OPTIONS)}"
    if re.fullmatch(r"(?:slurmsim|c)\.[\w.]+(?:\(.*\))?", text):
        return _wrong_name(text.partition("(")[0])
    for part in (*_parts(text), *(part for inner in _INNER.findall(text) for part in _parts(inner))):
        if problem := _wrong_command(part):
            return problem
    return None


def _exists(path: str) -> bool:
    braces = re.fullmatch(r"(.*)\{(.*)\}(.*)", path)
    if braces:
        return all(_exists(braces[1] + one + braces[3]) for one in braces[2].split(","))
    return (
        (ROOT / path).exists() or (ROOT / f"{path}.py").exists() or bool(re.search(r"\b[A-Z]{4,}\b|NNNN", path))
    )  # FORMAT.py: any of them


def _wrong_directive(text: str) -> str | None:
    try:
        if text.startswith("#SLURMSIM"):
            behaviour({"script": f"#!/bin/sh\n{text}\n"})
        found = directives(f"#!/bin/sh\n{text}\n", "job.sh")
    except (BadScript, Refusal) as error:
        return str(error)
    if found.old_word:
        return "sbatch refuses it"
    for word in found.words:
        option = word.partition("=")[0] if word.startswith("--") else word[:2]
        if word.startswith("-") and option not in slurm_options("sbatch"):
            return f"sbatch has no {word}"
    return None


def _wrong_name(dotted: str) -> str | None:
    first, *rest = dotted.split(".")
    import slurmsim
    from slurmsim.live.cluster import Cluster

    found: Any = slurmsim if first == "slurmsim" else Cluster
    if first == "c" and rest[0] in ("folder", "client", "settings"):  # set by instances
        return None
    for k, name in enumerate(rest):
        try:
            found = getattr(found, name)
        except AttributeError:
            try:
                found = import_module(".".join(["slurmsim", *rest[: k + 1]]))
            except ImportError:
                return None if f'"{dotted}"' in sources() else f"there is no {name}"  # a key, an entry point
    return None


def _wrong_command(words: list[str]) -> str | None:
    if not words or words[0] in _FOREIGN:
        return None
    name, rest = words[0], words[1:]
    if name == "make":
        targets = [word for word in rest if re.fullmatch(r"[a-z-]+", word)]
        missing = [target for target in targets if not re.search(rf"^{target}:", sources(), re.MULTILINE)]
        return f"no target {missing[0]}" if missing else None
    if name == "slurmsim":
        return _wrong_call(rest)
    if name in PROGRAMS:
        return _unknown(rest, slurm_options(name), name)
    return None


def _wrong_call(words: list[str]) -> str | None:
    if not words or words[0] in ("COMMAND", "--help", "--version"):
        return None
    name = words[0]
    if name not in our_commands():
        return f"slurmsim has no command {name}" if re.fullmatch(r"[a-z]+", name) else None
    assert name in MODULE_OF or name in MODULES
    if name in ("as", "fork") and "--" in words:
        return _wrong_command(words[words.index("--") + 1 :])
    return _unknown(words[1:], frozenset(our_options(our_commands()[name])), f"slurmsim {name}")


def _unknown(words: list[str], known: frozenset[str], name: str) -> str | None:
    for word in words:
        option = word.partition("=")[0]
        if "…" in words and word == words[words.index("…") - 1]:
            break  # cut short by the page
        if known and _OPTION.fullmatch(option) and option not in known:
            return f"{name} has no {option}"
        if word == "--wrap":
            break  # what follows is another program's
    return None
