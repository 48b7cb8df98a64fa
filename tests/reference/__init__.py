"""Naive, independent schedulers for one resource, to test the real ones against."""

from .conservative import conservative
from .easy import easy, easy_pyss
from .fcfs import fcfs
from .queueing import Job, rigid
from .whatever_fits import whatever_fits

__all__ = ["Job", "conservative", "easy", "easy_pyss", "fcfs", "rigid", "whatever_fits"]
