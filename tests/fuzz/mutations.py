"""Damaged input: bytes, words, numbers and lines of something good, changed at random. Same seed, same damage."""

from __future__ import annotations

import random
import re

_NUMBER = re.compile(rb"\d+")
_WORD = re.compile(rb"[^\s|=,;:]+")
ODD = (
    b"", b"0", b"-1", b"99999999999999999999", b"9" * 5000, b"1e999", b"nan", b"inf", b"0x10", b"\xc2\xb2", b"\xff\xfe",
    b"\0", b"1-99999999", b"[1-99999999]", b"n[1-99999999]", b"[", b"]", b"[[", b"%", b"%n%n", b"-", b"--", b"=", b"|",
    b",", b":", b";", b"'", b'"', b"\\", b"\r", b"\t", b"\n", b"\r\n", b"ALL", b"UNLIMITED", b"DEFAULT", b"4294967295",
    b"9223372036854775807", b"18446744073709551616", b"1-00:00:00", b"99999999-00:00:00", b"2026-13-45T99:99:99",
    b"9999-12-31T23:59:59", b"0001-01-01T00:00:00", b"gpu:99999999999", b"x" * 3000, b"Include x", b"\xe2\x80\xae",
)  # fmt: skip


def mutate(seed: bytes, rng: random.Random) -> bytes:
    """`seed` with one to four changes."""
    data = seed
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        data = rng.choice(_CHANGES)(data, rng)
    return data


def _flip(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return data
    found = bytearray(data)
    found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _byte(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes((rng.randrange(256),)) + data[at + rng.randrange(2) :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.randrange(1, 40) :] if rng.randrange(4) else data[:at]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at : at + rng.randrange(1, 60)] * rng.randrange(2, 5) + data[at:]


def _replaced(data: bytes, rng: random.Random, what: re.Pattern[bytes]) -> bytes:
    places = list(what.finditer(data))
    if not places:
        return _byte(data, rng)
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(ODD) + data[place.end() :]


def _number(data: bytes, rng: random.Random) -> bytes:
    return _replaced(data, rng, _NUMBER)


def _word(data: bytes, rng: random.Random) -> bytes:
    return _replaced(data, rng, _WORD)


def _swap(data: bytes, rng: random.Random) -> bytes:
    """A word in the place of another."""
    words = list(_WORD.finditer(data))
    if not words:
        return _byte(data, rng)
    one, other = rng.choice(words), rng.choice(words)
    return data[: one.start()] + other[0] + data[one.end() :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(ODD) + data[at:]


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    k = rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            del lines[k]
        case 1:
            lines.insert(rng.randrange(len(lines) + 1), lines[k])
        case _:
            other = rng.randrange(len(lines))
            lines[k], lines[other] = lines[other], lines[k]
    return b"\n".join(lines)


_CHANGES = (_flip, _byte, _cut, _repeat, _number, _number, _word, _swap, _insert, _lines)
