# cython: language_level=3
# What C needs to know of facades.py: types.
cimport cython

cdef class Facade:
    cdef object __weakref__
    cdef object _real

@cython.final
cdef class Shown:
    cdef readonly dict kinds
    cdef readonly set lasting
    cdef dict _known
    cdef Py_ssize_t _most
    cdef object _other

    cpdef object shown(self, object value)
    @cython.locals(rows=list, at=Py_ssize_t, size=Py_ssize_t)
    cpdef list each(self, object values, list last)
    cpdef object real(self, object value)
    cdef object _forget(self)

@cython.final
cdef class Reads:
    cdef str _name
    cdef Shown _by
    cdef list _last

@cython.final
cdef class Calls:
    cdef str _name
    cdef Shown _by
    cdef bint _rows

@cython.final
cdef class Call:
    cdef Facade _facade
    cdef Calls _member
    cdef Shown _by

@cython.final
cdef class Lives:
    cdef str _name
    cdef Shown _by

@cython.final
cdef class LiveRows:
    cdef Facade _facade
    cdef str _name
    cdef Shown _by

cdef object _of(Facade facade)
cdef object _put(Facade facade, object real)
cpdef object behind(object value)
cpdef object make(object kind, object real)
