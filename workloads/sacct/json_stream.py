"""The elements of one list inside a large JSON document, one at a time: memory holds one element, not the file."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slurmsim.errors import WorkloadError
from slurmsim_workloads.files import read_blocks

_BLANKS = " \t\n\r"
_BLOCK = 1 << 20
MOST_CHARACTERS = 1 << 26  # characters of one element, or of one value beside the list


class JsonStream:
    """A JSON document read once, from its beginning.

    Parameters
    ----------
    path
        Plain or gzip, UTF-8.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._blocks = read_blocks(path, _BLOCK)
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._scan = json.JSONDecoder(strict=False).raw_decode
        self._text, self._at, self._line, self._ended = "", 0, 1, False

    def elements(self, key: str) -> Iterator[tuple[int, Any]]:
        """Each element of the list that the outermost object has under `key`, and the line it begins on.

        Raises
        ------
        WorkloadError
            The text is no JSON, its outermost value is no object, it has no such list, ends too early, nests too
            deeply, or has an element beyond `MOST_CHARACTERS`.
        """
        self._expect("{")
        found = False
        while self._peek() != "}":
            name = self._value()
            self._expect(":")
            if name == key and self._peek() == "[":
                found = True
                yield from self._list()
            else:
                self._value()
            if not self._comma("}"):
                break
        self._expect("}")
        if not found:
            raise self._error(f"has no list {key!r}")

    def items(self) -> Iterator[tuple[int, Any]]:
        """Each element of a document that is a list, and the line it begins on. Raises WorkloadError as `elements`."""
        yield from self._list()

    def _list(self) -> Iterator[tuple[int, Any]]:
        self._expect("[")
        while self._peek() != "]":
            line = self._here()
            yield line, self._value()
            if not self._comma("]"):
                break
        self._expect("]")

    def _comma(self, end: str) -> bool:
        if self._peek() == end:
            return False
        self._expect(",")
        return True

    def _peek(self) -> str:
        """Return the next character that is no blank; empty at the end."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in _BLANKS:
                at += 1
            self._at = at
            if at < len(text):
                return text[at]
            if self._ended:
                return ""
            self._more()

    def _expect(self, character: str) -> None:
        if (found := self._peek()) != character:
            what = repr(found) if found else "the end of the file"
            raise self._error(f"{what} where {character!r} should be")
        self._at += 1

    def _value(self) -> Any:
        """Return the next value. Text that ends inside it is read on, twice as much each time."""
        self._peek()
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise self._error(error.msg) from None
            except (ValueError, RecursionError, MemoryError) as error:  # 5,000 digits; 100,000 brackets
                deep = isinstance(error, RecursionError)
                raise self._error("nests too deeply" if deep else "a number has too many digits") from None
            else:
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            if len(self._text) - self._at > MOST_CHARACTERS:
                raise self._error(f"one value has more than {MOST_CHARACTERS:,} characters")
            self._more(len(self._text) - self._at)

    def _more(self, least: int = 0) -> None:
        """Read at least `least` more characters, or to the end."""
        self._here()
        parts = [self._text[self._at :]]
        have = 0
        while not self._ended and have <= least:
            block = next(self._blocks, b"")
            self._ended = not block
            parts.append(self._decode.decode(block, final=self._ended))
            have += len(parts[-1])
        self._text, self._at = "".join(parts), 0
        self._counted = 0

    _counted = 0

    def _here(self) -> int:
        """Return the line of the next character."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _error(self, message: str) -> WorkloadError:
        return WorkloadError(message, file=str(self.path), line=self._here(), expected="the output of sacct --json")
