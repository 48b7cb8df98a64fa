"""The numbers that kernels and their callers both name: ends of a search, flags of a record, kinds of a column.

Callers import them from here, and in a compiled caller each is a number in its place: they are final. A kernel imports
them as well, and its file of types (``.pxd``) makes them integers of C.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# how a search ends
NOTHING: Final = 0
START: Final = 1
ESTIMATE: Final = 2
PLANNED: Final = 3
ASKS: Final = 1  # flag of a record: the caller decides about it
UNSEEN: Final = 2  # a plan of it is to be seen
SEEN: Final = 4  # so is that there is none
BARRED: Final = 8  # it is passed over
ALONE: Final = 16  # what a plan of it would break is shown, looked at or not
REFUSED: Final = 32  # that a limit forbids its start has been said
FOREIGN: Final = 64  # beside ASKS: the kernel cannot tell where it goes
# in place of the number of its limits: there are none, or the caller tests them
UNLIMITED: Final = -1
UNKNOWN: Final = -2
# what a reservation does to jobs of a partition that are not in it: nothing, keep its nodes, or keep them all out
UNTOUCHED: Final = 0
TOUCHED: Final = 1
CLOSED: Final = 2
# kinds of columns of a trace: OPTIONAL are integers that may be null
INTEGER: Final = 0
OPTIONAL: Final = 1
TEXT: Final = 2
# digits of a number in a text; more might not fit into 2**53, up to which a float is exact
MOST_DIGITS: Final = 15
# what is in the log of a run on rows: kinds, of which there are fewer than LOG_KINDS
LOG_KINDS: Final = 8
LOG_SUBMIT: Final = 0
LOG_START: Final = 1
LOG_END: Final = 2
LOG_PLAN: Final = 3
LOG_REASON: Final = 4
# beside them: who starts a job, and the reason that one shows
LOG_NOTES: Final = 4
BY_POLICY: Final = 0
BY_MAIN: Final = 1
SAYS_NONE: Final = 0
SAYS_RESOURCES: Final = 1
SAYS_PRIORITY: Final = 2
# which policy `counts` decides as: EASY, in which jobs behind the head come in order or the shortest first; first come,
# first served; and shortest first
EASY: Final = 0
EASY_SHORTEST: Final = 1
FCFS: Final = 2
SHORTEST: Final = 3
NO_TIME: Final = 1 << 62  # later than all that happens
