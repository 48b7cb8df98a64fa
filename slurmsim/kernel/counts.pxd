# cython: language_level=3
# What C needs to know of counts.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport zeros
from _slurmsim_happenings cimport Ends, FreeNodes, Happenings, Log

cdef int64_t BY_POLICY, EASY_SHORTEST, FCFS, SHORTEST, LOG_END, LOG_PLAN, LOG_START, LOG_SUBMIT, NO_TIME, SAYS_NONE

@cython.final
cdef class Counts:
    cdef public Log log
    cdef public Ends ends
    cdef public FreeNodes nodes
    cdef public int64_t policy, n, free, passes, done, arrived, n_queue, n_new, n_running
    cdef public int64_t head, shadow, extra
    cdef public bint known, fresh
    cdef public int64_t[::1] ids, submit, need, limit, run, queue, new, fitting
    cdef public int64_t[::1] run_end, run_row, planned
    @cython.locals(at=int64_t)
    cpdef int64_t next_time(self) noexcept
    @cython.locals(row=int64_t)
    cpdef void turn(self, int64_t now) except *
    @cython.locals(row=int64_t)
    cdef void _pass(self, int64_t now) except *
    @cython.locals(n=int64_t, k=int64_t, row=int64_t, need=int64_t)
    cdef void _backfill(self, int64_t now, bint only_new) except *
    @cython.locals(best=int64_t, k=int64_t)
    cdef void _start_shortest(self, int64_t now) except *
    @cython.locals(i=int64_t, row=int64_t, k=int64_t)
    cdef void _sort_fitting(self, int64_t n) noexcept
    @cython.locals(free=int64_t, need=int64_t, at=int64_t, k=int64_t)
    cdef void _find_shadow(self) noexcept
    @cython.locals(position=int64_t, end=int64_t, at=int64_t, k=int64_t)
    cdef void _start(self, int64_t now, int64_t row) except *
    @cython.locals(row=int64_t, k=int64_t)
    cdef void _end(self, int64_t now) except *
    @cython.locals(low=int64_t, high=int64_t, number=int64_t, middle=int64_t, other=int64_t)
    cdef int64_t _place(self, int64_t end, int64_t row) noexcept
