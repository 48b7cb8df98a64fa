"""Batch scripts: what is read from them, and the environment they are submitted with."""
