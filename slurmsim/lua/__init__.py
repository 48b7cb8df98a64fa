"""A site's job_submit.lua and cli_filter.lua: run as Slurm runs them, in a Lua that reaches only what Slurm gives it.

`sandbox` is the Lua, `constants` and `job_fields` are the tables of Slurm's interface, `job_submit` calls the two
functions of slurmctld's script, and `cli_filter` the three of the commands'. `cases` and `filter_cases` test a script.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "job_submit.lua"  # beside slurm.conf
CLI_FILE = "cli_filter.lua"  # there, too


def names_lua(plugins: Any, kind: str = "job_submit") -> bool:
    """Return True if JobSubmitPlugins has ``lua`` or ``job_submit/lua``, or CliFilterPlugins of that `kind`.

    >>> names_lua("defaults,lua"), names_lua(("job_submit/lua",)), names_lua(None), names_lua("lua", "cli_filter")
    (True, True, False, True)
    """
    words = plugins.split(",") if isinstance(plugins, str) else plugins or ()
    return any(word.strip().lower().removeprefix(f"{kind}/") == "lua" for word in words)
