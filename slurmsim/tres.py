"""Trackable resources as text: TRES lists, memory sizes, GRES specifications.

Mirrors the forms slurm.conf, sacct and scontrol use (22.05): ``cpu=4,mem=1000M,node=2,gres/gpu=2,billing=4``,
``16G``, ``gpu:a100:2(S:0-1)``. Memory is in MiB throughout.
"""

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal

from slurmsim.data_classes import dataclass
from slurmsim.errors import InputError
from slurmsim.numerals import is_number

# Order in which Slurm prints its built-in TRES; gres/…, license/… and others follow by name.
_ORDER = {name: i for i, name in enumerate(("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"))}
_IN_MIB = frozenset({"mem", "vmem"})
_EMPTY = frozenset({"", "(null)", "n/a", "none"})

_MEMORY = re.compile(r"(\d{1,18}(?:\.\d*)?|\.\d{1,18})\s*([kmgtp]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_MIB = {"k": Decimal(1) / 1024, "m": Decimal(1), "g": Decimal(1024), "t": Decimal(1024**2), "p": Decimal(1024**3)}
_COUNT = re.compile(r"(\d{1,18})([kmgt]?)", re.IGNORECASE | re.ASCII)
_TIMES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
MOST_LIMIT = 0xFFFFFFFFFFFFFFF0  # the largest limit of a TRES (MAX_VAL64)
MOST = 1 << 53  # the largest size (MiB) and count: all sums of them fit 64 bits, and doubles hold them exactly
_LONGEST = 100  # digits of a number that is read
_LOCALITY = re.compile(r"\([^()]*\)")


class TresError(InputError, ValueError):
    """A TRES list, memory size or GRES specification is wrong; the message quotes the bad part."""


@dataclass(frozen=True, slots=True)
class GresItem:
    """`count` of the generic resource `name` (``gpu``), of `type` ("" when any)."""

    name: str
    type: str
    count: int


def parse_memory(text: str, unit: str = "M") -> int:
    """Memory size in MiB, rounded up; `unit` (K, M, G, T, P) is meant when the text has no suffix.

    Raises
    ------
    TresError
        The text is no number with an optional unit.

    Examples
    --------
    >>> parse_memory("4000"), parse_memory("62.50G"), parse_memory("1K")
    (4000, 64000, 1)
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise TresError(f"{text!r} is not a memory size", expected="a number with K, M, G or T")
    factor = _MIB[(match[2] or unit).lower()]
    found = int((Decimal(match[1]) * factor).to_integral_value(ROUND_CEILING))
    if found > MOST:
        raise TresError(f"{text!r} is too large", expected=f"at most {MOST} MiB")
    return found


def format_memory(mib: int) -> str:
    """Memory as Slurm prints it in TRES lists: the largest unit that loses nothing but halves.

    >>> format_memory(4000), format_memory(4096), format_memory(64000)
    ('4000M', '4G', '62.50G')
    """
    if mib == 0:
        return "0"
    units = iter("MGTP")
    unit = next(units)
    number: float = mib
    while number >= 1024 and int(number) % 512 == 0 and unit != "P":
        number /= 1024
        unit = next(units)
    return f"{int(number)}{unit}" if number == int(number) else f"{number:.2f}{unit}"


def parse_tres(text: str) -> dict[str, int]:
    """Return a TRES list by lower-cased name; mem and vmem in MiB, the rest plain counts.

    Raises
    ------
    TresError
        An item has no ``=``, a value is no number, or a name comes twice.

    Examples
    --------
    >>> parse_tres("cpu=4,mem=1000M,node=2,gres/gpu:a100=2")
    {'cpu': 4, 'mem': 1000, 'node': 2, 'gres/gpu:a100': 2}
    """
    counts: dict[str, int] = {}
    if text.strip().lower() in _EMPTY:
        return counts
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name:
            raise TresError(f"{item.strip()!r} is not a TRES", expected="NAME=COUNT")
        key = name if name.lower().startswith(("gres/", "license/")) else name.lower()
        if key in counts:
            raise TresError(f"TRES {name!r} is given twice in {text!r}")
        counts[key] = parse_memory(value) if key in _IN_MIB else parse_count(value)
    return counts


def parse_limit(name: str, text: str) -> int:
    """Return the limit of one TRES: a count as `parse_tres` reads it, or a larger number, up to `MOST_LIMIT`.

    >>> parse_limit("mem", "2G"), parse_limit("cpu", "99999999999999999999")
    (2048, 18446744073709551600)
    """
    text = text.strip()
    if len(text) <= _LONGEST and text.isascii() and text.isdigit() and int(text) > MOST:
        return min(int(text), MOST_LIMIT)
    return next(iter(parse_tres(f"{name}={text}").values()))


def format_tres(counts: Mapping[str, int]) -> str:
    """Return a TRES list in Slurm's order: cpu, mem, energy, node, billing, fs/disk, vmem, pages, then by name."""
    names = sorted(counts, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))
    return ",".join(f"{name}={format_memory(counts[name]) if name in _IN_MIB else counts[name]}" for name in names)


def parse_weights(text: str) -> tuple[tuple[str, float], ...]:
    """TRESBillingWeights, ``CPU=1.0,Mem=0.25G,GRES/gpu=2``: factors by lower-cased name, memory per MiB.

    Raises
    ------
    TresError
        An item has no ``=`` or its factor is no number.
    """
    weights = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in item.partition("="))
        match = re.fullmatch(r"(\d{1,18}(?:\.\d*)?|\.\d{1,18})([kmgtp]?)", value, re.IGNORECASE | re.ASCII)
        if not equals or not name or match is None:
            raise TresError(f"{item!r} is not a TRES weight", expected="NAME=FACTOR")
        factor = Decimal(match[1])
        if match[2]:  # "0.25G" is 0.25 a GiB
            factor /= _MIB[match[2].lower()]
        weights.append((name.lower(), float(factor)))
    return tuple(weights)


