"""Keys of cells: what changes one, and what does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slurmsim.campaign import keys as keys_module
from slurmsim.campaign import sources
from slurmsim.campaign.grid import read_grid
from slurmsim.campaign.keys import Keys
from slurmsim.campaign.sources import NO_PART, OF_A_CELL, own_digest, source_digest

CONF = """ClusterName=test
SlurmctldHost=ctl
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
include more.conf
"""
MORE = "NodeName=n[1-4] CPUs=4\nPartitionName=debug Nodes=n[1-4] Default=YES\n"


def key(**grid: Any) -> str:
    """The key of the grid's only cell."""
    (cell,) = read_grid({"workloads": ["generate:lublin:jobs=9"], **grid}).cells()
    return Keys().of(cell)


def test_what_is_in_files_counts_and_not_their_names_or_times(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.swf").write_text("; MaxNodes: 4\n")
        (tmp_path / folder / f"{folder}.conf").write_text(CONF)
        (tmp_path / folder / "more.conf").write_text(MORE)
        (tmp_path / folder / "bins.toml").write_text("")

    def of(folder: str) -> str:
        place = tmp_path / folder
        return key(workloads=[{"name": "x", "workload": f"{place}/log.swf"}], run={"conf": f"{place}/{folder}.conf"})

    first = of("a")
    assert of("b") == first
    os.utime(tmp_path / "b" / "log.swf", (1, 1))
    assert of("b") == first
    (tmp_path / "b" / "more.conf").write_text(MORE + "# another text\n")
    changed = of("b")
    assert changed != first
    (tmp_path / "b" / "gres.conf").write_text("# none\n")
    assert of("b") not in (first, changed)
    (tmp_path / "a" / "log.swf").write_text("; MaxNodes: 5\n")
    assert of("a") != first


def test_options_count(monkeypatch: pytest.MonkeyPatch) -> None:
    different = [
        key(), key(seeds=[1]), key(loads=[2]), key(policies=["easy"]), key(policies=["easy:predictor=last_two"]),
        key(run={"nodes": 5}), key(run={"set": {"MaxJobCount": 9}}), key(windows=["0,999999"]),
        key(workloads=["generate:lublin:jobs=8"]),
    ]  # fmt: skip
    assert len(set(different)) == len(different)
    assert key(name="another", per_job=True, workloads=[{"name": "y", "workload": "generate:lublin:jobs=9"}]) == key()
    seen = [key()]
    for name, value in (
        ("__version__", "0.0.1"), ("own_digest", lambda: "another source"), ("compiled", lambda: "mypyc"),
        ("kernel_compiled", lambda name: f"{name} by Cython"),
    ):  # fmt: skip
        monkeypatch.setattr(keys_module, name, value)
        seen.append(key())
    assert len(set(seen)) == len(seen)


def test_a_file_a_policy_reads_counts(tmp_path: Path) -> None:
    file = tmp_path / "bins.toml"
    text = "[[bin]]\nnodes = [1, 4]\n"
    file.write_text(text)
    before = key(policies=[f"bins:file={file}"])
    file.write_text(text + "# another\n")
    assert key(policies=[f"bins:file={file}"]) != before


def test_sources_of_a_plugin_and_of_what_it_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "strange"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "policy.py").write_text("import os, numpy\nfrom . import deep\nimport loose_helper\n")
    (package / "deep.py").write_text("from .deeper import x\n")
    (package / "deeper.py").write_text("x = 1\n")
    (package / "unused.py").write_text("")
    (tmp_path / "loose_helper.py").write_text("y = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def digest() -> str:
        source_digest.cache_clear()
        return source_digest("strange.policy")

    seen = [digest()]
    (package / "unused.py").write_text("changed = True\n")
    assert digest() == seen[0]
    for file in (package / "deeper.py", tmp_path / "loose_helper.py", package / "__init__.py", package / "policy.py"):
        file.write_text(file.read_text() + "# changed\n")
        seen.append(digest())
    assert len(set(seen)) == len(seen)
    for name in [name for name in sys.modules if name.partition(".")[0] == "strange"]:
        del sys.modules[name]


CELL = """
import sys
from slurmsim.campaign.worker import main
from slurmsim.campaign.keys import Keys
from slurmsim.campaign.measure import work
from slurmsim.replaying.options import RunOptions
options = RunOptions("generate:lublin:jobs=9,nodes=4", "", as_live=True, fair_start=2, policy="easy")
work(options, Keys().of_options(options), "", sys.argv[1], sys.argv[1] + "/cell.json", True)
print(*[name for name in sys.modules if name.startswith("slurmsim.")])
"""


def test_rooms_that_have_no_part_in_a_cell_are_not_loaded_by_one(tmp_path: Path) -> None:
    words = [sys.executable, "-P", "-c", CELL, str(tmp_path)]
    loaded = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    assert "slurmsim.core.scheduling" in {name.rpartition(".")[0] for name in loaded}
    rooms = {name.split(".")[1] for name in loaded}
    assert rooms.isdisjoint(NO_PART)
    ours = {name.split(".")[2] + ".py" for name in loaded if name.startswith("slurmsim.campaign.")}
    assert ours - set(OF_A_CELL) == {"cells.py", "memory.py", "tasks.py", "worker.py"}  # these hand things on


def test_the_source_of_slurmsim_counts_as_far_as_cells_depend_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "core/b.py", "report/page.py", "campaign/measure.py", "campaign/view.py"):
        file = tmp_path / "slurmsim" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n")
    usual = sources._folder_of
    monkeypatch.setattr(sources, "_folder_of", lambda name: tmp_path / name if name == "slurmsim" else usual(name))

    def digest() -> str:
        own_digest.cache_clear()
        return own_digest()

    try:
        before = digest()
        for name in ("report/page.py", "campaign/view.py"):
            (tmp_path / "slurmsim" / name).write_text("x = 2\n")
        assert digest() == before
        seen = [before]
        for name in ("a.py", "core/b.py", "campaign/measure.py"):
            (tmp_path / "slurmsim" / name).write_text("x = 2\n")
            seen.append(digest())
        assert len(set(seen)) == 4
    finally:
        own_digest.cache_clear()
