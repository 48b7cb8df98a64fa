"""Lua 5.1, as Debian's plug-in has it, bounded in work and memory and cut off from the machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.lua import FILE

MOST_S = 1.0  # of CPU in one call
_LOOK = 10_000  # steps of Lua's machine between two looks at the time
MOST_MEMORY = 64 << 20  # bytes
_ABSENT = ("io", "package", "coroutine", "debug", "dofile", "loadfile", "require", "module", "load", "newproxy")
_OS = ("time", "date", "clock", "difftime")
_NAME = re.compile(r"\b(os|" + "|".join(_ABSENT) + r")\b(?!\s*=[^=])(?:\s*\.\s*(\w+))?")
_OPENING = re.compile(r"--|\[=*\[|[\"']")

_BEGIN = """
local sethook, getinfo, error, pcall, byte, loadstring, tostring =
  debug.sethook, debug.getinfo, error, pcall, string.byte, loadstring, tostring
local cpu, began, rep, call = os.clock, 0, string.rep, nil
local function late()  -- a script that catches the error meets it again with its next step
  if cpu() - began < %g then return end
  sethook(late, "", 1)
  if getinfo(2, "f").func ~= call then error("the script takes too long", 0) end
end
for _, name in ipairs({"python", %s}) do _G[name] = nil end
local time, date, now = os.time, os.date, ...
os = {
  time = function(t) if t then return time(t) end return now() end,
  date = function(form, t) return date("!" .. (form or "%%c"):gsub("^!", ""), t or now()) end,
  clock = function() return 0 end, difftime = os.difftime,
}
string.dump = nil
string.rep = function(text, times)
  if #text * times > 1e6 then error("string.rep of more than a million characters", 2) end
  return rep(text, times)
end
_G.loadstring = function(text, name)
  if byte(text) == 27 then return nil, "no text" end
  return loadstring(text, name)
end
call = function(f, a, b, c, d)
  began = cpu()
  sethook(late, "", %d)
  local fine, found = pcall(f, a, b, c, d)
  sethook()
  if fine then return true, found end
  return false, tostring(found)
end
return call
"""


class LuaError(SlurmSimError):
    """The script failed: Lua's own words."""


