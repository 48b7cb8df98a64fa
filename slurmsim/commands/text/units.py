"""Numbers with units as Slurm's commands print them (``convert_num_unit``, 22.05)."""

from __future__ import annotations

_UNITS = " KMGTP"


def quantity(number: float, unit: str, *, convert: bool = True) -> str:
    """Return `number` of `unit` ("", K, M, G, T, P) in the largest unit that loses nothing but halves.

    >>> quantity(1000, "M"), quantity(2048, "M"), quantity(2560, "M"), quantity(0, "M")
    ('1000M', '2G', '2.50G', '0')
    >>> quantity(2048, "M", convert=False), quantity(2048, "")
    ('2048M', '2K')
    """
    if int(number) == 0:
        return "0"
    at = _UNITS.index(unit or " ")
    if convert:
        while number >= 1024 and int(number) % 512 == 0:
            number /= 1024
            at += 1
    suffix = _UNITS[at].strip() if at < len(_UNITS) else "?"
    return f"{int(number)}{suffix}" if number == int(number) else f"{number:.2f}{suffix}"


def thousands(number: float, *, convert: bool = True) -> str:
    """Return `number` in the largest decimal unit it has one of, with two decimals if it is broken there.

    >>> thousands(999), thousands(1000), thousands(1234567), thousands(0), thousands(1234567, convert=False)
    ('999', '1K', '1.23M', '0', '1234567')
    """
    at = 0
    while convert and number >= 1000 and at < len(_UNITS) - 1:
        number /= 1000
        at += 1
    suffix = _UNITS[at].strip()
    return f"{int(number)}{suffix}" if number == int(number) else f"{number:.2f}{suffix}"
