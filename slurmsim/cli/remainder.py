"""``-- COMMAND`` behind a subcommand's own words, and options that stand right before it."""

import argparse
from collections.abc import Sequence

from slurmsim.errors import ConfigError


def command_of(args: argparse.Namespace, name: str, flags: Sequence[str] = ()) -> list[str]:
    """Return the command to run, out of ``args.words``, without ``--``; empty for none.

    argparse leaves options behind the first positional word to the command: ``--state DIR`` and those of `flags` (which
    take no value) are put into `args` here, until ``--``. Raises ConfigError for another option.
    """
    words = list(args.words)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        option, equals, value = word.partition("=")
        if word == "--":
            break
        if option == "--state" and (equals or words):
            args.state = value if equals else words.pop(0)
        elif word in flags:
            setattr(args, word.lstrip("-"), True)
        else:
            raise ConfigError(word, field=name, expected=", ".join(["--state DIR", *flags, "-- COMMAND"]))
    return words
