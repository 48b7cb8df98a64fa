"""The working folder is no place to import from: it may be a stranger's.

``python -m slurmsim`` and an empty entry of PYTHONPATH (``:/opt/lib``) put it on `sys.path`, before the standard
library, where a file ``json.py`` would run with the user's rights. Our programs take it off again. A process that only
imports slurmsim keeps its path, and so does a folder that PYTHONPATH names.
"""

import os
import sys


def leave_out_working_folder() -> None:
    """Take the working folder off the path of this process, if that is one of our programs."""
    if sys.flags.isolated or not is_program(sys.orig_argv):
        return
    try:
        here = os.getcwd()
    except OSError:  # it has been removed
        return
    if not sys.flags.safe_path and "-m" in sys.orig_argv:
        _remove_first(("", here))
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if len(entries) > 1 and "" in entries:  # a variable that is empty has no entry
        for _ in range(entries.count("")):
            _remove_first(("", here))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, entries))  # of what we start


def is_program(words: list[str]) -> bool:
    """Return True if a command line (``sys.orig_argv``) is that of one of our programs.

    >>> is_program(["python", "-m", "slurmsim", "run"]), is_program(["python", "/usr/bin/slurmsim"])
    (True, True)
    >>> is_program(["python", "study.py", "-m", "slurmsim"]), is_program(["python"])
    (False, False)
    """
    for at, word in enumerate(words[1:], 1):
        if word == "-m":
            return words[at + 1 : at + 2] != [] and words[at + 1].partition(".")[0] == "slurmsim"
        if not word.startswith("-"):
            return os.path.basename(word) in ("slurmsim", "slurmrestd")
    return False


def _remove_first(names: tuple[str, str]) -> None:
    for at, entry in enumerate(sys.path):
        if entry in names:
            del sys.path[at]
            return
