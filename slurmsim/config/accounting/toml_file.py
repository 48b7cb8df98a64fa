"""Accounting data as TOML, for a few accounts written by hand.

    [qos.high]
    Priority = 100

    [accounts.sci]
    Fairshare = 60
    users = ["alice", "bob"]

    [accounts.sci.accounts.phys]
    GrpTRES = "cpu=24"
    [accounts.sci.accounts.phys.users.carol]
    Fairshare = 10
    Default = true

Keys are sacctmgr's names; times are minutes or Slurm's formats; TRES are text or a table (``{cpu = 24}``).
``[root]`` holds fields of the root association. Without ``QOS`` there, every QOS may be used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from slurmsim.config.accounting.draft import Draft, Item, fail
from slurmsim.config.findings import Place
from slurmsim.toml_file import parse_toml

_HEADER = re.compile(r"\s*\[{1,2}([^\[\]]+)\]{1,2}\s*(?:#.*)?")
_KEY = re.compile(r"\s*((?:\"[^\"]*\"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:\"[^\"]*\"|'[^']*'|[\w-]+))*)\s*=")


def read_toml(text: str, file: str, draft: Draft) -> None:
    """Add what the file says to `draft`. Raises ConfigError with file, line and field."""
    try:
        data = parse_toml(text)
    except ValueError as error:
        match = re.search(r"^(.*?) \(at line (\d+)", str(error))
        message, line = (match[1], int(match[2])) if match else (str(error), None)
        fail(Place(file, line), "", f"not TOML: {message}")
    _Reader(file, _lines(text), draft).read(data)


class _Reader:
    def __init__(self, file: str, lines: Mapping[str, int], draft: Draft) -> None:
        self.file, self.lines, self.draft = file, lines, draft

    def read(self, data: Mapping[str, Any]) -> None:
        draft = self.draft
        for key in data:
            if key not in ("cluster", "root", "qos", "accounts"):
                fail(self.place(key), key, "unknown key", "cluster, root, qos or accounts")
        if "cluster" in data:
            draft.cluster = self.text(data["cluster"], "cluster").lower()
        root = draft.root(self.place("root"))
        draft.open_root = True
        for name, fields in self.table(data, "qos", "qos").items():
            item = draft.add_qos(name.lower(), self.place(f"qos.{name}"))
            for key, value in self.table({name: fields}, name, f"qos.{name}").items():
                draft.set_qos(item, key, self.text(value, f"qos.{name}.{key}"), self.place(f"qos.{name}.{key}"))
        self.fields(root, self.table(data, "root", "root"), "root")
        self.accounts(self.table(data, "accounts", "accounts"), "root", "accounts")

    def accounts(self, accounts: Mapping[str, Any], parent: str, path: str) -> None:
        for name in accounts:
            here = f"{path}.{name}"
            fields = self.table(accounts, name, here)
            account = name.lower()
            if account == "root":
                fail(self.place(here), here, "the root account is there already", "[root] for its fields")
            self.fields(self.draft.add((account, "", ""), self.place(here), parent), fields, here)
            self.users(fields.get("users", {}), account, f"{here}.users")
            self.accounts(self.table(fields, "accounts", f"{here}.accounts"), account, f"{here}.accounts")

    def users(self, users: Any, account: str, path: str) -> None:
        draft = self.draft
        if isinstance(users, list):
            for user in users:
                draft.add((account, self.text(user, path), ""), self.place(path))
            return
        for user, entries in self.table({"users": users}, "users", path).items():
            here = f"{path}.{user}"
            for entry in entries if isinstance(entries, list) else [entries]:
                fields = dict(self.table({user: entry}, user, here))
                partition = next((fields.pop(k) for k in list(fields) if k.lower() == "partition"), "")
                default = next((fields.pop(k) for k in list(fields) if k.lower() == "default"), False)
                item = draft.add((account, user, self.text(partition, here)), self.place(here))
                if not isinstance(default, bool):
                    fail(
                        self.place(f"{here}.Default"),
                        f"{here}.Default",
                        f"{default!r} is no truth value",
                        "true or false",
                    )
                if default:
                    draft.set_default(user, account, self.place(here))
                self.fields(item, fields, here)

    def fields(self, item: Item, fields: Mapping[str, Any], path: str) -> None:
        for key, value in fields.items():
            if key in ("users", "accounts"):
                continue
            if key.lower() in ("parent", "parentname"):
                fail(self.place(f"{path}.{key}"), key, "accounts are nested here", f"[{path.rpartition('.')[0]}.…]")
            here = f"{path}.{key}"
            self.draft.set_association(item, key, self.text(value, here), self.place(here))

    def table(self, data: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
        found = data.get(key, {})
        if not isinstance(found, Mapping):
            fail(self.place(path), path, f"{found!r} is no table", f"[{path}] with keys")
        return found

    def text(self, value: Any, path: str) -> str:
        """Return a value as sacctmgr would have it on a line."""
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return ",".join(value)
        if isinstance(value, Mapping) and all(isinstance(v, str | int) for v in value.values()):
            return ",".join(f"{k}={v}" for k, v in value.items())
        fail(self.place(path), path, f"{value!r} is no value slurmsim can read", "text, a number, a list or a table")

    def place(self, path: str) -> Place:
        """Return the line that sets `path`, or the nearest table above it."""
        while path and path not in self.lines:
            path = path.rpartition(".")[0]
        return Place(self.file, self.lines.get(path))


def _lines(text: str) -> dict[str, int]:
    """First line by dotted path, of tables and keys; enough for messages, TOML itself is read by tomllib."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            table = _plain(header[1])
            parts = table.split(".")
            for depth in range(1, len(parts) + 1):
                found.setdefault(".".join(parts[:depth]), number)
        elif key := _KEY.match(line):
            path = _plain(key[1])
            found.setdefault(f"{table}.{path}" if table else path, number)
    return found


def _plain(path: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in path.split("."))
