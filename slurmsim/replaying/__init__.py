"""A log replayed: what is read beforehand, the run itself, its manifest, and how long it goes on.

`slurmsim.run` is the way in.
"""
