"""``slurmsim up --salvage``: go on with what can be read of a damaged journal, and say what is lost.

What follows the first line that cannot be read is not used, even where it can: it may rest on what is missing. Only job
ids are taken from it, so that none is given twice. The damaged file stays beside the new one.
"""

from pathlib import Path

from slurmsim.errors import OutputError
from slurmsim.slurmctld.history.header import JOURNAL
from slurmsim.slurmctld.history.journal import Journal, mark
from slurmsim.slurmctld.history.journal_file import Contents, read_contents, whole_file
from slurmsim.slurmctld.history.keeping import keep_beside

SALVAGED = "salvaged"  # the call of the entry that says so


def salvage(folder: Path) -> str:
    """Put a readable journal in the place of a damaged one; what was done, empty if nothing had to be.

    Raises
    ------
    OutputError
        The header cannot be read: nothing can be saved.
    """
    path = folder / JOURNAL
    try:
        found = read_contents(whole_file(path), str(path), mark(path))
    except OSError as error:
        raise OutputError(f"{path}: cannot read the journal: {error.strerror}") from None
    if not found.problem:
        return ""
    if not found.header or found.lost is None:
        raise OutputError(f"{found.problem}; nothing can be saved")
    kept = keep_beside(path, "damaged", numbered=True)
    _write(path, found)
    first, last = found.lost
    return f"{path}: numbers {first} to {last} ({last - first + 1}) are lost; the damaged journal is {kept.name}"


def _write(path: Path, found: Contents) -> None:
    assert found.lost is not None
    now = found.entries[-1][1][0] if found.entries else int(found.header["start"])
    said = [now, SALVAGED, 0, "", {"last_id": found.latest_id, "lost": list(found.lost)}]
    journal = Journal(path)
    lines = [Journal.text(entry) for _, entry in found.entries] + [Journal.text(said)]
    header = {name: value for name, value in found.header.items() if name != "id"}  # marks of before are not its own
    if "snapshot" in header:  # which stays one of the damaged journal
        header["snapshot"] = {"journal": found.header["id"], **header["snapshot"]}
    journal.begin(header, int(found.header["after"]), b"\n".join(lines))
    journal.close()
