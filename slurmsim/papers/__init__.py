"""Published systems, rebuilt: one package a system.

Inside, equal names mean equal things: `data` reads or makes the inputs, `cells` are the single runs and what is
measured of each, `run` has the experiment, `tables` compares it with the paper, `view` prints and writes it. All of
them use the public interface of slurmsim alone (docs/python-api.md), as a package of yours could.
"""
