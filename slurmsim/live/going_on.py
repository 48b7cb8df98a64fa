"""What ``slurmsim up`` is told about a cluster that exists already: the same as it is, or refused by name."""

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import ConfigError
from slurmsim.input_file import read_bytes
from slurmsim.live.settings import CONF_FILES, NEW_DATABASE, Settings, copy_conf, make_folder
from slurmsim.slurmctld.history.header import BUDGET, CARBON, JOURNAL, STREAMS
from slurmsim.slurmctld.history.journal_file import read_contents

_MOST_HEADER = 1 << 24  # bytes


@dataclass(frozen=True, slots=True)
class _Option:
    """What an option says: the field of `Settings`, keys of a journal's header, and files of the cluster's folder."""

    field: str
    keys: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


_OPTIONS: Mapping[str, _Option] = {
    "--conf": _Option("conf", files=CONF_FILES),
    "--nodes": _Option("nodes", files=CONF_FILES),
    "--cpus-per-node": _Option("cpus_per_node", files=CONF_FILES),
    "--gpus-per-node": _Option("gpus_per_node", files=CONF_FILES),
    "--policy": _Option("policy", files=CONF_FILES),
    "--accounting": _Option("accounting", ("accounting",)),
    "--no-accounting": _Option("storage", ("storage",)),
    "--user": _Option("users", ("users",)),
    "--operator": _Option("operators", ("operators",)),
    "--streams": _Option("streams", ("streams",), (STREAMS,)),
    "--slurm-version": _Option("release", ("release",)),
    "--flavour": _Option("flavour", ("flavour",)),
    "--power": _Option("power", ("power",), (BUDGET, CARBON)),
    "--clock": _Option("mode", ("mode",)),
    "--frozen": _Option("mode", ("mode",)),
    "--fast": _Option("mode", ("mode",)),
    "--rate": _Option("rate", ("mode", "rate")),
    "--start": _Option("start", ("start",)),
    "--jobs": _Option("jobs", ("jobs",)),
    "--allow-code": _Option("allow_code", ("programs",)),
    "--boot-time": _Option("boot_time", ("boot_s",)),
}

_BEFORE = {"flavour": "debian", "programs": False, "boot_s": 60}  # what headers meant that say nothing


def check_going_on(folder: Path, settings: Settings, given: Collection[str]) -> None:
    """Refuse options that a cluster in `folder` would drop.

    Parameters
    ----------
    settings
        The cluster that the options describe.
    given
        The options that were given: keys of the table above, or names of options of power.

    Raises
    ------
    ConfigError
        One of them says another thing than the cluster was made of. A damaged journal is left to the daemon.
    """
    with (folder / JOURNAL).open("rb") as file:
        header = read_contents(file.readline(_MOST_HEADER), str(folder / JOURNAL)).header
    if not header:
        return
    if "--slurm-version" not in given:
        settings = replace(settings, release=header["release"])
    if "--flavour" not in given:
        settings = replace(settings, flavour=header.get("flavour", _BEFORE["flavour"]))
    if "--accounting" not in given and header.get("accounting"):  # the conf has a line more then
        settings = replace(settings, accounting=(NEW_DATABASE,))
    if "--no-accounting" not in given:
        settings = replace(settings, storage=header.get("storage", "") != "none")
    with tempfile.TemporaryDirectory(prefix="slurmsim-") as scratch:
        asked = make_folder(Path(scratch), settings)
        made = {str(path.relative_to(scratch)) for path in Path(scratch).rglob("*") if path.is_file()}
        included = made.difference(CONF_FILES, asked["accounting"], (STREAMS, BUDGET, CARBON))
        for option in given:
            says = _OPTIONS.get(option, _OPTIONS["--power"])
            files = says.files
            if option == "--accounting":
                files = tuple(asked["accounting"])
            elif files == CONF_FILES:
                files = (*files, *sorted(included))
            alike = all(_holds(header.get(key, _BEFORE.get(key)), asked[key]) for key in says.keys)
            if not (alike and all(_text(folder / name) == _text(Path(scratch) / name) for name in files)):
                way = ", or --reconfigure, which takes the new files" if option == "--conf" else ""
                raise ConfigError(
                    f"the cluster in {folder} was made otherwise and goes on as it is", field=option,
                    expected=f"up without {option}{way}, or a new cluster with another --state",
                )  # fmt: skip


def given_in(settings: Settings) -> list[str]:
    """Return the options that `settings` has other than their defaults, for `check_going_on`."""
    plain = Settings()
    by_field: dict[str, str] = {}
    for option, says in _OPTIONS.items():
        by_field.setdefault(says.field, option)  # --clock stands for --frozen and --fast, too
    return [option for name, option in by_field.items() if getattr(settings, name) != getattr(plain, name)]


def replace_conf(folder: Path, source: Path, release: str) -> dict[str, bytes | None]:
    """Put `source` and the files beside it in place of those of a stopped cluster; what was there, for `put_back`.

    Raises
    ------
    ConfigError
        The new files describe no cluster; nothing is changed then.
    """
    from slurmsim.config.load import load_cluster  # takes the tables along

    load_cluster(source, release=release)
    before = {name: _text(folder / name) for name in CONF_FILES}
    with tempfile.TemporaryDirectory(prefix=".conf-", dir=folder) as scratch:
        copy_conf(source, Path(scratch))  # whole before anything is replaced: `source` may be the folder's own
        made = [path.relative_to(scratch) for path in Path(scratch).rglob("*") if path.is_file()]
        for name in made:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(Path(scratch) / name, folder / name)
    for old in set(map(Path, CONF_FILES)).difference(made):
        (folder / old).unlink(missing_ok=True)
    return before


def put_back(folder: Path, before: Mapping[str, bytes | None]) -> None:
    """Undo `replace_conf`."""
    for name, text in before.items():
        if text is None:
            (folder / name).unlink(missing_ok=True)
        else:
            (folder / name).write_bytes(text)


def _holds(old: Any, new: Any) -> bool:
    """Return True if a cluster that says `old` has what `new` asks for: users and operators may be some of many."""
    if isinstance(new, dict) and isinstance(old, dict):
        return new.items() <= old.items()
    if isinstance(new, (list, tuple)) and isinstance(old, (list, tuple)):
        return set(new) <= set(old)
    return bool(old == new)


def _text(path: Path) -> bytes | None:
    return read_bytes(path) if path.is_file() else None
