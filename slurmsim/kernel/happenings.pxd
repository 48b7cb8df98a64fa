# cython: language_level=3
# What C needs to know of happenings.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport wider, zeros

cdef int64_t LOG_KINDS, LOG_NOTES

@cython.final
cdef class Log:
    cdef public int64_t n, room, n_runs, runs_room
    cdef public int64_t[::1] whats, rows, times, values, begins, sizes
    cdef void note(self, int64_t kind, int64_t note, int64_t row, int64_t time, int64_t value,
                   int64_t n_runs) except *
    cdef void add_run(self, int64_t begin, int64_t size) except *

@cython.final
cdef class Ends:
    cdef public int64_t n, started
    cdef public int64_t[::1] times, rows, serial
    @cython.locals(at=int64_t)
    cdef void push(self, int64_t time, int64_t row) noexcept
    @cython.locals(row=int64_t, at=int64_t, least=int64_t, child=int64_t)
    cdef int64_t pop(self) noexcept
    cdef bint _is_sooner(self, int64_t a, int64_t b) noexcept
    @cython.locals(time=int64_t, row=int64_t)
    cdef void _swap(self, int64_t a, int64_t b) noexcept

@cython.final
cdef class FreeNodes:
    cdef public Log log
    cdef public bint chooses
    cdef public int64_t free, n, room
    cdef public int64_t[::1] begins, sizes, first, many
    @cython.locals(first=int64_t, best=int64_t, longest=int64_t, i=int64_t, size=int64_t)
    cdef int64_t give(self, int64_t row, int64_t need) except -1
    cdef void begin(self, int64_t row) noexcept
    @cython.locals(i=int64_t, skipped=int64_t)
    cdef void give_run(self, int64_t row, int64_t begin, int64_t size) except *
    @cython.locals(k=int64_t)
    cdef void take_back(self, int64_t row) except *
    cdef void _take(self, int64_t i, int64_t size) noexcept
    @cython.locals(i=int64_t, after=bint)
    cdef void _put(self, int64_t begin, int64_t size) except *
    @cython.locals(low=int64_t, high=int64_t, middle=int64_t)
    cdef int64_t _place(self, int64_t node) noexcept
    @cython.locals(k=int64_t)
    cdef void _insert(self, int64_t i, int64_t begin, int64_t size) except *
    @cython.locals(k=int64_t)
    cdef void _delete(self, int64_t i) noexcept
    @cython.locals(i=int64_t, begin=int64_t, size=int64_t, k=int64_t)
    cdef void _order(self, int64_t first) noexcept

@cython.final
cdef class Happenings:
    cdef public int64_t n
    cdef public int64_t[::1] ids, submit, need, limit, run
    cdef public Log log
    cdef public Ends ends
    cdef public FreeNodes nodes
