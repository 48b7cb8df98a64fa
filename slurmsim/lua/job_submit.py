"""The site's job_submit.lua: its two functions, called for each submission and each update of a job.

Mirrors job_submit and job_modify (job_submit_lua.c): what a script returns, what it says to the user, and what becomes
of an error in it, by release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from slurmsim.data_classes import dataclass, field
from slurmsim.duration import parse_time_limit
from slurmsim.errors import ConfigError
from slurmsim.lua import FILE, job_fields
from slurmsim.lua.constants import constants
from slurmsim.lua.job_fields import Field
from slurmsim.lua.sandbox import LuaError, Sandbox, from_lua, to_lua
from slurmsim.release_changes import since
from slurmsim.slurm_errors import text_of_number

_SUBMIT, _MODIFY = "slurm_job_submit", "slurm_job_modify"
_FAILED = "ESLURM_LUA_FUNC_FAILED_RUNTIME_ERROR"
_MOST_SAID, _MOST_LINES = 1 << 16, 1_000  # characters and lines a script may say to a user
_OF_USER = ("default_account", "default_qos", "assoc_qos", "assoc_comment")
_LEVELS = ("error", "info", "verbose", "debug", "debug2", "debug3", "debug4")

_PREPARE = """
local read_job, write_job, read_env, write_env, say, told, jobs, reservations = ...
local format, unpack, concat, error, type = string.format, unpack, table.concat, error, type
local function formatted(...) return format(unpack({...})) end
local function proxy(read, write)
  return setmetatable({}, {
    __metatable = false,
    __index = function(_, name) return read(name) end,
    __newindex = function(_, name, value)
      if type(value) == "table" or type(value) == "function" then value = false end
      local wrong = write(name, value)
      if wrong then error(wrong, 2) end
    end,
  })
end
local environment = proxy(read_env, write_env)
for level in ("LEVELS"):gmatch("%S+") do
  slurm["log_" .. level] = function(...) told(level, formatted(...)) end
end
slurm.error = function(text) told("error", text) end
slurm.log = function(level, text) told("info", text) end
slurm.user_msg = function(text) say(text) end
slurm.log_user = function(...) say(formatted(...)) end
print = function(...) told("info", concat({...}, "\\t")) end
setmetatable(slurm, {__index = function(_, name)
  if name == "jobs" then return jobs() end
  if name == "reservations" then return reservations() end
end})
return proxy(function(name) if name == "environment" then return environment end return read_job(name) end, write_job)
""".replace("LEVELS", " ".join(_LEVELS))


class Site(Protocol):
    """What a script may ask of its cluster."""

    def partitions(self) -> Iterable[Mapping[str, Any]]:
        """Return the partitions that who submits may use, with their fields as Slurm's interface names them."""

    def jobs(self) -> Iterable[Mapping[str, Any]]:
        """Return the jobs slurmctld knows; each has a `job_id`."""

    def reservations(self) -> Iterable[Mapping[str, Any]]:
        """Return the reservations; each has a `name`."""

    def of_user(self, what: str, request: Mapping[str, Any]) -> str | None:
        """Return ``default_account``, ``default_qos``, ``assoc_qos`` or ``assoc_comment`` of who submits."""


