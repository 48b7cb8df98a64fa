"""The runner of examples: what it accepts, and that it does notice a document that lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_examples import ExampleError, blocks, matches, run_document


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("a b", "a b\n"),
        ("a ...", "a whatever it is\n"),
        ("... jobs in ... s", "5000 jobs in 3.2 s\n"),
        ("head\n...\ntail", "head\none\ntwo\ntail\n"),
        ("head\n...", "head\n"),
        ("a  \n", "a\n\n"),
        ("", ""),
        ("1+1 (x)", "1+1 (x)\n"),
    ],
)
def test_matches(expected: str, printed: str) -> None:
    assert matches(expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [("a", "b"), ("a", "a\nb"), ("", "noise"), ("a ... c", "a b\nc"), ("head\n...\ntail", "head\none"), ("a.c", "abc")],
)
def test_does_not_match(expected: str, printed: str) -> None:
    assert not matches(expected, printed)


def run(tmp_path: Path, text: str) -> int:
    document = tmp_path / "page.md"
    document.write_text(text, encoding="utf-8")
    return run_document(document, tmp_path)


def test_runs_all_kinds_in_one_namespace_and_folder(tmp_path: Path) -> None:
    text = """
<!-- file: sub/data.txt -->
```ini
one
two
```

```python
lines = open("sub/data.txt").read().split()
print(len(lines))
```

```text
2
```

```python
>>> lines[0]
'one'
```

- in a list:
  ```console
  $ cat sub/data.txt
  one
  ...
  $ echo a \\
  >  b
  a b
  ```

<!-- not run: needs a network -->
```console
$ false
```

```sh
exit 1
```
"""
    assert run(tmp_path, text) == 4
    assert [b.language for b in blocks(text)] == ["ini", "python", "text", "python", "console", "console", "sh"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```console\n$ echo a\nb\n```", "page.md:2: $ echo a"),
        ("```console\n$ echo a\n```", "page.md:2"),
        ("```console\n$ true\n$ exit 3\n```", "page.md:3: $ exit 3\nended with exit code 3"),
        ("```console\necho a\n```", "must begin with '$ '"),
        ("```python\nprint(1)\n```", "page.md:1: python block"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```", "page.md:1: python block"),
        ("```python\n1 / 0\n```", "ZeroDivisionError"),
        ("```python\n>>> 1 + 1\n3\n```", "Expected:\n    3\nGot:\n    2"),
        ("<!-- not run: -->\n```python\n1 / 0\n```", "say why"),
    ],
)
def test_notices_a_document_that_lies(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ExampleError) as caught:
        run(tmp_path, text)
    assert complaint in str(caught.value)
