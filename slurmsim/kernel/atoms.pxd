# cython: language_level=3
# What C needs to know of atoms.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport wider, zeros

cdef int64_t BITS, CHUNK, CHUNKS, SIZE, ONE

@cython.final
cdef class Atoms:
    cdef public int64_t n, words, used, room, n_sets
    cdef public int64_t[::1] begins, sizes, order, word, bit, table, bits, run_begins, run_sizes, run_at
    cdef void _make_room(self) except *
    cpdef void restart(self, int64_t[::1] cuts, int64_t n) except *
    cdef void _number(self) noexcept
    cdef void _weigh(self, int64_t chunk) noexcept
    cdef void _grow(self) except *
    cdef void _use_more(self) except *
    cpdef int64_t new_set(self) except -1
    cpdef void clear(self, int64_t s) noexcept
    cpdef void copy(self, int64_t s, int64_t of) noexcept
    cpdef void keep(self, int64_t s, int64_t of) noexcept
    cpdef void add(self, int64_t s, int64_t of) noexcept
    cpdef void remove(self, int64_t s, int64_t of) noexcept
    cpdef void both(self, int64_t s, int64_t a, int64_t b) noexcept
    cpdef bint meets(self, int64_t a, int64_t b) noexcept
    cpdef bint within(self, int64_t a, int64_t b) noexcept
    cpdef bint gains(self, int64_t base, int64_t s, int64_t before) noexcept
    cpdef bint equal(self, int64_t a, int64_t b) noexcept
    cdef int64_t _nodes_of(self, int64_t word, int64_t at) noexcept
    cpdef int64_t count(self, int64_t s) noexcept
    cpdef int64_t common(self, int64_t a, int64_t b) noexcept
    cdef void _put(self, int64_t s, int64_t a) noexcept
    cdef int64_t _place_of(self, int64_t node) noexcept
    cpdef void split(self, int64_t place, int64_t size) except *
    cpdef void put_run(self, int64_t s, int64_t begin, int64_t size) except *
    cdef void _put_from(self, int64_t s, int64_t place, int64_t size) except *
    cpdef int64_t make(self, object runs) except -1
    cpdef int64_t full(self) except -1
    cdef int64_t find_runs(self, int64_t s) noexcept
    cpdef void pick(self, int64_t s, int64_t of, int64_t need, int64_t least) except *
