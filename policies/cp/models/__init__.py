"""The constraint models, one file each: variables and constraints, one method a constraint.

`base` has what all share: a start for each waiting job, and the objectives (`objectives`). Then `interval` (EURORA
2014, PCP'19), `boxes` (PCP'20), `pooled` (HCP'19) and `classes` (ours).
"""
