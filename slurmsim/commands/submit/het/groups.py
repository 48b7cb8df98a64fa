"""Components on the command lines of srun and salloc: words between colons, and which groups they are for.

Mirrors _get_het_group, _opt_env and get_next_opt of srun's opt.c, 22.05.
"""

from __future__ import annotations

from slurmsim.commands.submit.options.job_variables import variables_of
from slurmsim.commands.text.messages import Stop
from slurmsim.numerals import is_number
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmsim.commands.submit.component import Part
    from slurmsim.commands.submit.options.chosen_options import Chosen
    from slurmsim.commands.text.messages import Messages


MOST = 128  # components a job may have
_ONLY_INSIDE = {"22.05": False, "26.05": True}  # whether --het-group is refused where srun makes the allocation itself
_OF_THE_WHOLE = ("SLURM_JOB_ID", "SLURM_JOBID")


class Colon:
    """A command line as components with colons between them.

    Parameters
    ----------
    in_commands
        Whether a colon ends a component's command, too (srun); else only its options (salloc, which has one command).
    """

    def __init__(self, words: list[str], *, in_commands: bool) -> None:
        # left: words not read yet
        # last: those from which the component taken last was read
        # more: whether another component follows
        self.left, self.last, self.more = words, words, True
        self._in_commands = in_commands

    def take(self, rest: list[str]) -> list[str]:
        """Return the component's command, of the words `rest` behind its options; what follows its colon is left."""
        self.last, self.more = self.left, ":" in (rest if self._in_commands else rest[:1])
        if not self.more:
            self.left = []
            return rest
        at = rest.index(":")
        self.left = rest[at + 1 :]
        return rest[:at]


def het_groups(text: str, say: Messages, failure: int) -> list[int]:
    """Return the groups that ``--het-group`` names, in order. Raises Stop."""
    found: set[int] = set()
    for item in text.removeprefix("[").removesuffix("]").split(","):
        first, dash, last = item.partition("-")
        if not is_number(first) or (dash and (not is_number(last) or int(last) < int(first))):
            say.error(f"_parse_single_range: Invalid range: `{item}'")
            break
        low, high = int(first), int(last or first)
        if high >= MOST:
            break
        found.update(range(low, high + 1))
    else:
        return sorted(found)
    say.error(f"Invalid --het-group value: {text}")
    raise Stop(failure)


def of_group(environ: Mapping[str, str], chosen: Chosen, group: int) -> dict[str, str]:
    """Return the environment as the component `group` reads it: what is said of it alone wins."""
    found = dict(environ)
    for name, _ in variables_of(chosen.context.command, chosen.context.release):
        for suffix in (f"_PACK_GROUP_{group}", f"_HET_GROUP_{group}"):
            if name not in _OF_THE_WHOLE and name + suffix in environ:
                found[name] = environ[name + suffix]
    return found


def check_groups(parts: Sequence[Part], say: Messages, failure: int) -> None:
    """No two parts are for the same group, and newer releases want an allocation that has groups. Raises Stop."""
    groups = [part.group or 0 for part in parts]
    if len(set(groups)) < len(groups):
        say.fatal("Duplicate het groups in single srun not supported")
    chosen = parts[0].chosen
    outside = "SLURM_JOB_ID" not in chosen.context.environ
    if outside and row(_ONLY_INSIDE, chosen.context.release) and any(p.chosen.is_set("het-group") for p in parts):
        say.error("--het-group expected to be used within an HetJob allocation")
        raise Stop(failure)


def with_commands(parts: Sequence[Part], say: Messages) -> list[Part]:
    """Give a part without a command that of the next one. Raises Stop where the last has none."""
    found: list[Part] = []
    command: list[str] = []
    for part in reversed(parts):
        if not part.command and command and not part.chosen.is_set("job-name"):
            part.request["name"] = command[0].rsplit("/", 1)[-1]
        command = part.command or command
        if not command and not part.chosen.get("test_only"):
            say.fatal("No command given to execute.")
        found.append(part._replace(command=command))
    return found[::-1]
