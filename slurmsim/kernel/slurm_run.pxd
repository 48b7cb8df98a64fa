# cython: language_level=3
# What C needs to know of slurm_run.py: types.
cimport cython
from libc.stdint cimport int64_t

from _slurmsim_arrays cimport wider, zeros
from _slurmsim_atoms cimport Atoms
from _slurmsim_cycle cimport Cycle
from _slurmsim_happenings cimport Ends, FreeNodes, Happenings, Log
from _slurmsim_queue cimport Queue
from _slurmsim_running cimport Running

cdef int64_t BY_MAIN, BY_POLICY, LOG_END, LOG_PLAN, LOG_REASON, LOG_START, LOG_SUBMIT, NO_TIME, PLANNED
cdef int64_t SAYS_NONE, SAYS_PRIORITY, SAYS_RESOURCES, SEEN, START, UNLIMITED, UNSEEN

cdef int64_t STARTED
cdef double MOST

cdef int64_t phase(int64_t time, int64_t period) noexcept

@cython.final
cdef class Rounds:
    cdef public int64_t start, interval, delay, depth, since, last
    cdef public bint dirty, requested, at_once
    cdef void request(self, int64_t now) noexcept
    @cython.locals(last=int64_t, due=int64_t, full=int64_t)
    cdef void catch_up(self, int64_t now, bint idle) noexcept
    cdef bint is_full(self, int64_t now) noexcept
    @cython.locals(loop=bint)
    cdef bint is_due(self, int64_t now) noexcept
    @cython.locals(at=int64_t)
    cdef int64_t next_time(self, int64_t now) noexcept

@cython.final
cdef class Cadence:
    cdef public int64_t start, interval, full_pass, last, changed_at
    cdef public bint changed, started, cut, left_waiting, left_idle
    cdef void change(self, int64_t now) noexcept
    cdef void begin(self, int64_t now) noexcept
    @cython.locals(soonest=int64_t)
    cdef int64_t next_time(self, int64_t now, int64_t n_waiting, int64_t limit) noexcept
    cdef bint _is_steady(self) noexcept
    @cython.locals(elapsed=int64_t, first=int64_t)
    cdef int64_t _after_quiet(self, int64_t now) noexcept
    cdef int64_t _next_quiet(self, int64_t soonest) noexcept

@cython.final
cdef class Priorities:
    cdef public int64_t period, next_at
    cdef public double w_age, max_age
    cdef public double[::1] asked, tried
    @cython.locals(at=int64_t)
    cdef int64_t missed(self, int64_t now) noexcept
    cdef bint is_due(self, int64_t now) noexcept
    @cython.locals(value=double, age=double)
    cdef int64_t of(self, int64_t shape, bint was_tried, int64_t waited) noexcept

@cython.final
cdef class SlurmRun:
    cdef public Log log
    cdef public Ends ends
    cdef public FreeNodes nodes
    cdef public Cycle cycle
    cdef public Running who
    cdef public Rounds rounds
    cdef public Cadence cadence
    cdef public Priorities priorities
    cdef public Queue queue
    cdef public list up
    cdef public int64_t linear, too_late, n, n_nodes, main_passes, passes, done, arrived, wake
    cdef public int64_t room, n_spare, n_slots, n_other, n_untried
    cdef public int64_t[::1] ids, submit, need, limit, run, shapes, clean, rows, says, plans, spare, nothing
    cdef public int64_t[::1] ranks, tried, priority
    @cython.locals(at=int64_t)
    cpdef int64_t next_time(self) noexcept
    @cython.locals(missed=int64_t)
    cpdef void turn(self, int64_t now) except *
    cdef int64_t _next_cycle(self, int64_t now) noexcept
    @cython.locals(row=int64_t, slot=int64_t)
    cdef void _arrive(self, int64_t now) except *
    cdef int64_t _new_slot(self) except -1
    @cython.locals(low=int64_t, high=int64_t, middle=int64_t)
    cdef int64_t _place(self, int64_t rank) noexcept
    @cython.locals(end=int64_t, row=int64_t)
    cdef void _start(self, int64_t slot, int64_t now, int64_t by, int64_t ahead, int64_t n_runs) except *
    @cython.locals(row=int64_t)
    cdef void _end(self, int64_t now) except *
    cdef void _say(self, int64_t slot, int64_t reason, int64_t now) except *
    @cython.locals(n=int64_t, started=int64_t, slot=int64_t, row=int64_t)
    cdef void _pass(self, int64_t now, bint full) except *
    @cython.locals(at=int64_t)
    cdef void _say_behind(self, int64_t n, int64_t now) except *
    @cython.locals(changed=bint, at=int64_t, slot=int64_t, row=int64_t, rank=int64_t)
    cdef void _rank_anew(self, int64_t now) except *
    @cython.locals(order=int64_t[::1], at=int64_t, slot=int64_t, k=int64_t)
    cdef void _put_in_order(self) noexcept
    cdef bint _is_before(self, int64_t a, int64_t b) noexcept
    @cython.locals(at=int64_t)
    cdef void _all_tried(self) noexcept
    @cython.locals(at=int64_t)
    cdef int64_t _last_fitting(self) noexcept
    @cython.locals(last=int64_t, cycle=Cycle, who=Running, queue=Queue, begin=int64_t, end=int64_t, idle=int64_t,
                   at=int64_t, n_started=int64_t, slot=int64_t)
    cdef void _walk(self, int64_t now) except *
    @cython.locals(cycle=Cycle, atoms=Atoms, row=int64_t, need=int64_t, chosen=int64_t, n_runs=int64_t, i=int64_t,
                   until=int64_t)
    cdef void _backfill(self, int64_t slot, int64_t now, int64_t begin, int64_t ahead) except *
    @cython.locals(cycle=Cycle, atoms=Atoms, n_runs=int64_t, i=int64_t)
    cdef void _plan(self, int64_t slot, int64_t now) except *
    @cython.locals(order=int64_t[::1], n=int64_t, at=int64_t)
    cdef void _leave_started(self) noexcept
