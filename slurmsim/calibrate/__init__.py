"""A doctor for a site's own data: what is missing, how faithful a replay is, which setting would explain the rest."""

from slurmsim.calibrate.study import Diagnosis, calibrate

__all__ = ["Diagnosis", "calibrate"]
