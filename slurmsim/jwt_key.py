"""The key with which a cluster signs tokens, and signing: HS256, of the standard library alone, for scontrol."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ALGORITHM = "HS256"
KEY_FILE = "jwt_hs256.key"
"""In the cluster's folder, mode 0600."""
_KEY_BYTES = 32


def key_of(folder: str) -> bytes:
    """The key, made if there is none. Raises OSError where the folder is somebody else's."""
    path = os.path.join(folder, KEY_FILE)
    try:
        place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    else:
        with os.fdopen(place, "wb") as file:
            file.write(os.urandom(_KEY_BYTES))
    with open(path, "rb") as file:
        return file.read()


def sign(claims: dict[str, Any], key: bytes) -> str:
    """A token."""
    import base64
    import hashlib
    import hmac
    import json

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = {"alg": ALGORITHM, "typ": "JWT"}
    text = ".".join(part(json.dumps(one, separators=(",", ":")).encode()) for one in (head, claims))
    return f"{text}.{part(hmac.new(key, text.encode(), hashlib.sha256).digest())}"
