"""What programs read of a session's state: ``--json`` of commands and slurmrestd, asked at some moments of it.

A document counts value by value, each by its path; an item of a list has the name or id in it for its place.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance" / "rest"))
from rest_values import MEASURED, MOMENT_S, RUN_TIME

from unseen.clusters import Cluster
from unseen.sessions import Command, Drawn

REST_VERSION = "v0.0.42"  # the one that both releases with a slurmrestd have
MOMENTS = 3
DOCUMENTS = frozenset({"json", "rest"})  # verbs
_SHOWN = ("squeue", "sinfo", "scontrol show job", "scontrol show node", "scontrol show partition")
_OLD = ("squeue", "sinfo")  # scontrol has no --json in 22.05
_SLURM = ("jobs", "nodes", "partitions", "reservations", "licenses")
_SLURMDB = ("jobs", "accounts", "associations", "qos", "users")
MARK = "== "
_SERVE = "rm -f rest.sock; slurmrestd {only}-a rest_auth/local unix:$PWD/rest.sock >/dev/null 2>&1 & "
_WAIT = "for k in $(seq 400000); do test -S rest.sock && break; done; "
_GET = "echo; echo '{mark}{path}'; curl -s --unix-socket rest.sock http://localhost/{path}/; "


def shown(cluster: Cluster, release: str) -> list[Command]:
    """The commands whose documents are asked for at each moment."""
    texts = _OLD if release == "22.05" else _SHOWN
    texts = (*texts, "sacct -a") if "slurmdbd.conf" in cluster.files else texts
    return [Command("json", text, "root", f"{text} --json") for text in texts]


def served(cluster: Cluster) -> Command:
    """One command that starts a slurmrestd, asks it for everything and ends it."""
    paths = [f"slurm/{REST_VERSION}/{name}" for name in _SLURM]
    if "slurmdbd.conf" in cluster.files:
        paths += [f"slurmdb/{REST_VERSION}/{name}" for name in _SLURMDB]
    only = "" if "slurmdbd.conf" in cluster.files else "-s slurmctld "  # 24.11's does not start without a database
    gets = "".join(_GET.format(mark=MARK, path=path) for path in paths)
    return Command("rest", "slurmrestd", "alice", f"{_SERVE.format(only=only)}{_WAIT}{gets}kill $!")


def with_documents(drawn: Drawn, release: str) -> Drawn:
    """`drawn`, with documents asked for at its begin, in between and at its end; what is typed stays as it is."""
    asked: list[Command | int] = list(shown(drawn.cluster, release))
    places = [len(drawn.steps) * k // (MOMENTS - 1) for k in range(MOMENTS)]
    for place in reversed(places):
        drawn.steps[place:place] = asked
    if release != "22.05":
        drawn.steps.append(served(drawn.cluster))
    return drawn


Values = dict[str, Any]
_KEYS = ("job_id", "name", "type", "node", "id")
_PEOPLE = ("account", "user", "partition")
_INSTANT = 1_700_000_000


def values(text: str, start: int) -> Values:
    """Every value in documents one behind the other, by path; instants in seconds since `start`.

    >>> values('{"jobs": [{"job_id": 4, "name": "x"}], "at": 1800000007}', 1800000000)
    {'.jobs[4].job_id': 4, '.jobs[4].name': 'x', '.at': 'start+7'}
    """
    found: Values = {}
    parts = re.split(rf"(?m)^{MARK}(.*)$", text)
    for name, part in zip(["", *parts[1::2]], parts[0::2], strict=True):
        if part.strip():
            found |= {path: _value(value, start) for path, value in _leaves(_document(part), name)}
    return found


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()  # what is said where there is no document


def _value(value: Any, start: int) -> Any:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"start+{value - start:g}" if number and value > _INSTANT else value


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaves(one, f"{path}.{key}")
    elif isinstance(value, list) and value:
        seen: Counter[str] = Counter()
        for at, one in enumerate(value):
            key = _key(one) or str(at)
            seen[key] += 1
            yield from _leaves(one, f"{path}[{key}{f'#{seen[key]}' if seen[key] > 1 else ''}]")
    else:
        yield path, value


def _key(item: Any) -> str:
    if not isinstance(item, dict):
        return item if isinstance(item, str) else ""  # flags are a set
    if isinstance(item.get("user"), str) and isinstance(item.get("account"), str) and "job_id" not in item:
        return "/".join(str(item.get(key, "")) for key in _PEOPLE)
    return next((str(item[key]) for key in _KEYS if isinstance(item.get(key), (str, int)) and item[key] != ""), "")


@dataclass(frozen=True, slots=True)
class Compared:
    """One document's values that all recordings have alike, and where ours is another one."""

    session: str
    number: int
    what: str
    asked: int
    unlike: list[str]


def compared(session: str, step: dict[str, Any], real: list[Values], ours: Values) -> Compared:
    """Ours beside all recordings; what only ours has counts, too, but where real Slurm never answered."""
    first, *others = real
    ours = ours if any(real) else {}
    sure = [path for path, value in first.items() if not MEASURED.search(path)
            and all(path in other and _alike(path, value, other[path]) for other in others)]  # fmt: skip
    unlike = [f"{path}: real {first[path]!r}, ours {ours.get(path)!r}" for path in sure
              if path not in ours or not _alike(path, first[path], ours[path])]  # fmt: skip
    more = [path for path in ours if not MEASURED.search(path) and not any(path in one for one in real)]
    unlike += [f"{path}: only ours, {ours[path]!r}" for path in more]
    return Compared(session, step["n"], step["option"], len(sure) + len(more), unlike)


def _alike(path: str, one: Any, other: Any) -> bool:
    if one == other and type(one) is type(other):
        return True
    moments = [_moment(path, value) for value in (one, other)]
    return None not in moments and abs(moments[0] - moments[1]) <= MOMENT_S  # type: ignore[operator]


def _moment(path: str, value: Any) -> float | None:
    if isinstance(value, str) and value.startswith("start+"):
        return float(value.removeprefix("start+"))
    return float(value) if RUN_TIME.search(path) and isinstance(value, (int, float)) else None


def counted(found: list[Compared]) -> list[int]:
    """Return how many values were asked for, and how many of ours are the same."""
    asked = sum(one.asked for one in found)
    return [asked, asked - sum(len(one.unlike) for one in found)]


def table(found: list[Compared]) -> str:
    """As Markdown: a row a command."""
    rows: dict[str, list[int]] = {}
    for one in found:
        for name in (one.what, "**all**"):
            row = rows.setdefault(name, [0, 0])
            row[0], row[1] = row[0] + one.asked, row[1] + one.asked - len(one.unlike)
    rows["**all**"] = rows.pop("**all**", [0, 0])
    lines = ["| document | values | equal | rate |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {n} | {a} | {e} | {e / max(a, 1):.1%} |" for n, (a, e) in rows.items())])
