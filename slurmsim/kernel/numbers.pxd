# cython: language_level=3
# What C needs to know of numbers.py: types.
cimport cython
from libc.stdint cimport int64_t, uint8_t

cdef int MOST_DIGITS

@cython.locals(n_columns=int64_t, row=int64_t, column=int64_t, value=int64_t, digits=int64_t, negative=bint,
               line=int64_t, at=int64_t, sign=int)
cpdef int64_t columns_of(const uint8_t[::1] text, int64_t first_line, int64_t begin, int64_t[:, ::1] values,
                         int64_t[::1] lines) except? -2
