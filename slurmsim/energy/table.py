"""The applications of PARM's Table IV, by name; c is given as 13 to 14 W for all of them."""

from slurmsim.energy.application import Power

TABLE: dict[str, Power] = {
    "LeanMD": Power(1.65, 7.74, 13.5, 30, 52, 0.40),
    "Wave2D": Power(3.00, 10.23, 13.5, 32, 40, 0.16),
    "Lulesh": Power(2.63, 8.36, 13.5, 32, 54, 0.30),
    "AMR": Power(2.45, 6.57, 13.5, 32, 54, 0.33),
    "Jacobi2D": Power(1.54, 10.13, 13.5, 32, 37, 0.08),
}
