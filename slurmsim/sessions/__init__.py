"""Sessions of commands: recorded in a file, asked again of a fresh cluster, and compared."""
