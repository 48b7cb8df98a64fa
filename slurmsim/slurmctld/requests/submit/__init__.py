"""Submissions: what is refused, what a request becomes, and allocations without a script."""
