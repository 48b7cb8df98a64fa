"""A twin: a live cluster made of what a real one's own commands print (docs/twin.md).

`collect` asks the real cluster, `dump` reads the answers, `conf`, `accounts` and `requests` turn them into what our
engine is made of and asked for, `build` makes it, and `folder` writes it down as an ordinary cluster's folder.
"""
