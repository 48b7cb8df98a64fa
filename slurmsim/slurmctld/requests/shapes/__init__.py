"""Shapes of arguments: the door at which a malformed request is turned away."""
