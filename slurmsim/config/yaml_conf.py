"""What the readers of YAML files beside slurm.conf share: topology.yaml and resources.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slurmsim.config.findings import Place, Report
from slurmsim.config.nodes import NodeTable
from slurmsim.extras import how_to_install
from slurmsim.yaml_text import Unreadable, read_yaml


class YamlConf:
    """One such file; each problem becomes an error that names the key."""

    def __init__(self, table: NodeTable, report: Report, place: Place) -> None:
        self.table, self.report, self.place = table, report, place

    def wrong(self, key: str, message: str, expected: str = "", log: tuple[str, ...] = ()) -> None:
        self.report.error(self.place, key, "", message, expected, log)

    def parsed(self, text: str, what: str) -> list[Mapping[str, Any]]:
        """Return the rows of the whole file; none, with an error, where it cannot be read."""
        return self.rows(self.loaded(text), what)

    def loaded(self, text: str) -> Any:
        """Return what the file says; None, with an error, where it cannot be read."""
        try:
            return read_yaml(text.encode())
        except Unreadable as error:
            self.wrong("", " ".join(str(error).split()))
        except ModuleNotFoundError:
            self.wrong("", f"it takes PyYAML to read this file: {how_to_install('rest')}")
        return None

    def rows(self, found: Any, what: str) -> list[Mapping[str, Any]]:
        """Return a list of mappings; one mapping is a list of one, and nothing a list of none."""
        rows = [] if found is None else [found] if isinstance(found, dict) else found
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            self.wrong(what, "is no list of mappings")
            return []
        return rows

    def known(self, row: Mapping[str, Any], what: str, keys: Sequence[str]) -> None:
        """Tell of keys that are none of `keys`."""
        for key in row:
            if key not in keys:
                self.report.warning(self.place, key, "", f"unknown in {what}, ignored, as Slurm does")
