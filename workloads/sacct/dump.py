"""A dump of ``sacct`` in either form: lines of ``-P`` or ``--json``, told by the first byte."""

from pathlib import Path

from slurmsim_workloads.files import read_head
from slurmsim_workloads.sacct.header import looks_like_header
from slurmsim_workloads.sacct.json import is_json, looks_like_json, read_json
from slurmsim_workloads.sacct.table import Dump, read_table


def looks_like_dump(head: bytes) -> bool:
    """Return True if a file that begins with `head` can be a dump of sacct."""
    lines = head.lstrip().splitlines()
    return looks_like_json(head) or (bool(lines) and looks_like_header(lines[0]))


def read_dump(path: Path, delimiter: str = "", *, drop_bad: bool = False) -> Dump:
    """Read a dump into text columns, the same ones for both forms. Raises WorkloadError.

    Parameters
    ----------
    path
        Plain or gzip.
    delimiter
        Of ``-P``: empty (told by the header line), the text between fields, or tab, us, pipe, comma, semicolon.
    drop_bad
        Leave out what no record can be made of instead of refusing the file.
    """
    if is_json(read_head(path)):
        return read_json(path, drop_bad=drop_bad)
    return read_table(path, delimiter, drop_bad=drop_bad)
