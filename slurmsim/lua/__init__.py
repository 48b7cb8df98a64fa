"""A site's job_submit.lua: run as slurmctld runs it, in a Lua that can reach nothing but what Slurm gives it.

`sandbox` is the Lua, `constants` and `job_fields` are the tables of Slurm's interface, and `job_submit` calls the
site's two functions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "job_submit.lua"  # beside slurm.conf


def names_lua(plugins: Any) -> bool:
    """Return True if JobSubmitPlugins has ``lua`` or ``job_submit/lua``.

    >>> names_lua("defaults,lua"), names_lua(("job_submit/lua",)), names_lua(None)
    (True, True, False)
    """
    words = plugins.split(",") if isinstance(plugins, str) else plugins or ()
    return any(word.strip().lower().removeprefix("job_submit/") == "lua" for word in words)
