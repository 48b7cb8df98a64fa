"""Naive, independent schedulers for one resource, to test the real ones against."""

from .bins import BinJob, bins
from .conservative import conservative
from .easy import easy, easy_pyss
from .fcfs import fcfs
from .queueing import Job, rigid
from .whatever_fits import whatever_fits

__all__ = ["BinJob", "Job", "bins", "conservative", "easy", "easy_pyss", "fcfs", "rigid", "whatever_fits"]
