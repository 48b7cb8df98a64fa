# cython: language_level=3
# What C needs to know of facades.py: types.
cimport cython

cdef class Facade:
    cdef object __weakref__
    cdef object _real

@cython.final
cdef class Reads:
    cdef str _name
    cdef dict _known
    cdef list _last
    cdef object _shown

cdef object _of(Facade facade)
cdef object _put(Facade facade, object real)
cpdef object behind(object value)
cpdef object make(object kind, object real)
@cython.locals(rows=list, at=Py_ssize_t, size=Py_ssize_t)
cpdef list each(object values, list last, dict known, object shown)
