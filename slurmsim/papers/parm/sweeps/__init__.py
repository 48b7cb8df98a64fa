"""Sweeps of PARM's own parameters on the synthetic Intrepid."""
