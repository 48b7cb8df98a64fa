"""What to type for a package that is missing: our extras are installed from a checkout, since no index has slurmsim."""


def how_to_install(extra: str) -> str:
    """Return the command that installs `extra`, one of those in pyproject.toml, and where to type it."""
    return f"pip install '.[{extra}]' in a checkout of slurmsim"
