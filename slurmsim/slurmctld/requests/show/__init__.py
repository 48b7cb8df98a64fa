"""Requests that only look, and what is summed up for them."""
