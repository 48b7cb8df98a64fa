# cython: language_level=3
# What C needs to know of rows.py: types.
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef int OPTIONAL, TEXT

cdef int32_t number_of(object text, dict numbers) except -1

@cython.locals(n_columns=int64_t, row_at=int64_t, column=int64_t, row=tuple, last=list,
               integer_at=int64_t, optional_at=int64_t, text_at=int64_t)
cpdef object split(list rows, int64_t begin, int64_t[::1] kinds, int64_t[:, ::1] integers, uint8_t[:, ::1] valid,
                   int32_t[:, ::1] codes, list numbers)
