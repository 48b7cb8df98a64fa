"""The first line of a CSV file, for messages about it."""

from collections.abc import Sequence


def columns_are(names: Sequence[str]) -> str:
    """Return what the columns of a file are, in one line of bounded length.

    >>> columns_are(["time", "watts"]), columns_are([]), columns_are(["a\\nb"])
    ('columns are time, watts', 'columns are missing', "columns are 'a\\\\nb'")
    """
    shown = ", ".join(names)[:200] or "missing"
    return f"columns are {shown if shown.isprintable() else repr(shown)}"
