"""The English of the source: words to avoid and long sentences become fewer, room by room (`prose`).

Each table holds what is left. A room may have no more of it, nor fewer: a change that removes one also lowers the row
(``python tests/docs/prose.py`` prints the tables, and the places of a file that it is given).
"""

from __future__ import annotations

import prose

AVOIDED = {
    "slurmsim/live": 4,
    "slurmsim/slurmd": 1,
}
"""Uses of the words to avoid, by room."""
TOO_LONG: dict[str, int] = {}
"""Sentences of more than 40 words, in the docstrings of a room and on a page."""

MOST_WORDS = 80_000
"""Words of all pages together, without decisions and without what scripts write."""


def test_words_to_avoid_become_fewer() -> None:
    assert prose.avoided() == AVOIDED


def test_long_sentences_become_fewer() -> None:
    assert prose.too_long() == TOO_LONG


def test_sentences_are_short_on_average() -> None:
    assert prose.means() == {}, f"rooms and pages with more than {prose.MEAN} words a sentence"


def test_pages_stay_short() -> None:
    assert sum(prose.words().values()) <= MOST_WORDS, "python tests/docs/prose.py --words says where they are"


def test_what_a_script_writes_counts_no_words() -> None:
    page = "One <!-- figure: n -->22 nodes<!-- end --> two.\n<!-- made: run -->\n| a |\n<!-- end -->\nThree."
    assert prose.MADE.sub("", page).split() == ["One", "two.", "Three."]


def test_what_counts_as_a_sentence() -> None:
    text = '''"""Return the nodes (see ``a b c``). The job is `x`; it waits.

    Parameters
    ----------
    nodes, cpus
        Numbers of each.
    at : int
        Seconds. Not negative.

    | a | table |
    - an item
    """'''
    found = list(prose.sentences(prose.docstrings(text)))
    assert [prose.length(sentence) for sentence in found] == [5, 6, 3, 1, 2, 2]


def test_texts_of_the_program_are_no_docstrings() -> None:
    text = '''"""A module."""

NAMES = """
    a b c
    """.split()
TABLE = {
    "a":
    """b c""",
}


def f() -> None:
    """Do it."""
'''
    assert prose.docstrings(text).split("\n\n") == ["A module.", "Do it."]


def test_a_word_to_avoid_is_found_in_any_case_and_only_whole() -> None:
    assert prose.AVOIDED.findall("Whoever asks, whose job; nobody, nobodys") == ["Whoever", "whose", "nobody"]
