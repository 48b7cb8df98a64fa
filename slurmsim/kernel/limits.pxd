# cython: language_level=3
# What C needs to know of limits.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport wider, zeros

cdef int64_t CELLS

@cython.final
cdef class Limits:
    cdef public int64_t n, room, cells
    cdef public int64_t[::1] first, before_, early_, asked_, rows, values
    cpdef void forget(self) noexcept
    cpdef void know(self, int64_t[::1] values) noexcept
    cpdef void learn(self, int64_t[::1] rows, int64_t n_before, int64_t n_early, int64_t n_asked) except *
    cdef void _more_numbers(self) except *
    cdef void _more_rows(self, int64_t least) except *
    cdef int64_t _broken(self, int64_t begin, int64_t end) noexcept
    cpdef int64_t before(self, int64_t number) noexcept
    cpdef int64_t too_many_nodes(self, int64_t number) noexcept
    cpdef int64_t planned(self, int64_t number) noexcept
    cpdef int64_t verdict(self, int64_t number, bint planned) noexcept
    cpdef bint bars(self, int64_t number) noexcept
