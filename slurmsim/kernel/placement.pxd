# cython: language_level=3
# What C needs to know of placement.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport wider, zeros

cdef int MIN_NODES_, TARGET_NODES_, MAX_NODES_, MIN_CPUS_, LEAST_CPUS_, NEED_CPUS_
cdef int WHOLE_TASKS_, MEM_CPU_, MEM_NODE_, MEM_ALL_, PER_TASK_, MOST_TASKS_, EXCLUSIVE_, N_DEMANDS_, DEMANDS_
cdef int64_t NEAR_

@cython.locals(i=int64_t, n=int64_t)
cpdef int64_t take(const int64_t[::1] nodes, const int64_t[::1] cpus, int64_t[::1] free_cpus, int64_t[::1] jobs) noexcept

@cython.locals(i=int64_t, n=int64_t, shared=int64_t)
cpdef int64_t give_back(const int64_t[::1] nodes, const int64_t[::1] cpus, int64_t[::1] free_cpus, int64_t[::1] jobs) noexcept

@cython.final
cdef class Nodes:
    cdef public int64_t n_kinds, gres_room, n_gres, count_room, n_counts
    cdef public int64_t[::1] now_gres, free_gres, gres_kind, gres_begins, counts, first_gres
    cdef public int64_t total, n_offering
    cdef public int64_t n, n_jobs, job_room, room, n_left, n_chosen
    cdef public bint exclusive
    cdef public int64_t rem_cpus, rem_max, rem_nodes, min_rem, room_nodes
    cdef public int64_t min_nodes, target_nodes, most_nodes, min_cpus, least, floor
    cdef public int64_t[::1] cpus, mem, grain, weight, now_cpus, now_mem, now_open, free_cpus, free_mem, open, inside, offered, now_jobs, jobs_there
    cdef public int64_t[::1] ends, whole, begins, touched, held, held_cpus, held_mem
    cdef public int64_t[::1] node, left, weigh, gone, taken, chosen, given
    cdef public int64_t[::1] set_first, set_end, set_cpus, set_count, set_weight
    cpdef void restart(self, int64_t[::1] free_cpus, int64_t[::1] free_mem, int64_t[::1] free_gres,
                       int64_t[::1] is_open, int64_t[::1] jobs) noexcept
    cpdef void renew(self, int64_t[::1] free_cpus, int64_t[::1] free_mem, int64_t[::1] free_gres,
                     int64_t[::1] is_open, int64_t[::1] jobs) noexcept
    cpdef void runs(self, int64_t end, bint whole, int64_t[::1] columns) except *
    @cython.locals(i=int64_t, k=int64_t, n=int64_t, first=int64_t, last=int64_t)
    cpdef void insert(self, int64_t at, int64_t end, bint whole, int64_t[::1] columns) except *
    cpdef void has(self, int64_t kind, int64_t[::1] counts) except *
    cdef void _more_gres(self, int64_t n) except *
    cdef void _release_gres(self, int64_t k) noexcept
    cdef int64_t _near(self, int64_t node, int64_t[::1] asked) noexcept
    cdef void _more_jobs(self) except *
    cdef void _more_room(self) except *
    cpdef bint fits(self, int64_t[::1] reach, int64_t[::1] asked) noexcept
    cpdef int64_t future(self, int64_t[::1] reach, int64_t[::1] asked, int64_t linear, bint exact) noexcept
    cdef void _present(self, int64_t[::1] reach, int64_t[::1] asked) noexcept
    cpdef bint place(self, int64_t[::1] reach, int64_t[::1] asked, int64_t[::1] free_cpus, int64_t[::1] free_mem) noexcept
    @cython.locals(i=int64_t)
    cpdef tuple shares(self)
    cdef int64_t _share(self, int64_t node, int64_t cpus, int64_t mem, int64_t[::1] asked) noexcept
    cdef int64_t _offer(self, int64_t node, int64_t[::1] asked) noexcept
    cpdef int64_t enough_after(self, int64_t[::1] reach, int64_t[::1] asked) noexcept
    cdef int64_t _at_ends(self, int64_t[::1] reach, int64_t[::1] asked, bint each) noexcept
    cdef int64_t _in_batches(self, int64_t[::1] reach, int64_t[::1] asked, int64_t linear) noexcept
    cdef void _enter(self, int64_t[::1] reach) noexcept
    cdef void _leave(self, int64_t[::1] reach) noexcept
    cdef bint _enough_offered(self, int64_t[::1] asked) noexcept
    cdef bint _touches(self, int64_t k) noexcept
    cdef int64_t _next(self, int64_t at) noexcept
    cdef int64_t _release(self, int64_t first, int64_t last, int64_t[::1] asked) noexcept
    cdef bint _tries(self, int64_t[::1] asked) noexcept
    cdef bint _attempt(self, int64_t[::1] reach, int64_t[::1] asked) noexcept
    cdef void _offers(self, int64_t[::1] reach, int64_t[::1] asked) noexcept
    cdef bint _evaluate(self, int64_t alive) noexcept
    cdef bint _choose(self) noexcept
    cdef int64_t _find_sets(self) noexcept
    cdef bint _enough(self, int64_t n) noexcept
    cdef bint _better(self, int64_t new, int64_t best) noexcept
    cdef bint _is_done(self) noexcept
    cdef bint _take_from(self, int64_t s) noexcept
    cdef void _take(self, int64_t p) noexcept
