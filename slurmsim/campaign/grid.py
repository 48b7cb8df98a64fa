"""The grid of a campaign: a TOML file (or the same as a mapping), checked, as cells.

Every axis is a list, and each combination of one of each is a cell. What else `slurmsim run` takes may stand under
``run`` (all cells), with a workload or with one of the settings, under its Python name; the latter count over the
former, keys of ``set`` and ``option`` one by one.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, get_type_hints

from slurmsim.campaign.cells import Cell
from slurmsim.data_classes import dataclass, field, fields
from slurmsim.errors import ConfigError
from slurmsim.policy import GivenPolicy, NamedCodeError, Policy, check_without_code
from slurmsim.policy.policy_file import in_file
from slurmsim.replaying.jobs import GENERATE
from slurmsim.replaying.options import RunOptions
from slurmsim.toml_file import read_toml

KEYS = ("name", "workloads", "windows", "loads", "settings", "policies", "seeds", "run", "baseline", "per_job")
OF_AXES = ("window", "load", "policy", "seed")  # options that are axes
BESIDE = ("out", "save_instances", "max_instances", "shares")  # they write beside results, which a sweep does not keep
FILES = (
    "conf",
    "streams",
    "node_events",
    "reservations",
    "accounting",
    "groups",
    "power_budget",
    "carbon",
    "prices",
    "workload",
)
MOST_CELLS = 1_000_000
MOST_SEED = 2**63 - 1  # what a column of the tables holds
LONGEST = 4096  # characters of a text, as of a path
LONGEST_NAME = 200
_HINTS = get_type_hints(RunOptions)
OPTIONS = tuple(f.name for f in fields(RunOptions) if f.name not in (*OF_AXES, *BESIDE, "workload"))
_NAME = f"a text in one line of at most {LONGEST_NAME} characters"
_WORKLOADS = "a list of tables, each with name and workload"


@dataclass(frozen=True, slots=True)
class Choice:
    """One point of an axis: its name and the options that come with it."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grid:
    """A checked grid."""

    name: str  # of the campaign, for its pages
    common: Mapping[str, Any]  # options of all cells
    # workloads, windows, loads, settings, policies, seeds: the axes, at least one point each
    workloads: Sequence[Choice]
    windows: Sequence[Choice]
    loads: Sequence[float]
    settings: Sequence[Choice]
    policies: Sequence[Choice]
    seeds: Sequence[int]
    baseline: str  # name of the policy others are compared with
    per_job: bool  # whether measures of each job are kept, too
    given: Mapping[str, Any]  # the grid as it was given, for the manifest
    file: str  # what messages call it

    def __len__(self) -> int:
        axes = (self.workloads, self.windows, self.loads, self.settings, self.policies, self.seeds)
        return math.prod(map(len, axes))

    def cells(self) -> Iterator[Cell]:
        """All cells, the seeds of a policy together, in the order of the file."""
        for workload, window, load, settings in product(self.workloads, self.windows, self.loads, self.settings):
            shared = _merged(self.common, workload.options, settings.options, window.options)
            if load != 1 or shared.get("load_by") == "users":  # who are drawn also at the log's own load
                shared["load"] = load
            for policy, seed in product(self.policies, self.seeds):
                options = RunOptions(**shared, **policy.options, seed=seed, out="")
                yield Cell(workload.name, window.name, load, settings.name, policy.name, seed, options)


def read_grid(source: str | Path | Mapping[str, Any], *, allow_code: bool = False) -> Grid:
    """Return the grid in a mapping or in a TOML file; names of files in it are relative to the TOML file.

    A policy in a file may name code in its options only with `allow_code`; one in a mapping always may.

    Raises
    ------
    ConfigError
        It cannot be read, or something in it is wrong: file and field are named.
    """
    if isinstance(source, Mapping):
        return _Reader(source, "the grid", Path()).grid()
    reader = _Reader(read_toml(str(source), "a grid in TOML"), str(source), Path(source).parent)
    grid = reader.grid()
    if not allow_code:
        reader.check_code(grid)
    return grid


