"""What a process that makes many runs keeps: modules and caches, which the search for dead cycles leaves out."""

import gc

_freezing = False


def freeze() -> None:
    """Collect what is dead, and leave all that is alive now out of later collections."""
    global _freezing
    gc.collect()
    gc.freeze()
    _freezing = True


def freezing() -> bool:
    """Return True if `freeze` was called; `gc.get_freeze_count` would go through all that is frozen to tell."""
    return _freezing
