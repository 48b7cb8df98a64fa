"""Tools for experiments of your own: many runs kept in files, claims with verdicts, results written.

`slurmsim.papers` is made with them. `simulation` has the parts of a run for an experiment that looks inside one.
"""
