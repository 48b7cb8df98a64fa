"""Power and time of applications: the PASS model of PARM (docs/systems/parm.md)."""

from slurmsim.energy.application import BASE_W, Application, Fit, Power
from slurmsim.energy.profile import Profile
from slurmsim.energy.table import TABLE

__all__ = ["BASE_W", "TABLE", "Application", "Fit", "Power", "Profile"]
