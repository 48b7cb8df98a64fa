"""Where policies and predictors register: the entry points of all installed packages."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError, PolicyError, nearest
from slurmsim.installed import entry_points
from slurmsim.policy.base import Policy, PolicyOption, check_code_allowed, without_code
from slurmsim.policy.policy_file import in_file
from slurmsim.policy.predictor import ChosenPredictor, Predictor
from slurmsim.toml_file import Texts, texts_from

GROUP = "slurmsim.policies"
PREDICTORS = "slurmsim.predictors"
OURS = frozenset({"slurmsim", "slurmsim_policies"})
"""Packages of the policies that are distributed with slurmsim."""
OUR_NAME = "refused: the name is that of a policy of slurmsim"
REQUESTED = "requested"
"""The predictor that learns nothing: jobs are expected to use up their limits."""


def policy_names() -> list[str]:
    """Names of all installed policies, ours and strangers', sorted."""
    return _names(GROUP)


def predictor_names() -> list[str]:
    """Names of all installed predictors, ours and strangers', sorted."""
    return _names(PREDICTORS)


def load_policy(name: str) -> type[Policy]:
    """Return the policy class registered as `name`.

    Raises
    ------
    ConfigError
        No package offers it (the message names the known ones), or several do.
    PolicyError
        It cannot be imported or is no Policy.
    """
    found: type[Policy] = _load(GROUP, name, Policy, "policy", "SchedulerType")
    check_policy(found, name)
    return found


def check_policy(found: type[Policy], name: str = "") -> None:
    """Raise PolicyError for a class with options that are none; `name` if it has none of its own."""
    if not all(isinstance(option, PolicyOption) for option in found.OPTIONS.values()):
        said = f"{found.__module__} has OPTIONS that are no slurmsim.policy.PolicyOption"
        raise PolicyError(name or found.name, said)


def load_predictor(name: str) -> type[Predictor]:
    """Return the predictor class registered as `name`. Raises as `load_policy` does."""
    found: type[Predictor] = _load(PREDICTORS, name, Predictor, "predictor", "predictor")
    return found


def choose_predictor(text: str) -> ChosenPredictor:
    """Return the predictor of that name; raises ConfigError and PolicyError as `load_policy` does."""
    predictor = load_predictor(text)
    return ChosenPredictor(text, None if text == REQUESTED else predictor)


PREDICTOR = PolicyOption(choose_predictor, ChosenPredictor(REQUESTED), "who predicts run times (slurmsim predictors)")
"""The option with which a policy lets its user choose a predictor."""


def _names(group: str) -> list[str]:
    return sorted({point.name for point in entry_points(group=group)})


def _load(group: str, name: str, base: type, kind: str, field: str) -> Any:
    """Return the class an entry point of `group` names, a subclass of `base`."""
    offered, _ = _offered(group, name)
    if len(offered) > 1:
        raise ConfigError(f"several packages offer a {kind} {name!r}: {', '.join(sorted(offered))}",
                          field=field, expected="all but one of them uninstalled")  # fmt: skip
    for value, point in offered.items():
        try:
            found = point.load()
        except (Exception, SystemExit) as error:  # whatever a stranger's module does while it is imported
            said = " ".join(str(error).split())
            raise PolicyError(name, f"{value} cannot be loaded: {type(error).__name__}: {said}") from error
        if not (isinstance(found, type) and issubclass(found, base)):
            raise PolicyError(name, f"{value} is not a slurmsim.policy.{base.__name__}")
        if not found.name:  # type: ignore[attr-defined]
            found.name = name  # type: ignore[attr-defined]
        return found
    hint = nearest(name, _names(group))
    raise ConfigError(f"no {kind} is called {name!r}{hint}", field=field, expected=", ".join(_names(group)))


def _offered(group: str, name: str) -> tuple[dict[str, EntryPoint], dict[str, EntryPoint]]:
    """Return the entry points that offer `name`, and those refused as the name is one of ours; by what they point at.

    Another package cannot take the place of what is distributed with slurmsim.
    """
    found = {point.value: point for point in entry_points(group=group) if point.name == name}
    ours = {value: point for value, point in found.items() if point.module.partition(".")[0] in OURS}
    return (ours, {value: found[value] for value in found if value not in ours}) if ours else (found, {})


