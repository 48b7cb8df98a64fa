"""The ``slurmsim`` command: one module a subcommand, errors as one line.

A module has `DESCRIPTION`, `add_options(parser)` and `run(args)`, and a line in `HELPS`. One of several subcommands
(`MODULE_OF`) has `add_parsers(subparsers)` in their place.
"""

import argparse
import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NoReturn

from slurmsim import __version__, compiled
from slurmsim.cli.helps import GROUPS, HELPS
from slurmsim.cli.signals import INTERRUPTED, ending
from slurmsim.errors import InputError, SlurmSimError, clipped, nearest
from slurmsim.extras import how_to_install
from slurmsim.releases import RELEASES
from slurmsim.shown import Stream

COMMANDS = (
    "run",
    "compare",
    "efficiency",
    "report",
    "validate",
    "check",
    "diff",
    "convert",
    "generate",
    "policies",
    "predictors",
    "new",
    "fidelity",
    "conformance",
    "why",
    "calibrate",
    "whatif",
    "sweep",
    "arena",
    "strategy",
    "dispatch",
    "parm",
    "bench",
    "inject",
    "web",
    "lua",
    "live",
    "copies",
    "sessions",
    "twin",
    "when",
    "mcp",
)
LIVE = ("up", "down", "status", "shell", "as", "env", "clock", "calls")  # the commands of the module ``live``
COPIES = ("snapshot", "restore", "fork")  # the commands of the module ``copies``
SESSIONS = ("record", "replay")  # the commands of the module ``sessions``
MODULE_OF = {
    **dict.fromkeys(LIVE, "live"), **dict.fromkeys(COPIES, "copies"), **dict.fromkeys(SESSIONS, "sessions")
}  # fmt: skip
WITH_BARS = ("run", "calibrate", "whatif", "sweep", "arena", "strategy", "bench", "web", "conformance")
"""Commands that show their progress themselves, or end when they are told to."""
_MOST_ERROR = 8000  # characters
OF_RUN = ("cloudpickle", "matplotlib", "pandas", "pyarrow", "tqdm")
"""Packages of the extra ``run``, without which the live cluster works."""
OF_WEB = ("starlette", "uvicorn")  # packages of the extra ``web``


class _Parser(argparse.ArgumentParser):
    """argparse with our one-line errors, hints at what is spelt nearly so, and without abbreviations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        print(f"slurmsim: error: {clipped(message)}", file=sys.stderr)
        sys.exit(2)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(map(str, action.choices))
            what = action.metavar or "/".join(action.option_strings) or action.dest
            expected = "slurmsim --help lists them" if what == "COMMAND" else f"expected {', '.join(known)}"
            raise argparse.ArgumentError(None, f"{what}: no {value!r}{nearest(str(value), known)} ({expected})")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            near = nearest(rest[0].partition("=")[0], _options_of(self, getattr(found, "_command", "")))
            self.error(f"unrecognized arguments: {' '.join(rest)}{near}")
        return found


def _options_of(parser: argparse.ArgumentParser, command: str) -> list[str]:
    """Return the options of a subcommand, or of the parser itself."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and command in action.choices:
            return list(action.choices[command]._option_string_actions)
    return list(parser._option_string_actions)


class _Top(_Parser):
    """The parser of the whole program: its help shows the commands in groups."""

    def format_help(self) -> str:
        parts = [self.format_usage(), self.description or ""]
        wide = max(map(len, HELPS))
        for about, names in GROUPS.items():
            lines = [f"  {name:{wide}}  {HELPS[name].partition(': slurmsim ')[0]}" for name in names]
            parts.append("\n".join([f"{about}:", *lines]))
        parts.append("slurmsim COMMAND --help has its options; slurmsim --version says which release this is.")
        return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _bare_parser() -> tuple[argparse.ArgumentParser, Any]:
    """Return the parser without subcommands, and what adds them."""
    about = "A Slurm you can hold in one process: replay job logs, compare policies."
    parser = _Top(prog="slurmsim", description=about)
    kind = "compiled" if compiled() else "pure Python"
    parser.add_argument("--version", action="version", version=f"slurmsim {__version__} ({kind})")
    return parser, parser.add_subparsers(metavar="COMMAND", dest="_command", required=True, parser_class=_Parser)


