"""The daemon: one simulation network, paced by a clock, that answers the commands.

`server` (sockets, clock, loop) asks `engine` (the live cluster, without sockets and files), which carries out
`requests`, tells `fields`, runs `processes` and keeps the `database`; `history` is its past on disk, `snapshot` its
state as plain data.
"""
