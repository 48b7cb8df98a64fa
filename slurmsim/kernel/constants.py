"""The numbers that kernels and their callers both name: ends of a search, flags of a record, kinds of a column.

Callers import them from here. A kernel does so as well, and its file of types (``.pxd``) makes them integers of C.
"""

from __future__ import annotations

NOTHING, START, ESTIMATE, PLANNED = 0, 1, 2, 3  # how a search ends
ASKS = 1  # flag of a record: the caller decides about it
UNSEEN = 2  # a plan of it is to be seen
SEEN = 4  # so is that there is none
BARRED = 8  # it is passed over
ALONE = 16  # what a plan of it would break is shown, looked at or not
REFUSED = 32  # that a limit forbids its start has been said
FOREIGN = 64  # beside ASKS: the kernel cannot tell where it goes
UNLIMITED, UNKNOWN = -1, -2  # in place of the number of its limits: there are none, or the caller tests them
# what a reservation does to jobs of a partition that are not in it: nothing, keep its nodes, or keep them all out
UNTOUCHED, TOUCHED, CLOSED = 0, 1, 2
INTEGER, OPTIONAL, TEXT = 0, 1, 2  # kinds of columns of a trace: OPTIONAL are integers that may be null