def overview() -> argparse.ArgumentParser:
    """Return the parser with the names of the subcommands and no module loaded, for words that name none of them."""
    parser, subparsers = _bare_parser()
    for name, text in HELPS.items():
        subparsers.add_parser(name, help=text)
    return parser


def _names_no_command(words: Sequence[str]) -> bool:
    """Return True if argparse answers `words` and ends, without a subcommand."""
    return not words or words[0] in ("-h", "--help", "--version") or not (words[0] in HELPS or words[0].startswith("-"))


def build_parser(asked: str | None = None) -> argparse.ArgumentParser:
    """Return the parser with all subcommands; only the module of `asked` is loaded if it is one of them."""
    parser, subparsers = _bare_parser()
    named = MODULE_OF.get(asked or "") or (asked if asked in COMMANDS and asked not in MODULE_OF.values() else None)
    for name in COMMANDS if named is None else (named,):
        module = import_module(f"slurmsim.cli.{name}")
        if name in MODULE_OF.values():
            module.add_parsers(subparsers)
        else:
            one = subparsers.add_parser(name, help=HELPS[name], description=module.DESCRIPTION)
            module.add_options(one)
            one.set_defaults(func=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 0 fine, 1 a run that failed, 2 wrong input, 130 or 143 interrupted."""
    words = sys.argv[1:] if argv is None else argv
    with contextlib.redirect_stdout(Stream(sys.stdout)), contextlib.redirect_stderr(Stream(sys.stderr)):
        return _main(words)


def _main(words: Sequence[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        _complete()
    args = (overview() if _names_no_command(words) else build_parser(words[0])).parse_args(words)
    atexit.register(gc.freeze)  # no search for dead cycles in a process that ends (0.15 s after a report)
    if words and words[0] in MODULE_OF:  # they start daemons and become other programs, and end as those do
        return _run(args)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more only wait, busily: 4 % of a run of KTH
    from slurmsim.cli.working import working

    waited = args._command not in WITH_BARS and not getattr(args, "quiet", False)
    with ending() as how, working(f"slurmsim {args._command}", shown=waited):
        return how.code(_run(args))


def _complete() -> NoReturn:
    """Tell the shell what may follow the words it has in COMP_LINE, and end (docs/ci.md)."""
    import argcomplete

    typed = os.environ["COMP_LINE"].split()
    parser = build_parser(typed[1] if len(typed) > 1 else None)
    for action in _all_actions(parser):
        names = next((VALUES[name] for name in (*action.option_strings, action.dest) if name in VALUES), None)
        if names is not None and action.choices is None:
            action.completer = lambda names=names, **_: names()  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)
    sys.exit(0)


def _all_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from below._actions


def _policies() -> list[str]:
    from slurmsim.installed import entry_points

    return sorted({point.name for point in entry_points(group="slurmsim.policies")})


def _faults() -> list[str]:
    from slurmsim.faults.kinds import KINDS

    return list(KINDS)


def _models() -> list[str]:
    from slurmsim_workloads.generators import MODELS

    return list(MODELS)


VALUES: dict[str, Callable[[], list[str]]] = {
    "--policy": _policies, "what": _faults, "model": _models, "--slurm-version": lambda: list(RELEASES),
}  # fmt: skip
"""Option or place -> what may stand there, for completion."""


def _run(args: argparse.Namespace) -> int:
    try:
        code = int(args.func(args))
        sys.stdout.flush()
        return code
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        extra = "run" if name in OF_RUN else "web" if name in OF_WEB else None
        if extra is None:
            raise
        print(f"slurmsim: error: {name} is not installed: {how_to_install(extra)}", file=sys.stderr)
        return 2
    except SlurmSimError as error:
        print(f"slurmsim: error: {clipped(str(error), _MOST_ERROR)}", file=sys.stderr)
        for line in error.log if isinstance(error, InputError) else ():
            print(f"  slurmctld: {line}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except BrokenPipeError:
        _drop_stdout()
        return 0
    except MemoryError as error:
        print(f"slurmsim: error: not enough memory{f': {error}' if str(error) else ''}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"slurmsim: error: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        _drop_stdout()
        return 1
    except KeyboardInterrupt:
        print("slurmsim: interrupted", file=sys.stderr)
        return INTERRUPTED


def _drop_stdout() -> None:
    """Point stdout at the null device: its reader is gone, and the interpreter flushes it once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
