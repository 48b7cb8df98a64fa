# cython: language_level=3
# What C needs to know of picking.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport wider, zeros

cdef int FULL, MANY

@cython.final
cdef class Picker:
    cdef public int64_t n, room
    cdef public int64_t[::1] begins, sizes
    @cython.locals(i=int64_t, begins=int64_t[::1], sizes=int64_t[::1])
    cdef void _make_room(self) except *
    cdef void _add(self, int64_t begin, int64_t size) except *
    @cython.locals(raw='const unsigned char*', n=int64_t, i=int64_t, k=int, begin=int64_t, byte=int)
    cpdef void find(self, bytes members) except *
    @cython.locals(i=int64_t)
    cpdef list runs(self, bytes members)
    @cython.locals(taken=list, best=int64_t, longest=int64_t, i=int64_t, size=int64_t)
    cpdef list pick(self, bytes members, int64_t need, int64_t least)
