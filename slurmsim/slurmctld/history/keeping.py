"""Keep a file beside the one that takes its place."""

import os
from itertools import count
from pathlib import Path

from slurmsim.errors import OutputError


def keep_beside(path: Path, ending: str, *, numbered: bool = False) -> Path:
    """Give the file a second name, ``NAME.ENDING`` or the next ``NAME.ENDING-N``. Raises OutputError."""
    for k in count(1):
        kept = path.with_name(f"{path.name}.{ending}" + (f"-{k}" if k > 1 or numbered else ""))
        try:
            os.link(path, kept, follow_symlinks=False)
        except FileExistsError:
            if kept.samefile(path):
                return kept
        except OSError as error:
            raise OutputError(f"{kept}: {error.strerror}") from None
        else:
            return kept
    raise AssertionError