class Sandbox:
    """One Lua state with a script in it.

    Parameters
    ----------
    now
        The cluster's time, seconds since the epoch: what ``os.time()`` gives.
    getenv
        What ``os.getenv()`` gives; there is none without it.
    file, option
        The script, and what names it in slurm.conf.

    Raises
    ------
    ConfigError
        Lua is not installed (extra ``lua``).
    """

    def __init__(
        self, now: Callable[[], int], getenv: Callable[[Any], Any] | None = None, *, file: str = FILE,
        option: str = "JobSubmitPlugins",
    ) -> None:  # fmt: skip
        self._file, self._os = file, _OS if getenv is None else (*_OS, "getenv")
        try:
            from lupa.lua51 import LuaRuntime
        except ImportError as error:
            raise ConfigError(f"{file} needs the package lupa", field=option, expected="the extra lua") from error
        self.lua = LuaRuntime(
            register_eval=False, register_builtins=False, attribute_filter=_nothing, unpack_returned_tuples=True,
            max_memory=MOST_MEMORY, encoding="latin-1",
        )  # fmt: skip
        begin = _BEGIN % (MOST_S, ", ".join(f'"{name}"' for name in _ABSENT), _LOOK)
        self._call = self.lua.execute(begin, now)
        if getenv is not None:
            self.lua.globals().os.getenv = getenv

    def load(self, text: str, file: str) -> None:
        """Run a script, which defines functions.

        Raises
        ------
        ConfigError
            It is no Lua, it fails, or it uses what there is not here, which is named.
        """
        for line, name in missing(text, self._os):
            raise ConfigError(f"a script of Slurm has no {name} here", file=file, line=line, field=name,
                              expected="what Slurm's interface gives")  # fmt: skip
        if text.startswith("\x1b"):
            raise ConfigError("is compiled", file=file, field=self._file, expected="a text")
        compiled = self.lua.globals().loadstring(to_lua(text), f"@{to_lua(file)}")
        if isinstance(compiled, tuple):
            raise ConfigError(str(compiled[1]), file=file, field=self._file, expected="Lua 5.1")
        try:
            found = self.call(compiled)
        except LuaError as error:
            raise ConfigError(str(error), file=file, field=self._file, expected="Lua 5.1 that runs") from error
        if isinstance(found, int | float) and int(found) != 0:
            raise ConfigError(f"returned {int(found)} on load", file=file, field=self._file, expected="0")

    def run(self, text: str, *arguments: Any) -> Any:
        """Run a text of ours with arguments; return what it returns."""
        return self.lua.execute(text, *arguments)

    def set_global(self, name: str, fields: Mapping[str, Any]) -> None:
        """Make a global table."""
        self.lua.globals()[name] = self.table(fields)

    def table(self, fields: Mapping[str, Any]) -> Any:
        """Return a Lua table of plain values, functions and tables; None is left out."""
        return self.lua.table_from({key: to_lua(value) for key, value in fields.items() if value is not None})

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a Lua function with at most four arguments. Raises LuaError."""
        try:
            fine, found = self._call(function, *arguments)
        except Exception as error:  # the memory is used up, or an error has no text
            raise LuaError(str(error) or type(error).__name__) from None
        if not fine:
            raise LuaError(from_lua(found))
        return found

    def function(self, name: str) -> Any:
        """Return a global function of the script; None where there is none."""
        found = self.lua.globals()[name]
        return found if callable(found) else None


def to_lua(value: Any) -> Any:
    """Return a value as Lua has it: texts are bytes there, numbers are doubles."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("latin-1")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 53:
        return float(value)
    return value


def from_lua(value: Any) -> Any:
    """Return a value of Lua's; bytes that are no UTF-8 stay what they are."""
    return value.encode("latin-1").decode("utf-8", "surrogateescape") if isinstance(value, str) else value


def missing(text: str, members: tuple[str, ...] = _OS) -> Iterator[tuple[int, str]]:
    """Yield line and name of each use of what the sandbox lacks, as far as the text shows it."""
    code = _code(text)
    for found in _NAME.finditer(code):
        if found.start() and code[found.start() - 1] in ".:":
            continue  # a field of something else
        module, member = found[1], found[2]
        if module == "os" and (member is None or member in members):
            continue
        yield code.count("\n", 0, found.start()) + 1, f"{module}.{member}" if member else module


def _code(text: str) -> str:
    """Return `text` with blanks for comments and strings; lines stay."""
    parts, at = [], 0
    while (found := _OPENING.search(text, at)) is not None:
        parts.append(text[at : found.start()])
        at = _end(text, found.start(), found[0])
        parts.append("\n" * text.count("\n", found.start(), at) or " ")
    return "".join([*parts, text[at:]])


def _end(text: str, begin: int, opening: str) -> int:
    """Return where a comment or string that begins there ends; the end of the text where it does not."""
    if opening == "--":
        long = _OPENING.match(text, begin + 2)
        if long is None or not long[0].startswith("["):
            line = text.find("\n", begin)
            return len(text) if line < 0 else line
        return _end(text, begin + 2, long[0])
    if opening.startswith("["):
        closing = opening.replace("[", "]")
        end = text.find(closing, begin + len(opening))
        return len(text) if end < 0 else end + len(closing)
    at = begin + 1
    while at < len(text) and text[at] not in (opening, "\n"):
        at += 2 if text[at] == "\\" else 1
    return min(at + 1, len(text))


def _nothing(owner: Any, name: Any, setting: bool) -> Any:
    """Refuse every attribute: a script holds functions of ours, and may only call them."""
    raise AttributeError(name)
