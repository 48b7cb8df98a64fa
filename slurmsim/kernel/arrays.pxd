# cython: language_level=3
# What C needs to know of arrays.py: types.
cimport cython
from libc.stdint cimport int64_t

cpdef object zeros(int64_t n)
@cython.locals(made=object, more=int64_t[::1], i=int64_t)
cpdef object wider(int64_t[::1] values, int64_t room)
@cython.locals(n=int64_t, n_before=int64_t, least=int64_t, first=int64_t, rest=int64_t)
cpdef tuple alike(list before, list now)
