"""pytest plugin: the fixture ``slurm``, a live cluster of its own for each test.

The marker ``slurm`` takes the arguments of `slurmsim.cluster`, on top of those in the ini option of the same name::

    [pytest]
    slurm =
        nodes = 2
        frozen = true

    @pytest.mark.slurm(nodes=16)
    def test_it(slurm): …
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from slurmsim.live.cluster import Cluster


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option ``slurm``."""
    parser.addini("slurm", "arguments of slurmsim.cluster for the fixture slurm, NAME = VALUE", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker ``slurm``."""
    config.addinivalue_line("markers", "slurm(**arguments): arguments of slurmsim.cluster for the fixture slurm")


@pytest.fixture
def slurm(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Yield a live cluster, its clock frozen unless something else is asked for; sbatch and its family are on PATH."""
    from slurmsim.live.cluster import cluster

    arguments: dict[str, Any] = dict(map(_argument, request.config.getini("slurm")))
    for marker in reversed(list(request.node.iter_markers("slurm"))):
        if marker.args:
            raise pytest.UsageError("the marker slurm takes arguments by name: slurm(nodes=16)")
        arguments |= marker.kwargs
    if not {"frozen", "fast", "rate"} & set(arguments):
        arguments["frozen"] = True
    with cluster(**arguments) as found:
        yield found


def _argument(line: str) -> tuple[str, Any]:
    """Return a line of the ini option: a number, true, false, or text."""
    name, equals, text = (part.strip() for part in line.partition("="))
    if not equals or not name.isidentifier():
        raise pytest.UsageError(f"ini option slurm: {line!r} is not NAME = VALUE")
    try:
        return name, json.loads(text.lower() if text.lower() in ("true", "false") else text)
    except ValueError:
        return name, text
