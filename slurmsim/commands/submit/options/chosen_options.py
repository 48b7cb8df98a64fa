"""Options chosen for one job, from wherever they came: command line, environment, script.

Mirrors the shared option processing of sbatch, srun and salloc (22.05): what is set later wins, and checks look at
whether an option came from a variable or was written by the user (a script counts as written).
"""

from __future__ import annotations

from slurmsim.commands.submit.options.job_options import REFUSED, long_options, options_of
from slurmsim.commands.submit.options.job_variables import variables_of
from slurmsim.commands.text.messages import Stop
from slurmsim.commands.text.option_reader import NO, OPTIONAL, OptionError, Parser
from slurmsim.commands.text.values import BadValue, leading_number, natural
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.submit.options.job_options import Option
    from slurmsim.commands.text.messages import Messages
    from slurmsim.commands.text.values import Context


BAD_OPTION = 255

_CLEARS = {"nodelist": "nodefile", "nodefile": "nodelist"}
_ORED = ("mail_type",)
_UNITED = ("warn_flags",)
_OUTCOMES = frozenset({"SLURM_OOM_KILL_STEP", "SLURM_TRES_PER_TASK", "SLURM_TRES_BIND"})
"""Variables that jobs of newer releases have in their environment; of the last two the GRES of tasks count for srun."""
_BOUND_GPUS = "gres/gpu:"