@dataclass(slots=True)
class Verdict:
    """What came of one call.

    Attributes
    ----------
    request
        The submission or update, as the script left it.
    refused
        Number and text of the error it is refused with; None where it goes on.
    said
        What the user is told, a line each.
    logged
        (level, text) of what was written to slurmctld's log.
    """

    request: dict[str, Any]
    refused: tuple[int, str] | None = None
    said: list[str] = field(default_factory=list)
    logged: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who submits or updates."""

    uid: int
    gid: int
    name: str


class JobSubmit:
    """One script in its sandbox.

    Parameters
    ----------
    text
        Of the script.
    now
        The cluster's time, seconds since the epoch.
    file
        How errors call the script.

    Raises
    ------
    ConfigError
        The script cannot be loaded, or one of the two functions is not there.
    """

    def __init__(self, text: str, release: str, cluster: str, now: Callable[[], int], file: str = FILE) -> None:
        self._release, self._file = release, file
        self._sandbox = Sandbox(now)
        self._verdict, self._site, self._caller = Verdict({}), _NOTHING, Caller(0, 0, "root")
        self._numbers = constants(release)
        self._sandbox.set_global("slurm", {**self._numbers, "CLUSTER_NAME": cluster, "time_str2mins": _minutes})
        self._job = self._sandbox.run(
            _PREPARE, self._read, self._write, self._read_variable, self._write_variable, self._say, self._told,
            self._jobs, self._reservations,
        )  # fmt: skip
        self._sandbox.load(text, file)
        for name in (_SUBMIT, _MODIFY):
            if self._sandbox.function(name) is None:
                raise ConfigError(f"has no function {name}", file=file, field=FILE, expected=f"{_SUBMIT} and {_MODIFY}")

    def submit(self, request: Mapping[str, Any], caller: Caller, site: Site) -> Verdict:
        """Call ``slurm_job_submit``; a request that names a user is his."""
        table = self._sandbox.table
        partitions = table({str(one["name"]): table(one) for one in site.partitions()})
        return self._call(_SUBMIT, request, caller, site, (partitions, caller.uid))

    def modify(self, update: Mapping[str, Any], job: Mapping[str, Any], caller: Caller, site: Site) -> Verdict:
        """Call ``slurm_job_modify`` for an update of `job`."""
        table = self._sandbox.table
        partitions = table({str(one["name"]): table(one) for one in site.partitions()})
        return self._call(_MODIFY, update, caller, site, (table(job), partitions, caller.uid))

    def _call(
        self, name: str, request: Mapping[str, Any], caller: Caller, site: Site, more: tuple[Any, ...]
    ) -> Verdict:
        self._verdict = verdict = Verdict({**request})
        self._site, self._caller = site, caller
        if "environment" in request:
            verdict.request["environment"] = dict(request["environment"])
        try:
            found = self._sandbox.call(self._sandbox.function(name), self._job, *more)
        except LuaError as error:
            verdict.logged.append(("error", str(error)))
            if since(self._release, "lua_errors_refuse"):
                verdict.said = str(error).splitlines()
                number = self._numbers[_FAILED]
                verdict.refused = (number, text_of_number(number, self._release))
            return verdict
        if isinstance(found, bool) or not isinstance(found, int | float):
            verdict.logged.append(("info", "non-numeric return code"))
        elif int(found):
            verdict.refused = (int(found), text_of_number(int(found), self._release))
        return verdict

    # -- what the script calls --------------------------------------------------------------------------------

    def _read(self, name: Any) -> Any:
        request = self._verdict.request
        name = str(name)
        if name in ("user_id", "group_id", "user_name"):
            return {"user_id": self._caller.uid, "group_id": self._caller.gid, "user_name": self._caller.name}[name]
        found = self._site.of_user(name, request) if name in _OF_USER else job_fields.read(request, name, self._release)
        return to_lua(found)

    def _write(self, name: Any, value: Any) -> str | None:
        try:
            if not job_fields.write(self._verdict.request, str(name), from_lua(value), self._release):
                self._told("error", f"_set_job_field: unrecognized field: {name}")
        except Field as wrong:
            return str(wrong)
        return None

    def _read_variable(self, name: Any) -> Any:
        return to_lua(self._verdict.request.get("environment", {}).get(str(name)))

    def _write_variable(self, name: Any, value: Any) -> str | None:
        try:
            self._verdict.request.setdefault("environment", {})[str(from_lua(name))] = job_fields.text_of(
                from_lua(value)
            )
        except Field as wrong:
            return str(wrong)
        return None

    def _say(self, text: Any) -> None:
        said = self._verdict.said
        if len(said) < _MOST_LINES and sum(map(len, said)) < _MOST_SAID:
            said += str(from_lua(text))[:_MOST_SAID].split("\n")

    def _told(self, level: Any, text: Any) -> None:
        logged = self._verdict.logged
        if len(logged) < _MOST_LINES:
            logged.append((str(level), str(from_lua(text))[:_MOST_SAID]))

    def _jobs(self) -> Any:
        table = self._sandbox.table
        return table({str(one["job_id"]): table(one) for one in self._site.jobs()})

    def _reservations(self) -> Any:
        table = self._sandbox.table
        return table({str(one["name"]): table(one) for one in self._site.reservations()})


class Nowhere:
    """A site without partitions, jobs and users."""

    def partitions(self) -> Iterable[Mapping[str, Any]]:
        """None."""
        return ()

    jobs = reservations = partitions

    def of_user(self, what: str, request: Mapping[str, Any]) -> str | None:
        """Nothing is known."""
        return None


_NOTHING: Site = Nowhere()


def _minutes(text: Any) -> int:
    """Return the minutes of a time, as ``1-00:00:00``: -2 for what is none, as Slurm's function."""
    try:
        seconds = parse_time_limit(str(text))
    except ValueError:
        return -2
    return -1 if seconds is None else -(-seconds // 60)
