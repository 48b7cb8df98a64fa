"""Reservations for a run: a TOML file, or what ``scontrol show reservation`` printed (docs/rules/reservations.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from slurmsim.core.records.messages import CreateReservation, DeleteReservation, UpdateReservation
from slurmsim.duration import FORMATS, parse_duration
from slurmsim.errors import ConfigError
from slurmsim.hostlist import HostlistError, expand
from slurmsim.input_file import read_text
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.reservation import NOT_MODELLED, REPEATING, ReservationSpec, canonical_flag
from slurmsim.numerals import is_number
from slurmsim.replaying.until import EXPECTED, parse_moment
from slurmsim.sim.simulation import Timed
from slurmsim.toml_file import parse_toml
from slurmsim.tres import parse_licenses, resource_of
from slurmsim.workload import Workload

FIELD = "--reservations"
CREATE_KEYS = frozenset({
    "name", "start", "end", "duration", "created", "nodes", "node_count", "core_count", "partition", "features",
    "licenses", "users", "accounts", "flags", "purge_comp",
})  # fmt: skip
UPDATE_KEYS = frozenset({
    "time", "name", "start", "end", "duration", "nodes", "node_count", "users", "accounts", "licenses", "set_flags",
    "clear_flags",
})  # fmt: skip
_SHOWN = re.compile(r"\b(\w+)=(\S*)")
_YEAR_S = 365 * 86_400


def read_reservations(path: Path, cluster: ClusterSpec, workload: Workload, until: int | None = None) -> list[Timed]:
    """Return the facts a reservations file stands for, in order of time.

    Raises
    ------
    ConfigError
        The file cannot be read; something in it is wrong, unknown to the cluster, or lies outside the run. The
        message names the file, the reservation and the key.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"cannot be read: {said}", file=str(path), field=FIELD) from None
    return parse_reservations(text, path, cluster, workload, until)


def parse_reservations(
    text: str, path: Path, cluster: ClusterSpec, workload: Workload, until: int | None = None
) -> list[Timed]:
    """As `read_reservations`, for a text; errors name `path`."""
    reader = _Reader(path, cluster, workload, until)
    if re.search(r"^[ \t]*ReservationName=", text, re.MULTILINE):
        found = reader.shown(text)
    else:
        found = reader.toml(text)
    return sorted(found, key=lambda timed: timed.time)


