"""``squeue --json``, ``sinfo --json`` and ``scontrol show … --json`` from Slurm 24.11 on: rows in, a document out."""

from __future__ import annotations

from slurmsim.commands.json import documents, frame, versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.json.versions import Record


class Dump:
    """How one command call is to be dumped.

    Parameters
    ----------
    form
        "json" or "yaml".
    parser
        What followed ``--json=``.
    argv
        All the words of the command, its name first.
    """

    def __init__(self, io: Io, release: str, form: str, parser: str | None, argv: list[str]) -> None:
        self.io, self.release, self.form, self.argv = io, release, form, argv
        self.version = versions.chosen(argv[0], parser, release, io)

    def write(self, entries: Record, warnings: list[Any] | None = None, errors: list[Any] | None = None) -> None:
        """Print the document."""
        hello = self.io.client.call("hello")
        frame.write(self.io, self.form, self.release, entries, self.argv, str(hello.get("cluster") or ""),
                    frame.storage_of(hello), warnings, self.version, errors)  # fmt: skip

    def jobs(self, table: dict[str, list[Any]], now: int, last_backfill: int) -> None:
        """Print jobs given as columns."""
        fields = documents.job_fields()
        count = len(table["job_id"])
        rows = [{name: table[name][k] for name in fields} for k in range(count)]
        self.write(documents.job_entries(rows, now, last_backfill, self.version))
