"""Job states as the commands print and read them: the first flag set is shown, else the base state.

Mirrors ``job_state_string`` and ``job_state_num`` (22.05; the later rows from 24.11 and 26.05).
"""

from __future__ import annotations

from slurmsim import releases
from slurmsim.release_changes import since
from slurmsim.states import COMPACT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


BASES: dict[str, str] = COMPACT  # compact code of every base state, in Slurm's order

FLAGS: dict[str, str] = {
    "COMPLETING": "CG", "STAGE_OUT": "SO", "CONFIGURING": "CF", "RESIZING": "RS", "REQUEUED": "RQ",
    "REQUEUE_FED": "RF", "REQUEUE_HOLD": "RH", "SPECIAL_EXIT": "SE", "STOPPED": "ST", "REVOKED": "RV",
    "RESV_DEL_HOLD": "RD", "SIGNALING": "SI", "EXPEDITING": "EX",
}  # fmt: skip
"""Compact code of every flag that is shown, in the order in which they are tested."""

_SPELLED = {"REQUEUE": "REQUEUED"}  # the struct's word for the flag, and the one shown

# in the order of the message about a bad state: (name, since, until)
_ACCEPTED = [
    *((name, "", "") for name in BASES),
    ("COMPLETING", "", ""), ("CONFIGURING", "", ""), ("EXPEDITING", "26.05", ""), ("RESIZING", "", ""),
    ("RESV_DEL_HOLD", "", ""), ("REQUEUED", "", ""), ("REQUEUE_FED", "", ""), ("REQUEUE_HOLD", "", ""),
    ("REVOKED", "", ""), ("SIGNALING", "", ""), ("SPECIAL_EXIT", "", ""), ("STAGE_OUT", "", ""), ("STOPPED", "", ""),
]  # fmt: skip


def shown_flag(flags: Sequence[str] | None) -> str:
    """Return the flag that hides the base state, or ""."""
    if not flags:
        return ""
    present = {_SPELLED.get(flag, flag) for flag in flags}
    return next((flag for flag in FLAGS if flag in present), "")


def state_text(state: str, flags: Sequence[str] | None) -> str:
    """Return the long form (squeue %T).

    >>> state_text("PENDING", ["REQUEUE", "COMPLETING"]), state_text("RUNNING", [])
    ('COMPLETING', 'RUNNING')
    """
    return (shown_flag(flags) if flags else "") or state


def state_code(state: str, flags: Sequence[str] | None) -> str:
    """Return the compact form (squeue %t)."""
    flag = shown_flag(flags) if flags else ""
    return FLAGS[flag] if flag else BASES.get(state, "?")


def accepted(release: str) -> list[str]:
    """State names a filter takes, in the order the message about a bad one lists them; lower case from 24.11."""
    names = releases.listed(_ACCEPTED, release)
    return [name.lower() for name in names] if since(release, "state_names_in_lower_case") else names


def parse_state(word: str, release: str) -> str | None:
    """Return the state a word of a filter means, long or compact in any case; None if none."""
    upper = word.upper()
    for name in releases.listed(_ACCEPTED, release):
        if upper in (name, BASES.get(name) or FLAGS[name]):
            return name
    return None
