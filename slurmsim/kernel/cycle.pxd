# cython: language_level=3
# What C needs to know of cycle.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport wider, zeros
from _slurmsim_atoms cimport Atoms
from _slurmsim_limits cimport Limits
from _slurmsim_placement cimport Nodes
from _slurmsim_queue cimport Queue
from _slurmsim_running cimport Running

cdef int64_t NEVER
cdef int ASKS, BARRED, CLOSED, ESTIMATE, FOREIGN, NOTHING, PLANNED, REFUSED, SEEN, START, UNKNOWN, UNSEEN, UNTOUCHED
cdef int MOST_MOVES

cdef int64_t first_from(int64_t[::1] values, int64_t low, int64_t n, int64_t x) noexcept
cdef int64_t first_beyond(int64_t[::1] values, int64_t low, int64_t n, int64_t x) noexcept
cdef int64_t width_of(int64_t x) noexcept

@cython.final
cdef class Cycle:
    cdef public Atoms atoms
    cdef public int64_t up, idle, now, end, resolution, window, linear, too_late
    cdef public int64_t room, n, n_spare, n_running, more, n_after, n_after_sets, n_limits
    cdef public Nodes nodes
    cdef public list asked, known_runs
    cdef public int64_t[::1] reach_nodes
    cdef public int64_t shape, here, chosen, some, start, first, last, again
    cdef public int64_t tests, stop_at, segments, end_of_walk, most_planned, rejected, expected, serial, shapes_room
    cdef public int64_t gap, gap_base, tried, following, segment, stop, least, next, covered, allowed, n_reserved, asleep
    cdef public int kind
    cdef public Queue queue
    cdef public Limits rules
    cdef public bint ragged, put_behind, covers, searched, grouped, refusing, at_once, unsure
    cdef public int64_t[::1] times, sets, counts, gained, spare, ends, ids, held, holds, most, after, limits, free
    cdef public int64_t[::1] groups, more_flags, planned, made, periods, effects, reserved_ends
    cdef public int64_t[::1] shape_bases, shape_reaches, shape_needs, shape_mosts, shape_bounds, shape_bounded
    cdef public int64_t[::1] shape_parts
    cpdef void restart(self, object up, int64_t idle, int64_t now, int64_t begin, int64_t end, int64_t linear,
                       int64_t too_late, Nodes nodes, int64_t n_nodes, bint refusing) except *
    cpdef int64_t hold(self, Running running, int64_t n_idle) except? -1
    cpdef void renew(self, int64_t idle, int64_t asleep) noexcept
    cpdef void reserve(self, int64_t[::1] periods, int64_t[::1] effects, int64_t[::1] ends) noexcept
    cpdef void forget(self) except *
    cpdef void learn_set(self, object runs) except *
    cpdef void learn(self, int64_t part, int64_t base, int64_t reach, int64_t need, int64_t most, object asked) except *
    cdef int64_t _set_of(self, int64_t number) except -1
    cdef int64_t _soonest(self, int64_t shape, int64_t reach) except -1
    cdef int64_t _nodes_of(self, int64_t s) noexcept
    cdef int64_t _share(self) except? -2
    cdef void _pick(self, int64_t need, int64_t least) except *
    cdef int64_t _over_by(self, int64_t end) noexcept
    cdef void _more_shapes(self) except *
    cdef int64_t _cut(self, int64_t at) except -1
    cdef void _more_room(self) except *
    cpdef void take(self, int64_t begin, int64_t end, int64_t nodes) except *
    cdef void _merge(self, int64_t low, int64_t high) noexcept
    cdef void _free_over(self, int64_t begin, int64_t end, int64_t s) noexcept
    cpdef int64_t free_for(self, int64_t limit) except -1
    cpdef bint could_start(self, int64_t shape, int64_t limit) except *
    cdef void _releases(self) noexcept
    cdef int64_t _after(self, int64_t p) except -1
    cpdef void started(self, int64_t end, int64_t job_id, int64_t nodes) except *
    cdef void _more_running(self) except *
    cdef bint _too_few(self, int64_t within, int64_t need, int64_t time) except *
    cdef int64_t _next(self, int64_t at, int64_t reach) noexcept
    cdef int64_t _before(self, int64_t at, int64_t reach) noexcept
    cdef int64_t _first_with(self, int64_t need, int64_t mask) except? -1
    cdef int64_t _batch_with(self, int64_t p, int64_t reach) noexcept
    cpdef int find(self, int64_t shape, int64_t limit, int64_t begin, bint now_only, int64_t put_off) except -1
    cdef int64_t _find_from(self, int64_t at, int64_t base, int64_t reach, int64_t need, int64_t most,
                              int64_t limit, int64_t bound, bint now_only, int64_t put_off) except -1
    cpdef bint opening(self, int64_t base, int64_t at, int64_t limit, int64_t need, int64_t bound) except *
    cdef bint _moment(self, int64_t base, int64_t at, int64_t limit, int64_t need, int64_t bound) noexcept
    cdef void _meet(self, int64_t base) noexcept
    cdef bint _admitted(self, int64_t base, int64_t at, int64_t limit) except *
    cdef void _come_back(self, int64_t at) noexcept
    cpdef int64_t free_over(self, int64_t begin, int64_t end) noexcept
    cdef bint _try(self, int64_t at, int64_t following, int64_t reach, int64_t need, int64_t most,
                   int64_t limit, bint now_only, int64_t put_off) except *
    cdef bint _is_open(self, int64_t nodes) noexcept
    cpdef void watch(self, Queue queue, int64_t[::1] groups, int64_t[::1] more_flags, int64_t[::1] planned,
                     int64_t expected) noexcept
    cpdef int64_t walk(self, int64_t at, int64_t last) except -1
    cdef int _pass(self, int64_t at, int64_t slot, int64_t flags) except -1
    cdef bint _is_news(self, int64_t shape, int64_t lasting, int64_t flags) except *
    cdef bint _gets_a_plan(self, int64_t shape, int64_t limit) except *
    cdef int64_t _longest_gap(self, int64_t base) noexcept
    cpdef int64_t last_startable(self, int64_t at, int64_t last) except -1
