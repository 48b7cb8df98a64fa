"""Texts with colons between their parts: the lines of a ``sacctmgr dump`` file."""


def parts_of(text: str, *, typed: bool = True) -> tuple[list[str], str]:
    """Return the parts between colons that stand in no quotes, quotes kept, and the quote that is not closed.

    With `typed` the colon before the type of a TRES separates nothing.

    >>> parts_of("'a:b':Fairshare=1")
    (["'a:b'", 'Fairshare=1'], '')
    >>> parts_of('"a:b')
    (['"a:b'], '"')
    >>> parts_of("q:MaxTRESPU=cpu=1,gres/gpu:a100=2:Priority=3")
    (['q', 'MaxTRESPU=cpu=1,gres/gpu:a100=2', 'Priority=3'], '')
    """
    parts, quote, begin = [], "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == ":" and not (typed and _ends_in_tres(text, begin, at)):
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]], quote


def _ends_in_tres(text: str, begin: int, end: int) -> bool:
    """Return True if the part from `begin` to `end` ends in the name of a TRES that may have a type, as in gres/gpu."""
    for at in range(end - 1, begin - 1, -1):
        if text[at] in "/=,:\"'":
            return text[at] == "/"
    return False
