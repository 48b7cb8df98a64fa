"""Bodies within bounds: what a stranger can send is answered in a moment, as YAML or JSON."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("yaml", reason="NOT TESTED: bodies of slurmrestd: the extra rest is not installed")

from slurmsim.rest.body_text import MOST_TABLES, read_json
from slurmsim.yaml_text import MOST_DEPTH, Unreadable, read_yaml

BOMB = b"a: &a {x: 1}\n" + b"".join(b"%c: &%c {<<: [%s]}\n" % (k, k, b", ".join([b"*%c" % (k - 1)] * 9))
                                     for k in range(ord("b"), ord("j")))  # fmt: skip


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"", None),
        (b"# nothing\n", None),
        (b"a: 1\nb: [x, 2.5, true, ~]\n", {"a": 1, "b": ["x", 2.5, True, None]}),
        (
            b"script: |\n  #!/bin/sh\n  true\njob: {tasks: 0x10}\n",
            {"script": "#!/bin/sh\ntrue\n", "job": {"tasks": 16}},
        ),
        (b"1: 2\ntrue: 3\n", {"1": 2, "true": 3}),  # keys are texts
        (b"when: 2020-01-01\nlimit: 1:30\n", {"when": "2020-01-01", "limit": "1:30"}),
        (b'"1": !!str 2\n', {"1": "2"}),
        (b"[{}, [], {a: {b: []}}]", [{}, [], {"a": {"b": []}}]),
        (b"9" * 5000, "9" * 5000),
    ],
)
def test_yaml(body: bytes, value: Any) -> None:
    assert read_yaml(body) == value


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[" * 2000, "levels"),
        (b"- " * 100, "levels"),
        (b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1), "levels"),
        (BOMB, "aliases"),
        (b"a: &a [*a]", "aliases"),
        (b"--- 1\n--- 2\n", "document"),
        (b"!!python/object/apply:os.system [id]", "tag"),
        (b"!!int x", "invalid"),
        (b"{[1]: 2}", "key"),
        (b"a: [", "flow"),
        (b"\xff", "utf-8"),
        (b"\0", "control characters|special characters"),
    ],
)
def test_yaml_that_is_refused(body: bytes, why: str) -> None:
    began = time.process_time()
    with pytest.raises(Unreadable, match=why):
        read_yaml(body)
    assert time.process_time() - began < 1


def test_yaml_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(read_yaml(b"- a\n" * 50_000)) == 50_000
    with pytest.raises(Unreadable, match="takes more than"):
        read_yaml(b"- a\n" * 500_000, seconds=0.05)


@pytest.mark.parametrize("body", [b"[" * MOST_DEPTH + b"]" * MOST_DEPTH, b"[[], {}]", b'{"a": {"b": [1.5, null]}}'])
def test_json(body: bytes) -> None:
    read_json(body)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000, b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1), b'{"a":' * 65 + b"1" + b"}" * 65,
        b"[" + b"[]," * MOST_TABLES + b"1]", b"9" * 5000, b"NaN", b"[1e", b"\xff", b'"\\ud800',
    ],
)  # fmt: skip
def test_json_that_is_refused(body: bytes) -> None:
    with pytest.raises(Unreadable):
        read_json(body)
