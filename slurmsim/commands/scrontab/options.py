"""Options of ``#SCRON`` lines: those of sbatch that mean something for a job that recurs."""

from __future__ import annotations

from slurmsim.commands.scrontab.table import BadTable
from slurmsim.commands.submit.options.chosen_options import Chosen
from slurmsim.commands.submit.options.job_options import REFUSED, long_options
from slurmsim.commands.text.messages import Stop
from slurmsim.commands.text.option_reader import OptionError, Parser
from slurmsim.commands.text.values import BadValue
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.submit.options.job_options import Option
    from slurmsim.commands.text.messages import Messages
    from slurmsim.commands.text.values import Context

_UNKNOWN = frozenset(
    ("array", "batch", "bb", "bbf", "begin", "cluster", "cluster-constraint", "clusters", "export-file", "external",
     "get-user-env", "gid", "help", "hold", "ignore-pbs", "kill-on-invalid-dep", "no-requeue", "parsable", "prefer",
     "propagate", "requeue", "test-only", "uid", "usage", "version", "wait", "wait-all-nodes", "wrap")
)  # fmt: skip
"""Options of sbatch that scrontab does not have."""
_READ_BUT_REFUSED = "input"
_SCRIPT_SIGNALS = {"24.11": False, "26.05": True}  # whether ``--signal=B:`` is known


class Options:
    """Reads the words of ``#SCRON`` lines into `chosen`, which is a new choice after each `begin`."""

    def __init__(self, context: Context, say: Messages) -> None:
        self._context, self._say = context, say
        self.begin()
        options = [one for one in self.chosen.options if one.name not in _UNKNOWN and one.status != REFUSED]
        self._by_key: dict[str, Option] = {}
        for option in options:
            self._by_key.setdefault(option.key, option)
        self._parser = Parser(long_options(options))

    def begin(self) -> None:
        """Begin the options of another job."""
        self.chosen = Chosen(self._context)

    def read(self, words: list[str]) -> None:
        """Read the words of one line. Raises BadTable, and Stop where Slurm ends at once."""
        at = 0
        while at < len(words):
            at += self._option(words[at:])

    def _option(self, words: list[str]) -> int:
        """Take the first option of `words`; how many words it took."""
        for n in (1, 2):
            try:
                found = list(self._parser.parse(words[:n]))
                break
            except OptionError as wrong:
                if n == 2 or "requires an argument" not in str(wrong) or len(words) < 2:
                    raise _invalid(words[0]) from None
        if self._parser.rest or not found:
            raise _invalid(words[0])
        for key, text in found:
            self._set(self._by_key[key], text, words[n - 1])
        return n

    def _set(self, option: Option, text: str | None, word: str) -> None:
        if option.name == _READ_BUT_REFUSED:
            raise _invalid(word)
        try:
            self.chosen.set(option, text)
            of_script = option.name == "signal" and "B" in self.chosen.get("warn_flags", "")
            if of_script and not row(_SCRIPT_SIGNALS, self._context.release):
                raise BadValue("Invalid --signal specification")
        except BadValue as bad:
            if bad.status == 1:
                for line in bad.errors:
                    self._say.error(line)
                raise Stop(1) from None
            raise BadTable(*bad.errors, *_invalid(word).lines) from None


def _invalid(word: str) -> BadTable:
    return BadTable(f"Invalid option found in #SCRON line: {word}")
