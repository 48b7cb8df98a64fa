"""A cluster shows itself in a notebook."""

from __future__ import annotations

import slurmsim
from slurmsim.live import notebook


def test_nodes_and_the_queue() -> None:
    with slurmsim.cluster(nodes=3, cpus_per_node=4, frozen=True) as cluster:
        cluster.run("sbatch -J '<b>first' -N3 -n12 -t 5 --wrap 'sleep 100'", check=True)
        cluster.run("sbatch --array=1-2 -N3 -n12 --wrap 'sleep 100'", check=True)
        cluster.run("sbatch -J gone --wrap 'sleep 1'; scancel -n gone", check=True)
        cluster.step(60)
        shown = cluster._repr_html_()
        assert "Nodes: 3 allocated." in shown and "Jobs that ended: 1 CANCELLED." in shown
        assert "&lt;b&gt;first" in shown and "<b>first" not in shown
        assert "n[1-3]" in shown and "5 min" in shown and "Resources" in shown and "<html" not in shown
        cluster.stop()
        assert "no daemon answers" in cluster._repr_html_()


def test_a_long_queue_is_cut_and_counted(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(notebook, "MOST", 2)
    with slurmsim.cluster(nodes=1, frozen=True) as cluster:
        cluster.run("sbatch --array=1-3 --exclusive --wrap 'sleep 100'", check=True)
        cluster.step(10)
        shown = cluster._repr_html_()
    assert "3 jobs run or wait; the first 2 are below." in shown and shown.count("sleep") == 0
    assert shown.count("<tr>") == 3  # the header, and two jobs
