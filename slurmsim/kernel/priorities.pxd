# cython: language_level=3
# What C needs to know of priorities.py: types.
cimport cython
from libc.stdint cimport int64_t

cdef int64_t FEW
cdef double MOST, INFINITE

@cython.locals(low=int64_t, high=int64_t, i=int64_t, k=int64_t, one=int64_t, width=int64_t)
cdef void put_in_order(const double[::1] keys, int64_t[::1] order, int64_t[::1] spare,
                       int64_t begin, int64_t end) noexcept

@cython.locals(i=int64_t, j=int64_t, k=int64_t)
cdef void _merge(const double[::1] keys, int64_t[::1] order, int64_t[::1] spare,
                 int64_t low, int64_t middle, int64_t high) noexcept

@cython.locals(i=int64_t)
cdef void _arrange(list things, const double[::1] keys, int64_t[::1] order, int64_t[::1] spare, int64_t n) except *

@cython.locals(row=int64_t, above=double, has=double)
cpdef object compare(const double[::1] used, const int64_t[::1] parent, const double[::1] part, double[::1] effective,
                     double[::1] level_fs)

@cython.locals(i=int64_t, group=int64_t, begin=int64_t, end=int64_t, at=int64_t, row=int64_t, before=int64_t,
               same=int64_t)
cdef void _rank(const double[::1] level_fs, const int64_t[::1] rows, const int64_t[::1] starts,
                const int64_t[::1] above, const int64_t[::1] users, const unsigned char[::1] is_user, int64_t count,
                double[::1] factors, double[::1] keys, int64_t[::1] order, int64_t[::1] spare, int64_t[::1] first,
                int64_t[::1] tied, int64_t[::1] place, int64_t[::1] again) noexcept

@cython.locals(slot=int64_t, n_factors=int64_t, total=double, waited=double, age=double, size=double, part=double,
               qos=double, tres=double, nice=double, value=double, had=double)
cpdef object changes(list records, const double[:, ::1] weighted, const int64_t[::1] since,
                     const int64_t[::1] branch, int64_t[::1] priority, const unsigned char[::1] fixed,
                     const unsigned char[::1] several, const double[::1] factors, int64_t now, double w_age,
                     double max_age, double w_fairshare, bint increase_only)
