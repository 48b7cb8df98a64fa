"""Choosing a workload format: by name, by file name, by content; built-in and foreign formats alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.input_file import open_input
from slurmsim.installed import entry_points
from slurmsim.workload import Workload, WorkloadFormat
from slurmsim_workloads.files import read_head

GROUP = "slurmsim.workloads"


def formats() -> dict[str, WorkloadFormat]:
    """Return every installed workload format by name (the entry-point name), in order of name.

    Raises
    ------
    ConfigError
        A package advertises a format that cannot be loaded.
    """
    found: dict[str, WorkloadFormat] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        try:
            found[point.name] = point.load()()
        except Exception as error:
            raise ConfigError(f"workload format {point.name!r} ({point.value}) cannot be loaded: {error}") from None
    return found


def read_workload(path: str | Path, format: str | None = None, options: Mapping[str, str] | None = None) -> Workload:
    """Read a job log.

    Parameters
    ----------
    path
        The file; gzip is recognised by content.
    format
        Name of a format (``swf``, ``sacct``, ``parquet`` or a foreign one). None: told by suffix, then by content.
    options
        The format's own options; see ``docs/workloads.md``.

    Raises
    ------
    WorkloadError
        The file is missing, damaged or not what it claims to be: file, line and field are named.
    ConfigError
        No such format or option.
    """
    path = Path(path)
    _check_readable(path)
    return choose_input_format(path, format).read(path, options or {})


def write_workload(
    workload: Workload, path: str | Path, format: str | None = None, *, lossy: bool = False
) -> list[str]:
    """Write `workload`, replacing `path` only when the new file is complete.

    Parameters
    ----------
    workload, path
        What and where to.
    format
        Name of a format; None: told by the suffix of `path`.
    lossy
        Leave out what the format cannot hold instead of refusing.

    Returns
    -------
    list of str
        What was left out, one sentence part each (``"gres (12 jobs)"``); empty unless `lossy`.

    Raises
    ------
    OutputError
        The file cannot be written. An older file of that name is left as it was.
    WorkloadError
        The format cannot hold something and `lossy` is False, or it cannot be written at all.
    ConfigError
        No such format, or the suffix tells none.
    """
    path = Path(path)
    chosen = choose_output_format(path, format)
    if workload.streams is not None:
        raise WorkloadError("streams have no jobs to write", file=workload.streams.file or None,
                            expected="the trace of slurmsim run --streams, which has them")  # fmt: skip
    lost: list[str] = []
    reduce = getattr(chosen, "reduce", None)
    if lossy and reduce is not None:
        workload, lost = reduce(workload)
    chosen.write(workload, path)
    return lost


def choose_input_format(path: Path, name: str | None) -> WorkloadFormat:
    """Return the format that reads `path`: the named one, else by suffix and content, else by content alone."""
    known = formats()
    if name is not None:
        return _named(known, name)
    by_suffix = _by_suffix(known, path)
    head = read_head(path)
    if by_suffix is not None and by_suffix.sniff(head):
        return by_suffix
    matches = [f for f in known.values() if f.sniff(head)]
    if len(matches) == 1:
        return matches[0]
    if by_suffix is not None:
        return by_suffix
    what = (
        f"its content could be {' or '.join(f.name for f in matches)}" if matches else "its content is like no format"
    )
    raise WorkloadError(f"format not recognised: {what}", file=str(path), expected=f"--format {'|'.join(known)}")


def choose_output_format(path: str | Path, name: str | None) -> WorkloadFormat:
    """Return the format that writes `path`: the named one, else by suffix."""
    path, known = Path(path), formats()
    if name is not None:
        return _named(known, name)
    by_suffix = _by_suffix(known, path)
    if by_suffix is None:
        suffixes = ", ".join(s for f in known.values() for s in f.suffixes)
        raise ConfigError(f"{path}: the file name tells no format", expected=f"a suffix such as {suffixes}, or --to")
    return by_suffix


def _named(known: Mapping[str, WorkloadFormat], name: str) -> WorkloadFormat:
    if name not in known:
        raise ConfigError(f"no workload format {name!r}", expected=f"one of: {', '.join(known)}")
    return known[name]


def _by_suffix(known: Mapping[str, WorkloadFormat], path: Path) -> WorkloadFormat | None:
    """Return the format with the longest suffix that ends the file name."""
    pairs = [(len(s), f) for f in known.values() for s in f.suffixes if path.name.lower().endswith(s)]
    return max(pairs, key=lambda pair: pair[0])[1] if pairs else None


def _check_readable(path: Path) -> None:
    try:
        open_input(path).close()
    except OSError as error:
        raise WorkloadError(f"cannot be read: {error.strerror}", file=str(path)) from None