def _merged(*tables: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            both = key in ("set", "option") and key in found
            found[key] = tuple((dict(found[key]) | dict(value)).items()) if both else value
    return found


class _Reader:
    """Takes a table apart; every message names the file and the field."""

    def __init__(self, table: Mapping[str, Any], file: str, folder: Path) -> None:
        self.table, self.file, self.folder = table, file, folder

    def grid(self) -> Grid:
        table = self.table
        for key in table:
            if key not in KEYS:
                raise self.wrong(key, "unknown key", ", ".join(KEYS))
        common = self.options("run", table.get("run", {}))
        workloads = self.workloads()
        windows = self.choices("windows", "window", [Choice("")])
        policies = self.choices("policies", "policy", [Choice("")])
        settings = self.settings()
        grid = Grid(
            self.text("name", Path(self.file).stem if self.file.endswith(".toml") else "sweep"), common, workloads,
            windows, self.loads(), settings, policies, self.seeds(), self.text("baseline", policies[0].name),
            self.flag("per_job"), _as_data(table), self.file,
        )  # fmt: skip
        if len(grid) > MOST_CELLS:
            raise self.wrong("seeds", f"the grid has {len(grid):,} cells", f"at most {MOST_CELLS:,}")
        names = [policy.name for policy in policies]
        if grid.baseline not in names:
            raise self.wrong("baseline", f"no policy is called {grid.baseline!r}", ", ".join(filter(None, names)))
        self.check_draws(grid)
        return grid

    def wrong(self, where: str, message: str, expected: str | None = None) -> ConfigError:
        return ConfigError(message, file=self.file, field=where, expected=expected)

    def text(self, key: str, default: str) -> str:
        value = self.table.get(key, default)
        if not isinstance(value, str) or not value.isprintable() or len(value) > LONGEST_NAME:
            raise self.wrong(key, _shown(value), _NAME)
        return value

    def flag(self, key: str) -> bool:
        value = self.table.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, repr(value), "true or false")
        return value

    def loads(self) -> list[float]:
        values = self.table.get("loads", [1])
        if not isinstance(values, list) or not values:
            raise self.wrong("loads", repr(values), "a list of factors, 1 for the workload's own load")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e300:
                raise self.wrong("loads", repr(value)[:40], "a factor above 0, 1 for the workload's own load")
        return self.once("loads", [float(value) for value in values])

    def seeds(self) -> list[int]:
        values = self.table.get("seeds", [0])
        if type(values) is int and values >= 1:
            if values > MOST_CELLS:
                raise self.wrong("seeds", repr(values), f"at most {MOST_CELLS:,} cells")
            values = list(range(1, values + 1))
        if not isinstance(values, list) or not values:
            raise self.wrong("seeds", repr(values), "a list of whole numbers, or how many")
        for value in values:
            if type(value) is not int or not 0 <= value <= MOST_SEED:
                raise self.wrong("seeds", _shown(value), f"a whole number from 0 to {MOST_SEED}")
        return self.once("seeds", values)

    def workloads(self) -> list[Choice]:
        rows = self.rows("workloads")
        if not rows:
            raise self.wrong("workloads", "no cell has a workload", _WORKLOADS)
        found = []
        for where, row in rows:
            if not isinstance(row, Mapping):
                row = {"workload": row}
            if "workload" not in row:
                raise self.wrong(where, "has no workload", "workload, a file or generate:MODEL")
            options = self.options(where, {k: v for k, v in row.items() if k not in ("name", "workload")})
            workload = row["workload"]
            if not _is_text(workload):
                raise self.wrong(f"{where}.workload", _shown(workload), "a file or generate:MODEL[:key=value,…]")
            name = row.get("name", workload.removeprefix(GENERATE).partition(":")[0].rpartition("/")[2])
            found.append(Choice(self.label(where, name), {"workload": self.path(workload), **options}))
        return self.named("workloads", found)

    def settings(self) -> list[Choice]:
        found = []
        for where, row in self.rows("settings"):
            if not isinstance(row, Mapping) or "name" not in row:
                raise self.wrong(where, "has no name", "a table with a name and options of slurmsim run")
            options = self.options(where, {k: v for k, v in row.items() if k != "name"})
            found.append(Choice(self.label(where, row["name"]), options))
        return self.named("settings", found) or [Choice("")]

    def choices(self, axis: str, option: str, default: list[Choice]) -> list[Choice]:
        """Return an axis of texts, each with a name of its own if wanted."""
        found = []
        for where, row in self.rows(axis):
            row = row if isinstance(row, Mapping) else {option: row}
            if extra := [key for key in row if key not in ("name", option)]:
                raise self.wrong(f"{where}.{extra[0]}", "unknown key", f"name, {option}")
            value = row.get(option)
            if option == "policy":
                value = self.policy(f"{where}.{option}", value)
            elif not _is_text(value):
                raise self.wrong(f"{where}.{option}", _shown(value), "a text")
            name = value.name if isinstance(value, GivenPolicy) else row.get(option)
            found.append(Choice(self.label(where, row.get("name", name)), {option: value}))
        return self.named(axis, found) or default

    def policy(self, where: str, value: Any) -> str | GivenPolicy:
        """Return a policy as `RunOptions` has it; a file in its text is named relative to the grid's file."""
        if isinstance(value, type | Policy):
            try:
                return GivenPolicy(value)
            except ConfigError as error:
                raise self.wrong(where, error.message, error.expected) from None
        if not _is_text(value):
            raise self.wrong(where, _shown(value), "a text")
        found = in_file(value)
        return str(value) if found is None else found.text(self.path(found.file))

    def rows(self, axis: str) -> list[tuple[str, Any]]:
        rows = self.table.get(axis, [])
        if not isinstance(rows, list):
            raise self.wrong(axis, "is no list", _WORKLOADS if axis == "workloads" else f"a list: [[{axis}]]")
        return [(f"{axis}[{i}]", row) for i, row in enumerate(rows, 1)]

    def label(self, where: str, name: Any) -> str:
        if not isinstance(name, str) or not name or not name.isprintable() or len(name) > LONGEST_NAME:
            raise self.wrong(f"{where}.name", _shown(name), _NAME)
        return name

    def named(self, axis: str, found: list[Choice]) -> list[Choice]:
        self.once(axis, [choice.name for choice in found])
        return found

    def once(self, axis: str, values: list[Any]) -> list[Any]:
        seen = set()
        for i, value in enumerate(values):
            if value in seen:
                raise self.wrong(f"{axis}[{i + 1}]", f"{value!r} is there twice", "each name or value once")
            seen.add(value)
        return values

    def options(self, where: str, row: Any) -> dict[str, Any]:
        if not isinstance(row, Mapping):
            raise self.wrong(where, "is no table", "options of slurmsim run")
        return {key: self.option(f"{where}.{key}", key, value) for key, value in row.items()}

    def option(self, where: str, key: str, value: Any) -> Any:
        """Return an option of `slurmsim run` in the form `RunOptions` has it."""
        if key in OF_AXES:
            raise self.wrong(where, "is an axis of the grid", "windows, loads, policies or seeds")
        if key in BESIDE:
            raise self.wrong(where, "writes files that a sweep does not keep", "slurmsim run for that cell")
        if key not in OPTIONS:
            raise self.wrong(where, "unknown option", ", ".join(OPTIONS))
        wanted = str(_HINTS[key])
        number = isinstance(value, int) and not isinstance(value, bool)
        if key in ("set", "option"):
            if isinstance(value, Mapping) and not any(isinstance(one, Mapping | list) for one in value.values()):
                return tuple((name, _scalar(one)) for name, one in value.items())
            raise self.wrong(where, _shown(value), "a table of keys and values")
        if "tuple" in wanted:
            paths = [value] if isinstance(value, str) else value
            if isinstance(paths, list) and all(map(_is_text, paths)):
                return tuple(self.path(one) for one in paths)
            raise self.wrong(where, _shown(value), "one file or a list of files")
        if "bool" in wanted:
            if isinstance(value, bool):
                return value
            raise self.wrong(where, repr(value), "true or false")
        if "int" in wanted:
            if number:
                return value
            raise self.wrong(where, repr(value), "a whole number")
        if _is_text(value):
            return self.path(value) if key in FILES and not _is_number(value) else value
        if number or isinstance(value, float):
            return str(value)
        raise self.wrong(where, _shown(value), "a text")

    def check_code(self, grid: Grid) -> None:
        """Raise ConfigError for a policy that names code in its options."""
        for number, policy in enumerate(grid.policies, 1):
            try:
                check_without_code(str(policy.options.get("policy", "")))
            except NamedCodeError as error:
                raise self.wrong(f"policies[{number}]", error.message, "--allow-code beside it") from None

    def path(self, name: str) -> str:
        return name if name.startswith(GENERATE) else str(self.folder / name)

    def check_draws(self, grid: Grid) -> None:
        """Seeds of a cell in which nothing is drawn would be the same run many times."""
        if len(grid.seeds) == 1:
            return
        for workload, settings in product(grid.workloads, grid.settings):
            options = _merged(grid.common, workload.options, settings.options)
            made = options["workload"].startswith(GENERATE) or options["workload"].endswith(".toml")
            drawn = any(options.get(key) for key in ("streams", "jitter", "mtbf", "weeks", "malleable"))
            how = options.get("load_by") == "users" or options.get("format") == "streams"
            if not (made or drawn or how):
                raise self.wrong("seeds", f"nothing is drawn in the cells of {workload.name}: {len(grid.seeds)} seeds "
                                 "would be as many times the same run", "a generator, jitter, streams, mtbf or weeks, "
                                 'or load_by = "users"')  # fmt: skip


def _as_data(value: Any) -> Any:
    """Return a grid with the name of each policy that a program gave in its place."""
    if isinstance(value, type | Policy):
        return str(GivenPolicy(value))
    if isinstance(value, Mapping):
        return {key: _as_data(one) for key, one in value.items()}
    return [_as_data(one) for one in value] if isinstance(value, list) else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST and "\0" not in value


def _shown(value: Any) -> str:
    """As messages have it: one line, and not the whole of a long one."""
    text = repr(value)
    return text if len(text) <= LONGEST_NAME else f"{text[:80]}… ({len(text):,} characters)"


def _scalar(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
