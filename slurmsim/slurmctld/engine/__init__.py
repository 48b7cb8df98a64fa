"""The live cluster without sockets and files: requests in, answers out, at the instants a clock says.

`live_cluster` is what requests, fields, accounting and processes see; `engine` extends it and knows all of them.
"""