def parse_count(text: str) -> int:
    """Return a whole number with an optional K, M, G or T (times 1024). Raises TresError."""
    match = _COUNT.fullmatch(text.strip())
    if match is None:
        raise TresError(f"{text!r} is not a count", expected="a whole number")
    found = int(match[1]) * _TIMES[match[2].lower()]
    if found > MOST:
        raise TresError(f"{text!r} is too large", expected=f"at most {MOST}")
    return found


def parse_gres(text: str) -> tuple[GresItem, ...]:
    """GRES specifications of a node or a job: ``gpu``, ``gpu:2``, ``gpu:a100:2(S:0-1)``, ``gres/gpu:2``.

    Localities and index lists in parentheses are dropped, ``no_consume`` flags too; a missing count is 1.

    Raises
    ------
    TresError
        An item has no name, too many parts, or a count that is no number.

    Examples
    --------
    >>> parse_gres("gpu:a100:2(S:0-1),gres:shard:8")
    (GresItem(name='gpu', type='a100', count=2), GresItem(name='shard', type='', count=8))
    """
    if text.strip().lower() in _EMPTY:
        return ()
    return tuple(_gres_item(item.strip()) for item in _LOCALITY.sub("", text).split(","))


def _gres_item(item: str) -> GresItem:
    parts = [part for part in re.split(r"[:=]", item) if part.lower() != "no_consume"]
    if parts[0].lower() == "gres":
        parts = parts[1:]
    elif parts[0].lower().startswith("gres/"):
        parts[0] = parts[0][len("gres/") :]
    if not 1 <= len(parts) <= 3 or not all(parts) or "(" in item or ")" in item:
        raise TresError(f"{item!r} is not a GRES", expected="NAME[:TYPE][:COUNT]")
    name, rest = parts[0], parts[1:]
    if len(rest) == 2:
        return GresItem(name, rest[0], parse_count(rest[1]))
    if rest and not _COUNT.fullmatch(rest[0]):  # "gpu:a100" names a type, "gpu:2" a count
        return GresItem(name, rest[0], 1)
    return GresItem(name, "", parse_count(rest[0]) if rest else 1)


Words = Mapping[str, Mapping[str, int]]


def _items(text: str) -> list[str]:
    """Return what is between commas and semicolons that are not within the nodes of a layer."""
    found, begin, inside = [], 0, False
    for at, sign in enumerate(text):
        if sign in "()":
            inside = sign == "("
        elif sign in ",;" and not inside:
            found.append(text[begin:at])
            begin = at + 1
    return [*found, text[begin:]]


def parse_licenses(text: str, words: Words | None = None, *, layers: bool = False) -> tuple[tuple[str, int], ...]:
    """``a:2,b`` as ((name, count), …), one entry a name, 1 where no count is given.

    `words` are counts by names that a resource has for them: ``power:node``. With `layers` a name may have the nodes of
    a layer behind it.

    Raises
    ------
    ValueError
        A count that is no number, an empty name, or ``|`` (`parse_license_choice`).

    >>> parse_licenses("mat:2,flu,mat")
    (('mat', 3), ('flu', 1))
    >>> parse_licenses("power:node", {"power": {"node": 500}}), parse_licenses("flat(n[1,3]):4;mat", layers=True)
    ((('power', 500),), (('flat(n[1,3])', 4), ('mat', 1)))
    """
    found: dict[str, int] = {}
    for item in filter(None, _items(text) if layers else text.replace(";", ",").split(",")):
        name, colon, count = item.partition(":")
        if not name or "|" in item or any(c.isspace() for c in item):
            raise ValueError(f"{item!r} is no license and count")
        if colon and words and count in (known := words.get(name, {})):
            count = str(known[count])
        if colon and not is_number(count):
            raise ValueError(f"{item!r} is no license and count")
        found[name] = found.get(name, 0) + (int(count) if colon else 1)
    return tuple(found.items())


def resource_of(license: str) -> str:
    """Return the name without the nodes of a layer.

    >>> resource_of("flat(n[1-4])"), resource_of("mat")
    ('flat', 'mat')
    """
    return license.partition("(")[0]


def parse_license_choice(text: str, words: Words | None = None) -> tuple[tuple[tuple[str, int], ...], ...]:
    """``a:2|b``, any one of which will do (Slurm 26.05), or ``a:2,b``: the counts of each choice.

    Raises
    ------
    ValueError
        As `parse_licenses`, and for both signs together.

    >>> parse_license_choice("mat:2|flu"), parse_license_choice("mat,flu")
    (((('mat', 2),), (('flu', 1),)), ((('mat', 1), ('flu', 1)),))
    """
    if "|" not in text:
        return (parse_licenses(text, words),)
    if "," in text or ";" in text:
        raise ValueError(f"{text!r} mixes | with , or ;")
    return tuple([parse_licenses(item, words) for item in text.split("|") if item])


def job_defaults_text(cpus: int | None, memory: int | None) -> str | None:
    """JobDefaults as scontrol prints them, None where there are none.

    >>> job_defaults_text(2, 1000), job_defaults_text(None, 0), job_defaults_text(None, None)
    ('DefCpuPerGPU=2,DefMemPerGPU=1000', 'DefMemPerGPU=0', None)
    """
    words = (("DefCpuPerGPU", cpus), ("DefMemPerGPU", memory))
    return ",".join(f"{name}={value}" for name, value in words if value is not None) or None
