"""A step's tasks: their programs, their files and their processes."""
