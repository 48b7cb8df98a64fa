"""A run looks for dead cycles seldom; what one run left is gone when the next begins."""

from __future__ import annotations

import gc
import weakref

from slurmsim import long_lived
from slurmsim.replaying.replay import GC_THRESHOLD, few_collections


class Link:
    """Refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.me = self


def test_what_a_run_left_goes_with_the_next() -> None:
    before = gc.get_threshold()
    with few_collections():
        left = weakref.ref(Link())
        assert gc.get_threshold()[0] == GC_THRESHOLD
    assert left() is not None and gc.get_threshold() == before
    with few_collections():
        assert left() is None


def test_what_a_process_keeps_stays_left_out() -> None:
    long_lived.freeze()
    kept = gc.get_freeze_count()
    with few_collections():
        assert gc.get_freeze_count() > kept // 2  # some of it dies meanwhile, as its last user does
    assert gc.get_freeze_count() > kept // 2 > 5_000