class _Reader:
    """Reads one file; knows what errors must name."""

    def __init__(self, path: Path, cluster: ClusterSpec, workload: Workload, until: int | None) -> None:
        self.path, self.cluster, self.workload, self.until = path, cluster, workload, until
        self.first = int(workload.ints["submit"].min()) if len(workload) else 0
        self.known = {node.name for node in cluster.nodes}
        self.partitions = {p.name for p in cluster.partitions}
        self.where = ""

    def wrong(self, key: str, message: str, expected: str | None = None) -> ConfigError:
        """Return the error for a key of the entry that is being read."""
        said = f"{self.where}: {message}" if self.where else message
        return ConfigError(said, file=str(self.path), field=key, expected=expected)

    # -- TOML -----------------------------------------------------------------------------------------------------

    def toml(self, text: str) -> list[Timed]:
        """Tables [[reservation]], [[update]] and [[delete]]."""
        try:
            tables = parse_toml(text)
        except ValueError as error:
            wanted = "[[reservation]] tables, or the output of scontrol show reservation"
            raise ConfigError(f"is no TOML: {error}", file=str(self.path), field=FIELD, expected=wanted) from None
        found = []
        readers: Mapping[str, Callable[[Mapping[str, Any]], Timed]] = {
            "reservation": self.create, "update": self.update, "delete": self.delete,
        }  # fmt: skip
        for kind, rows in tables.items():
            if kind not in readers or not isinstance(rows, list):
                raise self.wrong(kind, "unknown table", "[[reservation]], [[update]], [[delete]]")
            for number, row in enumerate(rows, 1):
                if not isinstance(row, dict):
                    raise self.wrong(kind, f"{str(row)[:40]!r} is no table", f"[[{kind}]]")
                self.where = f"{kind} {row.get('name') or number}"
                found.append(readers[kind](row))
        self.where = ""
        return found

    def create(self, row: Mapping[str, Any]) -> Timed:
        """One [[reservation]]."""
        self.only(row, CREATE_KEYS)
        start = self.moment(row, "start")
        end = self.moment(row, "end") if "end" in row else start + self.length(row, "duration")
        nodes = self.nodes(row)
        counts, cores = self.counts(row, "node_count"), self.counts(row, "core_count")
        licenses = self.licenses(row)
        if not (nodes or counts or cores or licenses):
            raise self.wrong("nodes", "reserves nothing", "nodes, node_count, core_count or licenses")
        flags = self.flags(row, "flags")
        if licenses and not (nodes or counts or cores):
            flags |= {"ANY_NODES"}
        users, accounts = self.words(row, "users"), self.words(row, "accounts")
        if not users and not accounts:
            raise self.wrong("users", "no user may use it", "users or accounts")
        spec = ReservationSpec(
            self.text(row, "name"), start, end, nodes, counts, cores, self.partition(row), self.text(row, "features"),
            licenses, users, accounts, flags, self.length(row, "purge_comp") if "purge_comp" in row else 300,
        )  # fmt: skip
        if "created" in row:
            created = self.moment(row, "created")
            if created < self.first:
                raise self.wrong("created", f"{row['created']!r} is before the first job is submitted ({self.first})")
            self.inside(spec, created)
            return Timed(created, CreateReservation(spec))
        self.inside(spec, self.first)
        return Timed(self.first, CreateReservation(spec, restored=True))

    def inside(self, spec: ReservationSpec, now: int) -> None:
        """Raise for a reservation that lies outside the run: it is a mistake."""
        if spec.end <= spec.start:
            raise self.wrong("end", f"ends at {spec.end}, not after its start {spec.start}")
        if spec.end <= now and spec.flags.isdisjoint(REPEATING):
            raise self.wrong("end", f"ends at {spec.end}, before the first job is submitted ({self.first})",
                             "a reservation that meets the run")  # fmt: skip
        if self.until is not None and spec.start >= self.until:
            raise self.wrong("start", f"starts at {spec.start}, after the end of the run ({self.until})",
                             "a reservation that meets the run")  # fmt: skip

    def update(self, row: Mapping[str, Any]) -> Timed:
        """One [[update]]."""
        self.only(row, UPDATE_KEYS)
        counts = self.counts(row, "node_count")
        return Timed(self.when(row), UpdateReservation(
            self.required(row, "name"),
            self.moment(row, "start") if "start" in row else None,
            self.moment(row, "end") if "end" in row else None,
            self.length(row, "duration") if "duration" in row else None,
            self.nodes(row), sum(counts) if counts else None,
            self.words(row, "users") if "users" in row else None,
            self.words(row, "accounts") if "accounts" in row else None,
            self.licenses(row) if "licenses" in row else None,
            self.flags(row, "set_flags"), self.flags(row, "clear_flags"),
        ))  # fmt: skip

    def delete(self, row: Mapping[str, Any]) -> Timed:
        """One [[delete]]."""
        self.only(row, frozenset({"time", "name"}))
        return Timed(self.when(row), DeleteReservation(self.required(row, "name")))

    # -- what scontrol shows --------------------------------------------------------------------------------------

    def shown(self, text: str) -> list[Timed]:
        """``scontrol show reservation``, with or without ``-o``."""
        found = []
        for part in re.split(r"^[ \t]*(?=ReservationName=)", text, flags=re.MULTILINE)[1:]:
            found_keys = _SHOWN.findall(part)
            keys = {"ReservationName": ""} | {k: "" if v in ("(null)", "n/a") else v for k, v in found_keys}
            self.where = f"reservation {keys['ReservationName']}"
            found.append(self.create(self.from_shown(keys)))
        self.where = ""
        return found

    def from_shown(self, keys: Mapping[str, str]) -> dict[str, Any]:
        """Return the [[reservation]] that says the same."""
        if keys.get("BurstBuffer") or keys.get("Groups") or keys.get("MaxStartDelay"):
            key = next(k for k in ("BurstBuffer", "Groups", "MaxStartDelay") if keys.get(k))
            raise self.wrong(key, f"{keys[key]} is not modelled")
        flags = list(filter(None, keys.get("Flags", "").split(",")))
        if "TIME_FLOAT" in flags:
            raise self.wrong("Flags", "TIME_FLOAT is not modelled")
        row: dict[str, Any] = {"name": keys["ReservationName"], "start": keys.get("StartTime", "")}
        purge = [flag for flag in flags if flag.startswith("PURGE_COMP=")]
        if purge:
            row["purge_comp"] = purge[0].partition("=")[2]
            flags[flags.index(purge[0])] = "PURGE_COMP"
        row["end"] = keys.get("EndTime", "")
        row["flags"] = flags
        for ours, theirs in (("users", "Users"), ("accounts", "Accounts"), ("partition", "PartitionName"),
                             ("licenses", "Licenses"), ("nodes", "Nodes")):  # fmt: skip
            if keys.get(theirs):
                row[ours] = keys[theirs]
        if "PART_NODES" in flags:
            # shown are the nodes it has; to be made with this flag it must ask for all (create_resv)
            row["nodes"] = "ALL"
        elif row.get("nodes") and "ALL_NODES" not in flags:
            count = keys.get("CoreCnt") or "0"
            if not is_number(count):
                raise self.wrong("CoreCnt", f"{count[:40]!r}", "a number of cores")
            cores, names = int(count), set(self.nodes({"nodes": keys["Nodes"]}))
            have = [node.sockets * node.cores_per_socket for node in self.cluster.nodes if node.name in names]
            # whole nodes are shown with a core count, too: that of all their cores
            if cores and cores < sum(have):
                if cores % len(have):
                    raise self.wrong("CoreCnt", f"{cores} cores on {len(have)} nodes", "as many on each node, or TOML")
                row["core_count"] = [cores // len(have)] * len(have)
        return row

    # -- values ---------------------------------------------------------------------------------------------------

    def only(self, row: Mapping[str, Any], keys: frozenset[str]) -> None:
        """Nothing is passed over in silence."""
        for key in row:
            if key not in keys:
                raise self.wrong(key, "unknown key", ", ".join(sorted(keys)))

    def text(self, row: Mapping[str, Any], key: str) -> str:
        value = row.get(key, "")
        if not isinstance(value, str):
            raise self.wrong(key, f"{value!r}", "a text")
        return value

    def required(self, row: Mapping[str, Any], key: str) -> str:
        value = self.text(row, key)
        if not value:
            raise self.wrong(key, "is missing")
        return value

    def moment(self, row: Mapping[str, Any], key: str) -> int:
        """Return a time as for ``--until``; a TOML date or number will do."""
        if key not in row or row[key] == "":
            raise self.wrong(key, "is missing", EXPECTED)
        try:
            return parse_moment(str(row[key]), self.workload)
        except ConfigError as error:
            raise self.wrong(key, error.message, EXPECTED) from None

    def when(self, row: Mapping[str, Any]) -> int:
        return max(self.moment(row, "time"), self.first)

    def length(self, row: Mapping[str, Any], key: str) -> int:
        """Minutes or Slurm's longer forms, as seconds."""
        try:
            seconds = parse_duration(str(row[key])) if key in row else 0
        except ValueError:
            raise self.wrong(key, f"{row[key]!r} is no duration", FORMATS) from None
        if seconds == 0:
            raise self.wrong("end" if key == "duration" else key, "is missing" if key not in row else "is zero")
        return _YEAR_S if seconds is None else seconds

    def nodes(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        text = self.text(row, "nodes")
        if text.upper() == "ALL":
            return ("ALL",)
        try:
            names = tuple(expand(text)) if text else ()
        except HostlistError as error:
            raise self.wrong("nodes", str(error), "a hostlist or ALL") from None
        for name in names:
            if name not in self.known:
                raise self.wrong("nodes", f"unknown node {name!r}", "nodes of the cluster")
        return names

    def counts(self, row: Mapping[str, Any], key: str) -> tuple[int, ...]:
        value = row.get(key, [])
        numbers = value if isinstance(value, list) else [value]
        if not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in numbers):
            raise self.wrong(key, f"{value!r}", "a number, or a list of numbers")
        if key == "node_count" and sum(numbers) > len(self.known):
            raise self.wrong(key, f"{sum(numbers)} nodes, the cluster has {len(self.known)}")
        return tuple(numbers)

    def partition(self, row: Mapping[str, Any]) -> str:
        name = self.text(row, "partition")
        if name and name not in self.partitions:
            raise self.wrong("partition", f"unknown partition {name!r}", ", ".join(sorted(self.partitions)))
        return name

    def words(self, row: Mapping[str, Any], key: str) -> tuple[str, ...]:
        """Return a list, or a text with commas; one leading ``-`` counts for all of it, as in Slurm."""
        value = row.get(key, [])
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise self.wrong(key, f"{value!r}", "a list of names")
        names = [item.strip() for item in items if item.strip()]
        if any(name.startswith("-") for name in names) and not all(name.startswith("-") for name in names):
            raise self.wrong(key, f"{value!r}", "names, or names that all begin with -")
        return tuple(names)

    def licenses(self, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        text = self.text(row, "licenses")
        try:
            asked = parse_licenses(text, layers=True)
        except ValueError as error:
            raise self.wrong("licenses", str(error), "name:count,name:count") from None
        have = dict(self.cluster.option("Licenses"))
        shared = {one.name for one in self.cluster.hierarchies}
        for name, count in asked:
            if resource_of(name) in shared:
                continue  # the controller knows its layers
            if count > have.get(name, 0):
                raise self.wrong("licenses", f"{name}:{count}, the cluster has {have.get(name, 0)}")
        return asked

    def flags(self, row: Mapping[str, Any], key: str) -> frozenset[str]:
        found = set()
        for word in self.words(row, key):
            try:
                found.add(canonical_flag(word))
            except ValueError as error:
                raise self.wrong(key, str(error)) from None
        for flag in sorted(found & NOT_MODELLED):
            raise self.wrong(key, f"{flag} is not modelled")
        return frozenset(found)
