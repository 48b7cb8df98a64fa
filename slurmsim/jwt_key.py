"""The key with which a cluster signs tokens, and signing: HS256, of the standard library alone, for scontrol."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ALGORITHM = "HS256"
KEY_FILE = "jwt_hs256.key"  # in the cluster's folder, mode 0600
_KEY_BYTES = 32
_MOST_BYTES = 4096


class UnusableKey(Exception):
    """The file of the key is there, and cannot be used; the text says why and what to do."""


def key_of(folder: str) -> bytes:
    """Return the key, made if there is none.

    It is written aside, to the disk, and linked: two that start at once, or one that is killed, leave a whole key or
    none. Raises UnusableKey, and OSError where the folder is another user's.
    """
    path = os.path.join(folder, KEY_FILE)
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    aside = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    place = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(place, "wb") as file:
            file.write(os.urandom(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another start was first: its key is the cluster's
            os.link(aside, path)
    finally:
        os.unlink(aside)
    return _read(path)


def _read(path: str) -> bytes:
    """Return the key in a file that its owner alone can read. Raises UnusableKey and OSError."""
    place = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(place)
        if not stat.S_ISREG(about.st_mode):
            raise UnusableKey(f"{path}: no file (expected a key of {_KEY_BYTES} bytes or more)")
        if stat.S_IMODE(about.st_mode) & 0o077:
            raise UnusableKey(f"{path}: others can read the key of tokens (expected mode 0600)")
        if not _KEY_BYTES <= about.st_size <= _MOST_BYTES:
            raise UnusableKey(f"{path}: {about.st_size} bytes are no key of tokens (expected {_KEY_BYTES} or more; "
                              "without the file a new one is made)")  # fmt: skip
        return os.read(place, _MOST_BYTES)
    finally:
        os.close(place)


def sign(claims: dict[str, Any], key: bytes) -> str:
    import base64
    import hashlib
    import hmac
    import json

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = {"alg": ALGORITHM, "typ": "JWT"}
    text = ".".join(part(json.dumps(one, separators=(",", ":")).encode()) for one in (head, claims))
    return f"{text}.{part(hmac.new(key, text.encode(), hashlib.sha256).digest())}"
