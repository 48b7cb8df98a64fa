"""Texts with colons between their parts: the lines of a ``sacctmgr dump`` file."""


def parts_of(text: str) -> tuple[list[str], str]:
    """Return the parts between colons that stand in no quotes, quotes kept, and the quote that is not closed.

    >>> parts_of("'a:b':Fairshare=1")
    (["'a:b'", 'Fairshare=1'], '')
    >>> parts_of('"a:b')
    (['"a:b'], '"')
    """
    parts, quote, begin = [], "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == ":":
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]], quote
