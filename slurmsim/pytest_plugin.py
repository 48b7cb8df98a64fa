"""pytest plugin: the fixture ``slurmsim``, a live cluster of its own for each test.

The marker ``slurmsim`` takes the arguments of `slurmsim.cluster`, on top of those in the ini option of the same name::

    [pytest]
    slurmsim =
        nodes = 2
        frozen = true

    @pytest.mark.slurmsim(nodes=16)
    def test_it(slurmsim): …

``releases="all"``, or a list of releases, runs the test once for each of them.

All three are also there under their old name ``slurm``, unless another plug-in has a fixture of that name: pytest's
header then says so, and the old name means the other plug-in's alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from slurmsim.live.cluster import Cluster

NAME, OLD_NAME = "slurmsim", "slurm"
_RELEASES = "releases"
_ALIAS = "slurmsim.slurm"  # the plug-in that has the fixture under its old name


class _Alias:
    """The fixture under its old name, in a plug-in of its own: registered only if no other has one."""

    @pytest.fixture
    def slurm(self, slurmsim: Cluster) -> Cluster:
        """Return the live cluster of the fixture slurmsim (plug-in slurmsim.pytest_plugin): its old name."""
        return slurmsim


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option, under both names."""
    parser.addini(NAME, "arguments of slurmsim.cluster for the fixture slurmsim, NAME = VALUE", type="linelist")
    try:
        parser.addini(OLD_NAME, "old name of the ini option slurmsim", type="linelist")
    except ValueError:  # another plug-in has an option of this name
        return


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker, and the old names if they are free."""
    about = "(**arguments): arguments of slurmsim.cluster for the fixture slurmsim"
    config.addinivalue_line("markers", NAME + about)
    if not _others(config):
        config.addinivalue_line("markers", f"{OLD_NAME}{about}; old name of the marker slurmsim")
        config.pluginmanager.register(_Alias(), _ALIAS)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name other plug-ins with a fixture of the old name."""
    return [f"slurmsim: the fixture slurm is that of {name}; ours is slurmsim" for name in _others(config)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each release that the marker's `releases` names."""
    names = (OLD_NAME, NAME) if metafunc.config.pluginmanager.has_plugin(_ALIAS) else (NAME,)
    asked = next((found.kwargs[_RELEASES] for found in metafunc.definition.iter_markers()
                  if found.name in names and _RELEASES in found.kwargs), None)  # fmt: skip
    if asked is None or NAME not in metafunc.fixturenames:
        return
    from slurmsim.releases import RELEASES

    chosen = RELEASES if asked == "all" else asked
    if isinstance(chosen, str) or not chosen or not set(chosen) <= set(RELEASES):
        named = ", ".join(RELEASES)
        pytest.fail(f"releases={asked!r} of the marker {NAME}: 'all' or a list out of {named}", pytrace=False)
    metafunc.parametrize(NAME, chosen, indirect=True)


@pytest.fixture
def slurmsim(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Yield a live cluster, its clock frozen unless something else is asked for; sbatch and its family are on PATH."""
    from slurmsim.live.cluster import cluster

    names = (OLD_NAME, NAME) if request.config.pluginmanager.has_plugin(_ALIAS) else (NAME,)
    arguments: dict[str, Any] = {}
    for name in names:
        arguments |= dict(_argument(name, line) for line in request.config.getini(name))
    for marker in reversed([found for found in request.node.iter_markers() if found.name in names]):
        if marker.args:
            raise pytest.UsageError(f"the marker {marker.name} takes arguments by name: {marker.name}(nodes=16)")
        arguments |= marker.kwargs
    if arguments.pop(_RELEASES, None) is not None:
        arguments["slurm_version"] = request.param
    if not {"frozen", "fast", "rate"} & set(arguments):
        arguments["frozen"] = True
    with cluster(**arguments) as found:
        yield found


def _others(config: pytest.Config) -> list[str]:
    """Return the names of other plug-ins with a fixture ``slurm``; a conftest.py extends ours and is none."""
    return sorted(
        name
        for name, plugin in config.pluginmanager.list_name_plugin()
        if name != _ALIAS
        and plugin is not None
        and Path(str(getattr(plugin, "__file__", ""))).name != "conftest.py"
        and _is_fixture(getattr(plugin, OLD_NAME, None))
    )


def _is_fixture(found: object) -> bool:
    """Return True if `found` is what pytest's decorator makes: of a type of its own since 8.4, before a function."""
    return type(found).__name__ == "FixtureFunctionDefinition" or hasattr(found, "_pytestfixturefunction")


def _argument(option: str, line: str) -> tuple[str, Any]:
    """Return a line of the ini option: a number, true, false, or text."""
    name, equals, text = (part.strip() for part in line.partition("="))
    if not equals or not name.isidentifier():
        raise pytest.UsageError(f"ini option {option}: {line!r} is not NAME = VALUE")
    try:
        return name, json.loads(text.lower() if text.lower() in ("true", "false") else text)
    except ValueError:
        return name, text