class Chosen:
    """The options of one job so far."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.options = options_of(context.command, context.release)
        self._by_key: dict[str, Option] = {}
        self._by_name: dict[str, Option] = {}
        for option in self.options:
            self._by_key.setdefault(option.key, option)
            self._by_name.setdefault(option.name, option)
        self._parser = Parser(long_options(self.options))
        self.values: dict[str, Any] = {}  # fields of the request that were set. Absent: not asked for.
        self._written: dict[str, bool] = {}  # by name, in the order first set: not through a variable
        # CPUs of a task that SLURM_CPUS_PER_TASK and SLURM_TRES_PER_TASK name, where these differ
        self.unlike_cpus: tuple[int, int] | None = None

    def parse(self, words: list[str], early: Callable[[str], None] | None = None) -> list[str]:
        """Set the options `words` begin with; the words after them. Raises OptionError or BadValue.

        Parameters
        ----------
        early
            Told the name of each option once it is set. Without it, options that count on sbatch's command line only
            are left alone.
        """
        for key, text in self._parser.parse(words):
            option = self._by_key[key]
            _refuse(option)
            if early is not None or not option.early:
                self.set(option, text)
            if early is not None:
                early(option.name)
        return self._parser.rest

    def read_variables(self, environ: Mapping[str, str], names: Iterable[str] | None = None) -> None:
        """Set what the environment asks for; only the options `names` when given. Raises OptionError and BadValue."""
        for variable, name in variables_of(self.context.command, self.context.release):
            if variable in environ and (names is None or name in names):
                option = self._by_name.get(name)
                if variable in _OUTCOMES:
                    self._inherit(variable, environ[variable])
                elif option is not None:
                    _refuse(option)
                    self.set(option, environ[variable], variable=True)

    def _inherit(self, variable: str, text: str) -> None:
        """Take what tasks of the job have been given for what tasks of the step want."""
        if variable == "SLURM_TRES_BIND" and text.startswith(_BOUND_GPUS):
            self.set(self._by_name["gpu-bind"], text.removeprefix(_BOUND_GPUS), variable=True)
        if variable == "SLURM_TRES_PER_TASK" and text:
            before = self.values.get("cpus_per_task") if self.from_variable("cpus-per-task") else None
            self.set(self._by_name["tres-per-task"], text, variable=True)
            after = self.values.get("cpus_per_task")
            if before is not None and before != after:
                self.unlike_cpus = int(before), int(after or 0)

    def option(self, name: str) -> Option | None:
        """Return the option that is called so; None for one that there is not, or that is not modelled."""
        option = self._by_name.get(name)
        return None if option is None or option.status == REFUSED else option

    def set_by_name(self, name: str, text: str | None, *, variable: bool = False) -> None:
        """Set one option. Raises BadValue."""
        self.set(self._by_name[name], text, variable)

    def set(self, option: Option, text: str | None, variable: bool = False) -> None:
        """Set `option`, or take it back when a variable says no. Raises BadValue."""
        if option.argument == NO and text is not None and not _is_yes(text):
            self.reset(option.name)
            return
        if option.name == "verbose":
            before = int(self.values.get("verbose", 0))
            self._keep({"verbose": before + 1 if text is None else natural(text, "--verbose", self.context)})
        elif option.name == "quiet":
            self._keep({"quiet": int(self.values.get("quiet", 0)) + 1})
        else:
            if option.argument == OPTIONAL and not text:
                text = None
            if option.name in _CLEARS:
                self.values.pop(self._by_name[_CLEARS[option.name]].field, None)
            found = option.read(text, f"--{option.name}", self.context)
            self._keep(found if isinstance(found, dict) else {option.field: found})
        self._written[self._canonical(option).name] = not variable

    def _keep(self, found: dict[str, Any]) -> None:
        for field, value in found.items():
            if field in _ORED and not since(self.context.release, "last_mail_type_holds"):
                value |= self.values.get(field, 0)
            elif field in _UNITED:
                value = "".join(letter for letter in "RB" if letter in value + self.values.get(field, ""))
            self.values[field] = value

    def _canonical(self, option: Option) -> Option:
        return self._by_key[option.key]

    def reset(self, name: str) -> None:
        """Forget an option."""
        option = self._by_name.get(name)
        if option is not None:
            self._written.pop(self._canonical(option).name, None)
            self.values.pop(option.field, None)
            for field in _PARTS.get(name, ()):
                self.values.pop(field, None)

    def next_component(self) -> Chosen:
        """Return the options of the next part of a heterogeneous job: a copy with what carries over."""
        other = Chosen(self.context)
        other.values = dict(self.values)
        other._written = dict(self._written)
        other.unlike_cpus = self.unlike_cpus
        for option in self.options:
            if option.part:
                other.reset(option.name)
        return other

    def adopt(self, other: Chosen, name: str) -> None:
        """Take one option over from another choice."""
        field = self._by_name[name].field
        self.values[field] = other.values[field]
        self._written[name] = other.written(name)

    def listed(self) -> list[Option]:
        """Options the command line may hold, in table order."""
        return [option for option in self.options if not option.hidden and option.status != REFUSED]

    def text_of(self, name: str) -> str:
        """Return the value of an option that holds a text; empty when it is not set."""
        return str(self.values.get(self._by_name[name].field) or "")

    def is_set(self, name: str) -> bool:
        """Return True if the option was chosen at all."""
        return name in self._written

    def written(self, name: str) -> bool:
        """Return True if it was chosen by command line or script."""
        return self._written.get(name, False)

    def from_variable(self, name: str) -> bool:
        """Return True if it was chosen by an environment variable."""
        return not self._written.get(name, True)

    def chosen(self) -> list[Option]:
        """Options that are set, in table order."""
        return [option for option in self.options if option.name in self._written]

    def get(self, field: str, default: Any = None) -> Any:
        return self.values.get(field, default)


_PARTS = {
    "nodes": ("min_nodes", "max_nodes", "job_size_str"),
    "signal": ("warn_signal", "warn_time", "warn_flags"),
    "switches": ("req_switch", "wait4switch"),
    "extra-node-info": ("sockets_per_node", "cores_per_socket", "threads_per_core"),
    "distribution": ("distribution", "plane_size"),
    "cpu-freq": ("cpu_freq_min", "cpu_freq_max", "cpu_freq_gov"),
}


def error_code(io: Io, say: Messages) -> int:
    """Exit code of failures that are no bad options: SLURM_EXIT_ERROR, else 1."""
    text = io.environ.get("SLURM_EXIT_ERROR")
    code = 1 if text is None else leading_number(text)[0]
    if not code:
        say.error("SLURM_EXIT_ERROR has zero value")
    return code & 0xFF or 1


def said(say: Messages, failure: int, do: Callable[[], Any], who: str | None = None) -> Any:
    """Return the result of `do`; its complaints about options are said as Slurm does, and end the command. Raises Stop.

    `who` is the name printed before an unknown option; by default the command's own.
    """
    try:
        return do()
    except OptionError as wrong:
        say.plain(f"{who or say.command}: {wrong.args[0]}")
        if len(wrong.args) > 1:  # in a line for another scheduler
            say.error(wrong.args[1])
            raise Stop(failure) from None
        say.plain(f'Try "{say.command} --help" for more information')
        raise Stop(BAD_OPTION) from None
    except BadValue as bad:
        for line in bad.plain:
            say.plain(line)
        for line in bad.errors:
            say.error(line)
        raise Stop(bad.status) from None


def _refuse(option: Option) -> None:
    """Options we do not model do not exist. Raises OptionError."""
    if option.status == REFUSED:
        raise OptionError(f"unrecognized option '--{option.name}'")


def _is_yes(text: str) -> bool:
    """Return True if a variable that stands for a flag sets it: empty, yes, or a number that is not 0."""
    value, rest = leading_number(text)
    return not text or text.lower() == "yes" or (value != 0 and not rest)
