"""The sources of a configuration's texts: files, files with remembered texts, or texts remembered before."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from slurmsim.input_file import read_text


class Files:
    def exists(self, path: Path) -> bool:
        """Return True if there is such a file."""
        return path.exists()

    def text(self, path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the text of one (`slurmsim.input_file`). Raises OSError, UnicodeDecodeError."""
        return read_text(path, encoding, errors)


DISK = Files()


class Remembering(Files):
    """Files as they are, and what they said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # the text of every file that was read, by its name: relative to `folder` if it is in there
        self.texts: dict[str, str] = {}

    def text(self, path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
        """As `Files`."""
        found = self.texts[name_in(self.folder, path)] = super().text(path, encoding, errors)
        return found


class Carried(Files):
    """Texts that were remembered stand for the files, whatever these say now."""

    def __init__(self, folder: Path, texts: Mapping[str, str]) -> None:
        self.folder, self.texts = folder, texts

    def exists(self, path: Path) -> bool:
        """As `Files`."""
        return name_in(self.folder, path) in self.texts

    def text(self, path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
        """As `Files`."""
        found = self.texts.get(name_in(self.folder, path))
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return found


def name_in(folder: Path, path: Path) -> str:
    """Return the name of a file among the texts of a folder."""
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
