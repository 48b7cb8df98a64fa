"""Command lines as C's ``getopt_long`` reads them: clusters of letters, unique abbreviations, its own messages.

The standard library's `getopt` has other messages and no optional arguments, `argparse` another language altogether;
users and their tools know the texts below. Reading stops at the first word that is no option (the leading ``+`` of
Slurm's option strings).
"""

from __future__ import annotations

from slurmsim.commands.text.messages import Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slurmsim.commands.io import Io


NO, REQUIRED, OPTIONAL = "no", "required", "optional"
Rows = tuple[tuple[str, str, str, str, str], ...]
"""A command's options: long name, argument, key, first release, and the first one without it."""


class LongOption:
    """One row: long name (None: short only), how it takes an argument, and what stands for it (a letter is short too).

    Two rows with the same `key` and `argument` are one option with two names: an abbreviation of both is no riddle.
    """

    __slots__ = ("argument", "key", "name")

    def __init__(self, name: str | None, argument: str, key: str) -> None:
        self.name, self.argument, self.key = name, argument, key


def options(*rows: tuple[str | None, str, str]) -> tuple[LongOption, ...]:
    """Return an option for each row: long name, how it takes an argument, what stands for it."""
    return tuple(LongOption(*row) for row in rows)


DOCUMENTS = options(("json", OPTIONAL, "json"), ("yaml", OPTIONAL, "yaml"))
"""What commands of a release with data parsers take, too."""


class OptionError(Exception):
    """The command line cannot be read; the text is getopt's message without the program's name."""


class Parser:
    """Reads words; afterwards `rest` is what follows the options.

    Parameters
    ----------
    options
        In table order, which is the order ambiguous possibilities are listed in.
    permute
        Whether options may follow other words, as for commands without a leading ``+``.
    """

    def __init__(self, options: Sequence[LongOption], permute: bool = False) -> None:
        self._options = options
        self._short = {option.key: option.argument for option in options if len(option.key) == 1}
        self._permute = permute
        self.rest: list[str] = []

    def parse(self, words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        """Key and argument of each option in turn. Raises OptionError when the next one is wrong."""
        self.rest = []
        queue = list(words)
        while queue:
            word = queue.pop(0)
            if word == "--":
                break
            if word.startswith("--"):
                yield self._long(word[2:], queue)
            elif word.startswith("-") and len(word) > 1:
                yield from self._cluster(word[1:], queue)
            elif self._permute:
                self.rest.append(word)
            else:
                queue.insert(0, word)
                break
        self.rest.extend(queue)

    def parse_for(self, command: str, words: Sequence[str], io: Io) -> Iterator[tuple[str, str | None]]:
        """Yield as `parse` does; a wrong word ends the `command`, which says so. Raises Stop."""
        try:
            yield from self.parse(words)
        except OptionError as error:
            io.error(f'{command}: {error}\nTry "{command} --help" for more information')
            raise Stop(1) from None

    def _long(self, text: str, queue: list[str]) -> tuple[str, str | None]:
        name, equals, value = text.partition("=")
        option = self._find(name, text)
        if equals:
            if option.argument == NO:
                raise OptionError(f"option '--{option.name}' doesn't allow an argument")
            return option.key, value
        if option.argument != REQUIRED:
            return option.key, None
        if not queue:
            raise OptionError(f"option '--{option.name}' requires an argument")
        return option.key, queue.pop(0)

    def _find(self, name: str, text: str) -> LongOption:
        matches = [option for option in self._options if option.name is not None and option.name.startswith(name)]
        for option in matches:
            if option.name == name:
                return option
        if not matches:
            raise OptionError(f"unrecognized option '--{text}'")
        first = matches[0]
        others = [o for o in matches[1:] if (o.key, o.argument) != (first.key, first.argument)]
        if others:
            listed = " ".join(f"'--{option.name}'" for option in (first, *others))
            raise OptionError(f"option '--{text}' is ambiguous; possibilities: {listed}")
        return first

    def _cluster(self, letters: str, queue: list[str]) -> Iterator[tuple[str, str | None]]:
        while letters:
            letter, letters = letters[0], letters[1:]
            argument = self._short.get(letter)
            if argument is None:
                raise OptionError(f"invalid option -- '{letter}'")
            if argument == NO:
                yield letter, None
                continue
            value: str | None = letters or None
            if value is None and argument == REQUIRED:
                if not queue:
                    raise OptionError(f"option requires an argument -- '{letter}'")
                value = queue.pop(0)
            yield letter, value
            return
