# cython: language_level=3
# What C needs to know of queue.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport wider, zeros
from _slurmsim_limits cimport Limits

cdef int ALONE, BARRED, UNKNOWN

@cython.final
cdef class Queue:
    cdef public int64_t n, room, places, held
    cdef public int64_t[::1] order, shapes, lasting, flags, limited, shown
    cpdef void tell(self, int64_t slot, int64_t shape, int64_t limit, int64_t flags, int64_t limited,
                    int64_t shown) except *
    cpdef void replace(self, int64_t first, int64_t last, int64_t[::1] slots) except *
    @cython.locals(k=int64_t)
    cdef void insert(self, int64_t at, int64_t slot) except *
    @cython.locals(k=int64_t)
    cdef void drop(self, int64_t at) noexcept
    cdef void _more_places(self) except *
    cdef void _grow(self, int64_t slot) except *
    cpdef int64_t next_news(self, int64_t at, Limits rules) noexcept
