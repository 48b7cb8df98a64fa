"""The English of the source: words to avoid and long sentences become fewer, room by room (`prose`).

Each table holds what is left. A room may have no more of it, nor fewer: a change that removes one also lowers the row
(``python tests/docs/prose.py`` prints the tables, and the places of a file that it is given).
"""

from __future__ import annotations

import prose

AVOIDED = {
    "policies": 74,
    "slurmsim/config": 22,
    "slurmsim/core": 232,
    "slurmsim/kernel": 18,
    "slurmsim/live": 4,
    "slurmsim/model": 9,
    "slurmsim/policy": 15,
    "slurmsim/sim": 30,
    "slurmsim/slurmd": 1,
    "workloads": 27,
}
"""Uses of the words to avoid, by room."""
TOO_LONG = {
    "docs/adr/0001-sans-io-core.md": 2,
    "docs/adr/0003-node-sets.md": 1,
    "docs/adr/0004-process-per-running-job.md": 2,
    "docs/adr/0005-policy-port.md": 1,
    "docs/adr/0006-trace-schema.md": 1,
    "docs/adr/0007-not-modelled.md": 2,
    "docs/adr/0008-event-driven-policies.md": 1,
    "docs/adr/0010-compiled-build.md": 3,
    "docs/adr/0015-rooms.md": 1,
    "docs/adr/0017-predicted-run-times.md": 1,
    "docs/adr/0018-power-and-progress.md": 1,
    "docs/adr/0019-places-and-streams.md": 2,
    "docs/adr/0020-kernels.md": 12,
    "docs/adr/0021-faults.md": 1,
    "docs/adr/0022-copies.md": 2,
    "docs/adr/0023-page-to-watch.md": 2,
    "docs/adr/0025-default-release.md": 2,
    "policies": 9,
    "slurmsim": 1,
    "slurmsim/campaign": 1,
    "slurmsim/commands": 10,
    "slurmsim/core": 13,
    "slurmsim/kernel": 2,
    "slurmsim/model": 1,
    "slurmsim/policy": 2,
    "slurmsim/sim": 4,
    "slurmsim/slurmctld": 2,
    "workloads": 6,
}
"""Sentences of more than 40 words, in the docstrings of a room and on a page."""
MEANS = {
    "docs/adr/0010-compiled-build.md": 21.9,
    "docs/adr/0020-kernels.md": 25.5,
}
"""Words a sentence where they are more than 20 on average."""


def test_words_to_avoid_become_fewer() -> None:
    assert prose.avoided() == AVOIDED


def test_long_sentences_become_fewer() -> None:
    assert prose.too_long() == TOO_LONG


def test_sentences_become_shorter_on_average() -> None:
    found = prose.means()
    assert found.keys() == MEANS.keys()
    assert all(MEANS[name] - 1 <= mean <= MEANS[name] for name, mean in found.items()), found


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


def test_a_word_to_avoid_is_found_in_any_case_and_only_whole() -> None:
    assert prose.AVOIDED.findall("Whoever asks, whose job; nobody, nobodys") == ["Whoever", "whose", "nobody"]
