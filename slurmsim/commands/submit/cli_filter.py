"""The site's cli_filter.lua around a submission, where CliFilterPlugins names it; read beside slurm.conf."""

from __future__ import annotations

import sys

from slurmsim.commands.submit.options.display import option_text
from slurmsim.commands.submit.options.unset_values import unset_value
from slurmsim.commands.text.messages import Stop
from slurmsim.commands.text.option_reader import NO
from slurmsim.commands.text.values import BadValue
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io
    from slurmsim.commands.submit.options.chosen_options import Chosen
    from slurmsim.commands.text.cluster_facts import Cluster
    from slurmsim.commands.text.messages import Messages
    from slurmsim.lua.cli_filter import CliFilter, Options

_PLUGIN = "cli_filter/lua"
_ENDS = {"22.05": "", "24.11": "failed to initialize cli_filter plugin"}
_TELLS_COMMAND = {"22.05": False, "24.11": True, "26.05": False}
"""True if a script sees the command of salloc."""
_TERMINATED = "cli_filter plugin terminated with error"


def site_filter(io: Io, cluster: Cluster, say: Messages, failure: int) -> SiteFilter | None:
    """Return the cluster's filter; None where it has none. Raises Stop where it cannot be loaded."""
    path = cluster.cli_filter
    if path is None:
        return None
    io.site_filter = found = SiteFilter(path, io, cluster, say, failure)
    return found


class SiteFilter:
    """The script for one call of a command; `failure` is the exit code where it refuses."""

    def __init__(self, path: str, io: Io, cluster: Cluster, say: Messages, failure: int) -> None:
        self._io, self._say, self._failure, self._release = io, say, failure, cluster.release
        self._script = self._loaded(path, cluster)
        self.judged: list[Options] = []  # options of each component that it let pass, as they are now

    def _loaded(self, path: str, cluster: Cluster) -> CliFilter:
        if sys.flags.no_site:  # commands start without installed packages, of which Lua is one
            import site

            site.main()
        from slurmsim.lua.cli_filter import CliFilter, NotLoaded  # only a site with a script waits for Lua

        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
            return CliFilter(
                text, path, self._release, self._say.command, self._io.environ, lambda: cluster.now, self._told
            )
        except OSError as error:
            lines: tuple[str, ...] = (f"Unable to stat {path}: {error.strerror}",)
        except NotLoaded as wrong:
            lines = wrong.lines
        for line in lines:
            self._say.error(f"{_PLUGIN}: {line}")
        self._say.error(f"Couldn't load specified plugin name for {_PLUGIN}: Plugin init() callback failed")
        self._say.error(f"cannot create cli_filter context for {_PLUGIN}")
        if last := str(row(_ENDS, self._release)):
            self._say.fatal(last)
        self._say.error(_TERMINATED)
        raise Stop(self._failure)

    def setup_defaults(self, chosen: Chosen) -> None:
        """Let the script set options before anything else does. Raises Stop."""
        self._heed(self._script.setup_defaults(_Options(chosen, [], self._say)))

    def pre_submit(self, chosen: Chosen, offset: int, argv: list[str]) -> None:
        """Let the script judge and change the options of a component. Raises Stop."""
        if self._say.command == "salloc" and not row(_TELLS_COMMAND, self._release):
            argv = []
        options = _Options(chosen, argv, self._say)
        self._heed(self._script.pre_submit(options, offset))
        self.judged.append(options)

    def post_submit(self, n_components: int, job_id: int) -> None:
        """Tell the script of the job, once for each component."""
        for offset in range(n_components):
            self._script.post_submit(offset, job_id)

    def post_step(self, offset: int, job_id: int, step_id: int) -> None:
        """Tell the script of a step."""
        self._script.post_submit(offset, job_id, step_id)

    def _heed(self, code: int) -> None:
        if code:
            self._say.error(_TERMINATED)
            raise Stop(self._failure)

    def _told(self, level: str, text: str) -> None:
        if level == "print":
            self._io.out(f"{text}\n")
        elif level in ("error", "info", "verbose"):
            getattr(self._say, level)(text)


class _Options:
    """The options of one job as a script sees them."""

    def __init__(self, chosen: Chosen, argv: list[str], say: Messages) -> None:
        self._chosen, self.argv, self._say = chosen, argv, say

    def value(self, name: str) -> str | None:
        """Return the text of an option."""
        chosen, context = self._chosen, self._chosen.context
        if name == "chdir" and context.command != "salloc":
            return str(chosen.get("work_dir") or context.cwd)
        option = chosen.option(name)
        if option is None or not (chosen.is_set(option.name) or option.field in chosen.values):
            return unset_value(name, context.command, context.release)
        return option_text(chosen, option)

    def put(self, name: str, text: str) -> None:
        """Set an option; one that Slurm does not know is passed over."""
        option = self._chosen.option(name)
        if option is None:
            return
        try:
            self._chosen.set_by_name(name, None if option.argument == NO else text)
        except BadValue as bad:
            for line in bad.plain:
                self._say.plain(line)
            for line in bad.errors:
                self._say.error(line)

    def given(self) -> dict[str, str | None]:
        """Return the options that are set."""
        return {option.name: option_text(self._chosen, option) for option in self._chosen.chosen()}
