"""Commands start fast: they load what takes long only where they use it (`slurmsim.fast_imports`)."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest

import slurmsim
from slurmsim import fast_imports, wire_json
from slurmsim.commands import MODULES

HEAVY = frozenset({
    "argparse", "collections", "contextlib", "dataclasses", "datetime", "decimal", "functools", "inspect", "json",
    "pathlib", "re", "shlex", "socket", "subprocess", "tempfile", "typing",
})  # fmt: skip
_OF_TASKS = {"collections", "contextlib", "functools"}
MAY = {"srun": {"re", "shlex"} | _OF_TASKS, "salloc": _OF_TASKS}
"""Shell words are split by the standard module; tasks are processes of their own, which take longer to start."""
ROOT = str(Path(slurmsim.__file__).parents[1])


@pytest.mark.parametrize("name", MODULES)
def test_loads_nothing_heavy(name: str) -> None:
    code = f"import sys; sys.path[:0] = [{ROOT!r}]; import {MODULES[name]}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=True)
    assert (HEAVY & set(done.stdout.split())) - MAY.get(name, set()) == set()


def test_named_tuple() -> None:
    class Pair(fast_imports.NamedTuple):
        """Two."""

        first: int
        second: str = "b"

        def text(self) -> str:
            return f"{self.first}{self.second}"

    assert Pair(1) == (1, "b") and Pair(1).text() == "1b" and Pair(second="c", first=2)._replace(first=3) == (3, "c")
    assert Pair.__doc__ == "Two." and Pair._fields == ("first", "second") and not hasattr(Pair(1), "__dict__")


def test_a_named_tuple_is_copied_told_and_compared_as_the_standard_one() -> None:
    class Pair(fast_imports.NamedTuple):
        first: int
        second: str = "b"

    one = Pair(1)
    assert repr(one) == f"{Pair.__name__}(first=1, second='b')" and {one: 2}[1, "b"] == 2  # type: ignore[index]
    assert copy.copy(one) == copy.deepcopy(one) == one and type(copy.copy(one)) is Pair
    for wrong in ((), (1, "b", 3)):
        with pytest.raises(TypeError):
            Pair(*wrong)  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError):
        one._replace(third=3)  # type: ignore[call-arg]


def test_remembered_answers() -> None:
    asked: list[int] = []

    @fast_imports.remembered
    def double(number: int) -> int:
        """Twice as much."""
        asked.append(number)
        return 2 * number

    assert [double(number) for number in (1, 2, 1)] == [2, 4, 2] and asked == [1, 2]
    assert [double(number) for number in range(5000)][-1] == 9998 and double(1) == 2
    assert double.__doc__ == "Twice as much."


def test_dataclass() -> None:
    @fast_imports.dataclass
    class Asked:
        release: str
        words: list[str] = fast_imports.field(default_factory=list)
        long: bool = False

    one, other = Asked("22.05"), Asked("22.05", ["a"])
    one.words.append("a")
    assert one == other and one.words is not other.words and one != Asked("22.05", ["a"], long=True)
    assert repr(other) == "Asked(release='22.05', words=['a'], long=False)"
    for wrong in ((), ("a", [], True, 4)):
        with pytest.raises(TypeError):
            Asked(*wrong)  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError):
        Asked("a", lonk=True)  # type: ignore[call-arg]


def test_pattern() -> None:
    words = fast_imports.pattern(r"(?a)(\d+)x")
    found = words.match("12x")
    assert found is not None and found[1] == "12" and words.sub("-", "1x2x") == "--" and words.fullmatch("1") is None


@pytest.mark.parametrize("own", [True, False])
def test_json(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wire_json._own  # the accelerators are as expected in this Python
    monkeypatch.setattr(wire_json, "_own", own)
    value = {"a": [1, -2.5, None, True, {"é\n\ud800": "\U0001f600"}], "b": 10**30}
    assert wire_json.dumps(value) == '{"a":[1,-2.5,null,true,{"é\\n\ud800":"\U0001f600"}],"b":1' + "0" * 30 + "}"
    assert wire_json.loads(f" \n{wire_json.dumps(value)}\t") == value
    assert wire_json.loads("[NaN, Infinity, -Infinity]")[1:] == [float("inf"), float("-inf")]
    for wrong in ("", "  ", "{", '{"a":1}}', "[1,]", "nul", '"\n"', "\x00"):
        with pytest.raises(ValueError):
            wire_json.loads(wrong)
    with pytest.raises(TypeError):
        wire_json.dumps({1, 2})


def test_the_usual_squeue_needs_no_regular_expression() -> None:
    """Its layout did: loading `re` took a tenth of a call."""
    code = (
        f"import sys; sys.path[:0] = [{ROOT!r}]; from slurmsim.commands.squeue import options, squeue; "
        "layout = squeue._job_layout(options.Asked('22.05', {})); print(len(layout.specs), 're' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "8 False\n"