def refused_claims(name: str) -> list[str]:
    """Return what else offers a policy under the name of one of ours, as ``module:Class``; it is never loaded."""
    return sorted(_offered(GROUP, name)[1])


@dataclass(frozen=True, slots=True)
class InstalledPolicy:
    """A policy some package offers: its class, or why there is none, and the file it comes from."""

    name: str
    file: str
    policy: type[Policy] | None
    problem: str = ""


def installed_policies() -> list[InstalledPolicy]:
    """Return all installed policies by name, the broken ones among them; loads each and raises nothing."""
    found = []
    for name in policy_names():
        found.append(_installed(name))
        refused = _offered(GROUP, name)[1]
        found += [
            InstalledPolicy(name, _file_of(point), None, f"{value}: {OUR_NAME}") for value, point in refused.items()
        ]
    return found


def _installed(name: str) -> InstalledPolicy:
    offered, _ = _offered(GROUP, name)
    file = ", ".join(_file_of(offered[value]) for value in sorted(offered))
    try:
        return InstalledPolicy(name, file, load_policy(name))
    except PolicyError as error:
        return InstalledPolicy(name, file, None, str(error).removeprefix(f"policy {name}: "))
    except ConfigError as error:
        return InstalledPolicy(name, file, None, error.message)


def _file_of(point: EntryPoint) -> str:
    """Return the file an entry point names, found without running it; else what the entry point says."""
    try:
        spec = importlib.util.find_spec(point.module)
    except (Exception, SystemExit):  # the package around it cannot be imported
        spec = None
    return spec.origin if spec is not None and spec.origin else point.value


def parse_policy(text: str) -> tuple[str, dict[str, str]]:
    """Split ``NAME[:key=value,…]``; a leading ``sched/`` is accepted. Raises ConfigError."""
    name, _, rest = text.partition(":")
    return name.removeprefix("sched/"), parse_options(rest)


def parse_options(text: str) -> dict[str, str]:
    """Split ``key=value,…``. Raises ConfigError."""
    options: dict[str, str] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise ConfigError(f"{item!r} is not an option", field="--policy", expected="NAME:key=value,key=value")
        if key in options:
            raise ConfigError(f"option {key!r} is given twice", field="--policy", expected="each option once")
        options[key] = value
    return options


_offered_here: dict[str, list[Callable[[], Policy]]] = {}


@contextmanager
def offering(name: str, make: Callable[[], Policy]) -> Iterator[None]:
    """Within it configurations read by this process may name a policy that a program gave: ``sched/NAME``.

    Raises
    ------
    ConfigError
        Another one of that name is offered.
    """
    offers = _offered_here.setdefault(name, [])
    if offers and offers[-1] != make:
        raise ConfigError(f"another policy called {name!r} is in use in this process", field="policy",
                          expected="another name")  # fmt: skip
    offers.append(make)
    try:
        yield
    finally:
        offers.remove(make)
        if not offers:
            _offered_here.pop(name, None)


def configured_policy(scheduler_type: str, texts: Texts | None = None) -> Policy:
    """Return the policy a configuration names: ``SchedulerType=sched/NAME[:key=value,…]``.

    It is a text from a file (a slurm.conf, a journal, a recorded session), so it names no code.

    Parameters
    ----------
    texts
        The texts of files that its options name (`slurmsim.toml_file.texts_from`).

    Raises
    ------
    ConfigError
        As `load_policy` and for an option it does not have, the field being SchedulerType; or what is wrong in a file
        that an option names.
    PolicyError
        As `load_policy`.
    """
    try:
        with texts_from(texts), without_code():
            if (found := in_file(scheduler_type.removeprefix("sched/"))) is not None:
                check_code_allowed(f"{found.file}:{found.name} names code", f"--policy {found.file}:{found.name}")
            name, options = parse_policy(scheduler_type)
            if name in _offered_here and not options:
                return _offered_here[name][-1]()
            return load_policy(name)(options)
    except ConfigError as error:
        if error.file is not None:
            raise
        raise ConfigError(error.message, field="SchedulerType", expected=error.expected) from None
