"""Which policy a run has: one of an installed package, a class in a file, or a class or an instance from Python."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import ConfigError, PolicyError, SlurmSimError
from slurmsim.extras import how_to_install
from slurmsim.policy.base import NamedCodeError, Policy, check_code_allowed, without_code
from slurmsim.policy.policy_file import in_file, policy_in
from slurmsim.policy.registry import check_policy, load_policy, parse_options, parse_policy, policy_names

FORMS = "NAME[:key=value,…], FILE.py:CLASS[:key=value,…]"
_NAME = re.compile(r"[^\W\d][\w.+-]*")


@dataclass(frozen=True, slots=True)
class GivenPolicy:
    """A class or an instance that a program gave, as an option of a run.

    It can be pickled: by reference where another process can import the class, else by value, which needs cloudpickle.
    A run never changes an instance: each has a copy of its own.

    Raises
    ------
    ConfigError
        It is no policy, or has a name that no policy may have.
    """

    policy: type[Policy] | Policy
    name: str = field(init=False)
    _content: bytes = field(init=False, default=b"", repr=False, compare=False)

    def __post_init__(self) -> None:
        own = self.policy if isinstance(self.policy, type) else type(self.policy)
        if not issubclass(own, Policy):
            raise ConfigError(f"{self.policy!r} is no slurmsim.policy.Policy", field="policy",
                              expected=f"{FORMS}, a class or an instance")  # fmt: skip
        object.__setattr__(self, "name", _named(own))

    @property
    def own(self) -> type[Policy]:
        """The class."""
        return self.policy if isinstance(self.policy, type) else type(self.policy)

    def content(self) -> bytes:
        """Return what another process is sent, the same each time; empty where it imports the class.

        Raises ConfigError if nothing can be sent.
        """
        if not self._content and not can_be_imported(self.own):
            object.__setattr__(self, "_content", _packed(self))
        return self._content

    def pickled(self) -> bytes:
        """Return what another process is sent, be it by name. Raises ConfigError if nothing can be sent."""
        return pickle.dumps(self)

    def __str__(self) -> str:
        return f"{self.name} (given from Python)"

    def __reduce__(self) -> tuple[Any, ...]:
        content = self.content()
        return (_unpacked, (content,)) if content else (GivenPolicy, (self.policy,))


def _packed(given: GivenPolicy) -> bytes:
    """Return the class or instance by value, for `pickle.loads`. Raises ConfigError."""
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError:
        raise ConfigError(
            f"policy {given.name} is defined in {given.own.__module__}, where no other process finds it",
            field="policy", expected=f"cloudpickle ({how_to_install('run')}), or the class in a file",
        ) from None  # fmt: skip
    try:
        content: bytes = cloudpickle.dumps(given.policy)
    except Exception as error:  # whatever a class refers to
        said = " ".join(str(error).split())
        raise ConfigError(
            f"policy {given.name} cannot be sent to another process: {type(error).__name__}: {said}", field="policy",
            expected="a class that can be pickled, or one in a file",
        ) from None  # fmt: skip
    return content


def _unpacked(content: bytes) -> GivenPolicy:
    given = GivenPolicy(pickle.loads(content))
    object.__setattr__(given, "_content", content)
    return given


@dataclass(frozen=True, slots=True)
class ChosenPolicy:
    """A policy that was found: what results call it, and what makes it."""

    name: str
    maker: Callable[[], Policy]

    def make(self) -> Policy:
        """Return a policy for one run. Raises ConfigError for wrong options, PolicyError for what its code raises."""
        try:
            return self.maker()
        except SlurmSimError:
            raise
        except (Exception, SystemExit) as error:
            said = " ".join(str(error).split())
            raise PolicyError(self.name, f"cannot be made: {type(error).__name__}: {said}") from error


def choose_policy(chosen: str | GivenPolicy) -> ChosenPolicy:
    """Return the policy of ``--policy`` or of a program.

    A text is ``NAME[:key=value,…]``, as `load_policy` has names, or ``FILE.py:CLASS[:key=value,…]``. The file is run.

    Raises
    ------
    ConfigError
        There is none, or the text is none of these.
    NamedCodeError
        The text names a file within `without_code`.
    PolicyError
        It cannot be loaded or is no Policy.
    """
    if isinstance(chosen, GivenPolicy):
        given = chosen.policy
        return ChosenPolicy(chosen.name, given if isinstance(given, type) else partial(deepcopy, given))
    found = in_file(chosen)
    if found is None:
        name, options = parse_policy(chosen)
        if not name:
            raise ConfigError("no policy is named", field="--policy", expected=FORMS)
        return ChosenPolicy(name, partial(load_policy(name), options))
    check_code_allowed(
        f"{found.file}:{found.name} names code", f"--policy {found.text(found.file)} on the command line"
    )
    own = policy_in(found.file, found.name)
    name = _named(own)
    return ChosenPolicy(name, partial(own, parse_options(found.options)))


def as_option(given: object) -> str | GivenPolicy | None:
    """Return a policy as an option of a run holds it. Raises ConfigError for what is none."""
    if given is None or isinstance(given, str | GivenPolicy):
        return given
    return GivenPolicy(given)  # type: ignore[arg-type]


def check_without_code(text: str) -> None:
    """Raise NamedCodeError if a policy's text names code; other mistakes are left."""
    try:
        with without_code():
            choose_policy(text).make()
    except NamedCodeError:
        raise
    except SlurmSimError:
        return


def _named(own: type[Policy]) -> str:
    """Return the name of a policy that no package offers: its own, not one it inherits, else that of its class."""
    name = own.__dict__.get("name") or own.__name__
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(f"policy class {own.__qualname__} calls itself {name!r}", field="policy",
                          expected="a name of letters, digits and _.+-")  # fmt: skip
    if name in policy_names() and load_policy(name) is not own:
        raise ConfigError(f"policy class {own.__qualname__} calls itself {name!r}, which is an installed policy",
                          field="policy", expected="another name")  # fmt: skip
    own.name = name
    check_policy(own)
    return name


def can_be_imported(own: type) -> bool:
    """Return True if another process with the same path finds the class by its name."""
    if own.__module__ == "__main__" or "<locals>" in own.__qualname__:
        return False
    try:
        spec = find_spec(own.__module__)
    except (ImportError, ValueError):  # its module was made by hand
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).is_file()
