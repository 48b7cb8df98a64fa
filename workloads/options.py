"""Options of workload formats (``--option name=value``): one table per format, checked before anything is read."""

from collections.abc import Mapping

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.numerals import is_number


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its default, the values it may take (empty: any text) and what it means."""

    name: str
    default: str
    meaning: str
    choices: tuple[str, ...] = ()


def check_options(format_name: str, table: tuple[Option, ...], given: Mapping[str, str] | None) -> dict[str, str]:
    """Return all options of a format with the given values filled in.

    Raises
    ------
    ConfigError
        The format has no such option, or the value is not one of its choices.
    """
    values = {option.name: option.default for option in table}
    for name, value in (given or {}).items():
        option = next((o for o in table if o.name == name), None)
        if option is None:
            known = ", ".join(o.name for o in table) or "none"
            raise ConfigError(f"the {format_name} format has no option {name!r}", expected=f"one of: {known}")
        if option.choices and value not in option.choices:
            raise ConfigError(
                f"{value!r} is not a value of this option of the {format_name} format",
                field=name,
                expected=" or ".join(option.choices),
            )
        values[name] = value
    return values


def whole_number(values: Mapping[str, str], name: str) -> int | None:
    """Return the option as an int >= 0; None when it is empty."""
    text = values[name]
    if not text:
        return None
    if not is_number(text):
        raise ConfigError(f"{text!r} is not a number", field=name, expected="a whole number >= 0")
    return int(text)


def number_map(values: Mapping[str, str], name: str) -> dict[int, str]:
    """Return the option ``1:debug,2:batch`` as a dictionary."""
    result: dict[int, str] = {}
    for item in filter(None, values[name].split(",")):
        number, colon, target = item.partition(":")
        if not (colon and target and is_number(number)):
            raise ConfigError(f"{item!r} is not NUMBER:NAME", field=name, expected="for instance 1:debug,2:batch")
        if int(number) in result:
            raise ConfigError(f"number {number} is given twice", field=name)
        result[int(number)] = target
    return result
