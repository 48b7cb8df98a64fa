# cython: language_level=3
# What C needs to know of running.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport wider, zeros

@cython.final
cdef class Running:
    cdef public int64_t n, room, runs_room, n_cuts, cuts_room
    cdef public int64_t[::1] ends, ids, sizes, first, begins, lengths, cuts, uses
    @cython.locals(i=int64_t, n_new=int64_t, runs_new=int64_t, run=int64_t)
    cpdef void replace(self, int64_t first, int64_t last, int64_t[::1] told) except *
    @cython.locals(k=int64_t, run=int64_t, i=int64_t)
    cdef void insert(self, int64_t end, int64_t number, int64_t size, int64_t[::1] begins, int64_t[::1] sizes,
                     int64_t at, int64_t n_runs) except *
    @cython.locals(k=int64_t, run=int64_t, last=int64_t, i=int64_t)
    cdef void delete(self, int64_t end, int64_t number) noexcept
    @cython.locals(low=int64_t, high=int64_t, middle=int64_t)
    cdef int64_t _place(self, int64_t end, int64_t number) noexcept
    @cython.locals(at=int64_t)
    cdef void _shift(self, int64_t last, int64_t shift, int64_t run_last, int64_t run_shift) noexcept
    cdef void _move(self, int64_t k, int64_t to) noexcept
    cdef void _make_room(self, int64_t n, int64_t runs) except *
    cdef int64_t _first_from(self, int64_t at) noexcept
    cdef void _cut(self, int64_t at) except *
    cdef void _uncut(self, int64_t at) noexcept
