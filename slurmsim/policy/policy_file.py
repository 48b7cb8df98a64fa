"""Loads a policy class from a file of its user's own, which no package offers."""

from __future__ import annotations

import hashlib
import re
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from slurmsim.errors import ConfigError, PolicyError
from slurmsim.input_file import read_bytes
from slurmsim.policy.base import Policy

_DIGEST = "__slurmsim_digest__"  # of the source a module was loaded from: an attribute of the module
_IN_FILE = re.compile(r"(?P<file>[^:]+\.py):(?P<name>[^:]*)(?::(?P<options>.*))?", re.DOTALL)


class InFile(NamedTuple):
    """A policy named as ``FILE.py:CLASS[:key=value,…]``."""

    file: str
    name: str  # of the class
    options: str

    def text(self, file: str) -> str:
        """Return the text that names the same policy in `file`."""
        return ":".join(filter(None, (file, self.name, self.options)))


def in_file(text: str) -> InFile | None:
    """Return the parts of ``FILE.py:CLASS[:key=value,…]``; None for the name of an installed policy."""
    found = _IN_FILE.fullmatch(text)
    return None if found is None else InFile(found["file"], found["name"], found["options"] or "")


def policy_in(file: str, name: str) -> type[Policy]:
    """Return the policy class `name` of a Python file, which is run; what it imports may lie beside it.

    A file that has changed since it was loaded is loaded again.

    Raises
    ------
    ConfigError
        The file cannot be read, or has no such policy; the message names those it has.
    PolicyError
        Its code fails.
    """
    module = _loaded(file)
    found = getattr(module, name, None)
    if not (isinstance(found, type) and issubclass(found, Policy)):
        own = sorted(
            f"{file}:{key}" for key, one in vars(module).items()
            if isinstance(one, type) and issubclass(one, Policy) and one.__module__ == module.__name__
        )  # fmt: skip
        raise ConfigError(f"has no policy class {name!r}", file=file, field="--policy",
                          expected=", ".join(own) or "a subclass of slurmsim.policy.Policy")  # fmt: skip
    return found


def _loaded(file: str) -> ModuleType:
    """Return the module of a file, run if it was not or has changed."""
    path = Path(file).absolute()
    try:
        source = read_bytes(path)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file, field="--policy") from None
    name, digest = _module_name(path), hashlib.sha256(source).hexdigest()
    known = sys.modules.get(name)
    if known is not None and getattr(known, _DIGEST, None) == digest:
        return known
    if (folder := str(path.parent)) not in sys.path:
        sys.path.append(folder)  # behind all others: a file beside it takes no installed module's place
    spec = ModuleSpec(name, SourceFileLoader(name, str(path)), origin=str(path))
    spec.has_location = True
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:  # whatever the file does
        del sys.modules[name]
        line = _line_in(error, str(path))
        said = " ".join(str(error).split())
        raise PolicyError(path.name, f"{file}{line} cannot be loaded: {type(error).__name__}: {said}") from error
    setattr(module, _DIGEST, digest)
    return module


def _module_name(path: Path) -> str:
    """Return the name under which the file's module is known: that of the file, unless another module has it."""
    name = path.stem
    if name.isidentifier():
        known = sys.modules.get(name)
        if known is not None:
            free = getattr(known, "__file__", None) == str(path)
        else:
            found = find_spec(name)
            free = found is None or found.origin == str(path)
        if free:
            return name
    place = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return re.sub(r"\W", "_", name) + "_" + place


def _line_in(error: BaseException, file: str) -> str:
    """Return ``:LINE`` of the innermost line of `file` in a traceback; empty where there is none."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return f":{error.lineno}"
    line, at = "", error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == file:
            line = f":{at.tb_lineno}"
        at = at.tb_next
    return line
