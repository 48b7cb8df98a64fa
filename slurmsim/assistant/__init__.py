"""Questions about one cluster as tools of the Model Context Protocol (docs/twin.md): `Answers` alone, or as a server.

The package ``mcp`` is loaded by `server` only.
"""
