"""How long slurmdbd keeps rows: `PurgeJobAfter=2days` as the number Slurm makes of it, and as it is shown.

The lower half of the number counts units, bits above say which unit, and whether rows are archived first
(slurmdb_parse_purge and slurmdb_purge_string, 22.05 to 26.05).

>>> text_of(parse_purge("12") | ARCHIVE), text_of(parse_purge("3d")), text_of(None)
('12 months*', '3 days', 'NONE')
"""

UNITS, HOURS, DAYS, MONTHS, ARCHIVE = 0xFFFF, 1 << 16, 1 << 17, 1 << 18, 1 << 19
KINDS = ("Event", "Job", "Resv", "Step", "Suspend", "TXN", "Usage")
"""Kinds of rows that every release purges, as in ``PurgeEventAfter``."""
_FLAGS = (("months", MONTHS), ("hours", HOURS), ("days", DAYS))


def parse_purge(text: str) -> int:
    """Return the number. Raises ValueError with slurmdbd's words for what is none."""
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    unit = text[len(digits) :].lower()
    if not digits:
        raise ValueError(f"Invalid purge string '{text}'")
    for name, flag in _FLAGS:
        if name.startswith(unit):
            return int(digits[:9]) & UNITS | flag
    raise ValueError(f"Invalid purge unit '{text[len(digits) :]}', valid options are hours, days, or months")


def text_of(age: int | None) -> str:
    """Return an age as ``sacctmgr show config`` has it."""
    if age is None:
        return "NONE"
    unit = next((name for name, flag in (_FLAGS[1], _FLAGS[2], _FLAGS[0]) if age & flag), "")
    return f"{age & UNITS} {unit}".rstrip() + ("*" if age & ARCHIVE else "")
