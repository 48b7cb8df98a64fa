"""The site's cli_filter.lua: its three functions, called by sbatch, salloc and srun around each submission.

Mirrors cli_filter_lua.c (22.05, 24.11, 26.05): what a script sees of the options, what becomes of an error in it, and
the lines printed where it cannot be loaded. Unlike job_submit.lua it runs in the command, with the user's environment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.lua import CLI_FILE
from slurmsim.lua.constants import constants
from slurmsim.lua.sandbox import LuaError, Sandbox, from_lua, to_lua
from slurmsim.release_changes import since

FUNCTIONS = ("slurm_cli_setup_defaults", "slurm_cli_pre_submit", "slurm_cli_post_submit")
NO_STEP = 0xFFFFFFFE
_CALLERS = dict(zip(FUNCTIONS, ("setup_defaults", "pre_submit", "post_submit"), strict=True))
_LEVELS = ("error", "info", "verbose", "debug", "debug2", "debug3", "debug4")
_MOST_KEY, _MOST_TEXT = 1_000, 1 << 16

_PREPARE = """
local read, write, told = ...
local format, unpack, concat, type, tostring = string.format, unpack, table.concat, type, tostring
local function formatted(...) return format(unpack({...})) end
for level in ("LEVELS"):gmatch("%S+") do
  slurm["log_" .. level] = function(...) told(level, formatted(...)) end
end
slurm.error = function(text) told("error", text) end
slurm.log = function(level, text) told("info", text) end
print = function(...)
  local found = {...}
  for k, v in ipairs(found) do found[k] = tostring(v) end
  told("print", concat(found, "\\t"))
end
local options = setmetatable({}, {
  __metatable = false,
  __index = function(_, name) return read(name) end,
  __newindex = function(_, name, value) write(name, tostring(value)) end,
})
slurm.json_cli_options = function() return slurm.json_of_options() end
return options
""".replace("LEVELS", " ".join(_LEVELS))


class NotLoaded(SlurmSimError):
    """The script cannot be loaded: the lines that say why."""

    def __init__(self, *lines: str) -> None:
        super().__init__(lines[0])
        self.lines = lines


class Options(Protocol):
    """The options of one job, by their long names."""

    @property
    def argv(self) -> list[str]:
        """Return the script or command and its arguments."""

    def value(self, name: str) -> str | None:
        """Return the text of an option as Slurm prints it; None for one without."""

    def put(self, name: str, text: str) -> None:
        """Set an option; what is wrong with its value is said, and it stays."""

    def given(self) -> dict[str, str | None]:
        """Return the options that are set."""


class CliFilter:
    """One script in its sandbox, for one command.

    Parameters
    ----------
    text, file
        The script, and how errors call it.
    told
        Gets what the script says: level and text.

    Raises
    ------
    NotLoaded
        It is no Lua, uses what there is not here, or lacks a function.
    """

    def __init__(
        self, text: str, file: str, release: str, command: str, environ: Mapping[str, str], now: Callable[[], int],
        told: Callable[[str, str], None],
    ) -> None:  # fmt: skip
        self._file, self._command, self._environ, self._told = file, command, environ, told
        self._kept: dict[int, str] = {}
        self._options: Options | None = None
        try:
            self._sandbox = Sandbox(now, self._getenv, file=CLI_FILE, option="CliFilterPlugins")
        except ConfigError as error:
            raise NotLoaded(str(error)) from None
        self._sandbox.set_global("slurm", {
            **constants(release), "json_env": self._json_env, "json_of_options": self._json, "cli_store": self._store,
            "cli_retrieve": self._kept_text,
        })  # fmt: skip
        self._table = self._sandbox.run(_PREPARE, self._read, self._write, self._say)
        try:
            self._sandbox.load(text, file)
        except ConfigError as error:
            raise NotLoaded(f"{file}: {error.message}") from None
        lacking = [name for name in FUNCTIONS if self._sandbox.function(name) is None]
        if lacking:
            lines = [f"{file}: missing required function {name}" for name in lacking]
            if since(release, "lua_functions_counted"):
                lines.append(f"{file}: required function(s) not present")
            raise NotLoaded(*lines)

    def setup_defaults(self, options: Options) -> int:
        """Let the script set defaults; what it returns is 0 where the command goes on."""
        return self._call(FUNCTIONS[0], options, self._table)

    def pre_submit(self, options: Options, offset: int) -> int:
        """Let the script see and change the options of a component; as above."""
        return self._call(FUNCTIONS[1], options, self._table, offset)

    def post_submit(self, offset: int, job_id: int, step_id: int = NO_STEP) -> None:
        """Tell the script which job or step was made."""
        self._call(FUNCTIONS[2], None, offset, job_id, to_lua(step_id))

    def _call(self, name: str, options: Options | None, *arguments: Any) -> int:
        who = f"cli_filter_p_{_CALLERS[name]}"
        self._options = options
        try:
            found = self._sandbox.call(self._sandbox.function(name), *arguments)
        except LuaError as error:
            self._told("error", f"{who}/lua: {self._file}: {error}")
            return 0
        if isinstance(found, bool) or not isinstance(found, int | float):
            self._told("info", f"cli_filter/lua: {who}: {who}/lua: {self._file}: non-numeric return code")
            return 0
        return int(found)

    # -- what the script calls --------------------------------------------------------------------------------

    def _read(self, name: Any) -> Any:
        options, name = self._options, str(from_lua(name))
        if options is None:
            return None
        if name == "argv":
            return self._sandbox.lua.table_from([to_lua(word) for word in options.argv])
        if name in ("spank", "spank_job_env"):
            return self._sandbox.table({})
        return self._command if name == "type" else to_lua(options.value(name))

    def _write(self, name: Any, value: Any) -> None:
        if self._options is not None:
            self._options.put(str(from_lua(name)), str(from_lua(value)))

    def _say(self, level: Any, text: Any) -> None:
        text = str(from_lua(text))[:_MOST_TEXT]
        self._told(str(level), text if str(level) == "print" else f"lua: {text}")

    def _getenv(self, name: Any) -> Any:
        return to_lua(self._environ.get(str(from_lua(name))))

    def _json_env(self) -> Any:
        return to_lua(_json_text(dict(self._environ)))

    def _json(self) -> Any:
        if self._options is None:
            return None
        return to_lua(_json_text({**self._options.given(), "argv": self._options.argv}))

    def _store(self, key: Any, text: Any) -> None:
        if 0 <= int(key) < _MOST_KEY:
            self._kept[int(key)] = str(from_lua(text))[:_MOST_TEXT]

    def _kept_text(self, key: Any) -> Any:
        return to_lua(self._kept.get(int(key)))


def _json_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("/", "\\/")
