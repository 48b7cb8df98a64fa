"""slurmrestd of a live cluster: HTTP in front of the socket protocol, in a process of its own.

`service` answers one request and knows no web framework; `server` puts it behind Starlette and uvicorn.
"""
