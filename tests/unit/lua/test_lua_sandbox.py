"""The Lua that runs a site's script: what it may do, how long, and what it cannot reach."""

from __future__ import annotations

import pytest

pytest.importorskip("lupa", reason="NOT TESTED: job_submit.lua: the extra lua is not installed")

from slurmsim.errors import ConfigError
from slurmsim.lua import sandbox
from slurmsim.lua.sandbox import LuaError, Sandbox, missing


def loaded(text: str) -> Sandbox:
    found = Sandbox(lambda: 1_767_600_000)
    found.load(text, "s.lua")
    return found


def called(text: str, *arguments: object) -> object:
    """What the function f of a script returns."""
    lua = loaded(text)
    return lua.call(lua.function("f"), *arguments)


def test_the_clusters_clock_is_the_only_one():
    assert called("function f() return os.time() end") == 1_767_600_000
    assert called("function f() return os.date('%Y-%m-%d %H:%M:%S') end") == "2026-01-05 08:00:00"
    assert called("function f() return os.time() .. os.date('!%d', 86400) .. os.clock() end") == "1767600000020"


@pytest.mark.parametrize(
    "text",
    [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local t = {} while true do t[#t + 1] = string.rep('x', 1e5) .. #t end",
        "return string.rep('x', 1e9)",
        "local function g() return g() + 1 end return g()",
        "error()",
        "error({})",
        "local x = nil return x.y",
        "return setmetatable(_G, nil).io.open('/etc/passwd')",
        "return (getfenv and getfenv(0) or _G).os.execute('true')",
        "return loadstring('\\27Lua')()",
        "return python.eval('1')",
    ],
)
def test_what_fails_ends_and_the_next_call_works(text, monkeypatch):
    monkeypatch.setattr(sandbox, "MOST_S", 0.05)
    lua = Sandbox(lambda: 0)
    lua.run("f = loadstring(...)", text)
    lua.load("function g() return 3 end", "s.lua")
    with pytest.raises(LuaError):
        lua.call(lua.function("f"))
    assert lua.call(lua.function("g")) == 3


def test_functions_of_ours_are_only_called():
    lua = loaded("function f(g) return g.__globals__ end function h(g) return g('x') end")
    with pytest.raises(LuaError):
        lua.call(lua.function("f"), str.upper)
    assert lua.call(lua.function("h"), str.upper) == "X"


def test_bytes_that_are_no_text_stay_what_they_are():
    lua = loaded("function f(t) return t .. 'é' end")
    assert sandbox.from_lua(lua.call(lua.function("f"), sandbox.to_lua("ü\udcff"))) == "ü\udcffé"


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("x = io.open('a')", 1, "io.open"),
        ("local s = [[\nio.open]] -- os.exit\nos.execute('x')", 3, "os.execute"),
        ("--[==[ io.open\n]==] require 'posix'", 2, "require"),
    ],
)
def test_what_is_not_there_is_named_at_load(text, line, name):
    assert list(missing(text)) == [(line, name)]
    with pytest.raises(ConfigError, match=rf"s\.lua:{line}: .*{name}"):
        loaded(text)


@pytest.mark.parametrize(
    "text", ["function (", "return 3", "error('no')", "\x1bLua", "local t = nil; t.x = 1", "while true do end"]
)
def test_what_cannot_be_loaded(text, monkeypatch):
    monkeypatch.setattr(sandbox, "MOST_S", 0.05)
    with pytest.raises(ConfigError, match=r"s\.lua"):
        loaded(text)


def test_names_of_others_are_no_use_of_ours():
    assert (
        list(missing("local t, p = {os = 1, io = 2}, os\nt.debug = t.io\nx.load('a') -- io.open\ns = 'require'")) == []
    )
