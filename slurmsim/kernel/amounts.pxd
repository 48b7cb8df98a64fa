# cython: language_level=3
# What C needs to know of amounts.py: types.
cimport cython
from libc.stdint cimport int64_t

@cython.locals(kind=int64_t, k=int64_t, amount=double)
cpdef object add(double[:, ::1] amounts, const int64_t[::1] rows, const double[:, ::1] rate, double times)

@cython.locals(k=int64_t)
cpdef object begin(double[:, ::1] rates, int64_t[::1] running, const int64_t[::1] rows, const double[:, ::1] rate)

@cython.locals(kind=int64_t, k=int64_t, row=int64_t)
cpdef object end(double[:, ::1] rates, int64_t[::1] running, const int64_t[::1] rows, const double[:, ::1] rate)
