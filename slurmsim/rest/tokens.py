"""JSON Web Tokens of a cluster: one algorithm, HS256, and one key, in a file that its owner alone can read."""

import jwt

from slurmsim.errors import ConfigError
from slurmsim.jwt_key import ALGORITHM, UnusableKey, key_of


def load_key(folder: str) -> bytes:
    """Return the key of the cluster in `folder`, made if there is none. Raises ConfigError for an unusable one."""
    try:
        return key_of(folder)
    except UnusableKey as unusable:
        raise ConfigError(str(unusable)) from None


def user_of(token: str, key: bytes, now: float) -> str | None:
    """Return the user of `token`; None for a token that is not valid (any more).

    Parameters
    ----------
    now
        The machine's time, seconds since the epoch: tokens run out by it.
    """
    try:
        claims = jwt.decode(
            token, key, algorithms=[ALGORITHM],
            options={"require": ["exp", "sun"], "verify_exp": False, "verify_iat": False},
        )  # fmt: skip
        expires = float(claims["exp"])
    except (jwt.InvalidTokenError, ValueError, TypeError, OverflowError, RecursionError):
        return None  # the head of a token is read before its signature is checked: it may be any JSON
    user = claims["sun"]
    return user if isinstance(user, str) and user and expires > now else None
