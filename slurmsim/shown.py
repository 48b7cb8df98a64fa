"""Texts of strangers as our own commands and pages show them: what would steer a terminal is written as an escape.

A job's name may hold an escape sequence that rewrites the screen, or a sign that turns the text around. The escapes are
those of JSON, so a document stays the same document. Slurm's commands print what Slurm prints, and do not use this.
"""

import re
from collections.abc import Callable
from typing import Any

_STRANGE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""Control characters but tabulator and newline, invisible and turning signs, and bytes that are no UTF-8."""


def shown(text: str) -> str:
    """Return `text` with escapes for what is strange in it.

    >>> print(shown("a\\x1b[2Jb\\u202ec"))
    a\\u001b[2Jb\\u202ec
    """
    return text if text.isprintable() else _STRANGE.sub(_escape, text)


def cell(text: str) -> str:
    """Return the same within one line: tabulator and newline are escaped, too."""
    return shown(text).replace("\t", "\\t").replace("\n", "\\n")


def all_shown(value: Any) -> Any:
    """`value`, made of dict, list and plain values, with every text in it shown."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {all_shown(key): all_shown(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [all_shown(one) for one in value]
    return value


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


class Stream:
    """An output stream through which every text is shown.

    Attributes
    ----------
    before
        Called before each text is written; None does nothing.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.before: Callable[[], None] | None = None

    def write_styled(self, text: str) -> None:
        """Write text that is shown already and has the escape sequences of our own styles."""
        if self.before is not None:
            self.before()
        self._stream.write(text)

    def write(self, text: str) -> int:
        """Write it, shown; returns how many characters it had."""
        if self.before is not None:
            self.before()
        self._stream.write(shown(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
