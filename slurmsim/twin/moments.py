"""Times of a dump: seconds since the epoch, or local time of the cluster."""

from __future__ import annotations

from datetime import UTC, datetime

from slurmsim.errors import WorkloadError
from slurmsim.numerals import is_number

_NEVER = frozenset({"", "Unknown", "None", "N/A", "n/a", "(null)", "NONE", "INVALID"})
LATEST = 1 << 33  # year 2242


class Moments:
    """Reads times; `offset_s` is what local time is ahead of UTC, None: as on this machine."""

    def __init__(self, offset_s: int | None) -> None:
        self._offset_s = offset_s

    def read(self, text: str, file: str, line: int, field: str) -> int | None:
        """Return seconds since the epoch; None for never. Raises WorkloadError."""
        text = text.strip()
        if text in _NEVER:
            return None
        if is_number(text):
            found = int(text)
        else:
            try:
                found = self._local(text)
            except (ValueError, OverflowError, OSError):
                raise WorkloadError(f"{text!r} is no time", file=file, line=line, field=field,
                                    expected="seconds since the epoch or YYYY-MM-DDThh:mm:ss") from None  # fmt: skip
        if not 0 <= found < LATEST:
            raise WorkloadError(f"{text!r} is no time of our days", file=file, line=line, field=field)
        return found or None

    def _local(self, text: str) -> int:
        moment = datetime.fromisoformat(text)
        if self._offset_s is None or moment.tzinfo is not None:
            return int(moment.timestamp())
        return int(moment.replace(tzinfo=UTC).timestamp()) - self._offset_s
