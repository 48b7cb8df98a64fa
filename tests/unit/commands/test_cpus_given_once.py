"""No CPU is given twice, and what jobs show adds up, whatever they ask of tasks, cores and threads."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from script_cluster import Scripts
from test_recorded_threads import CONF

from slurmsim.hostlist import expand
from slurmsim.releases import RECORDED_RELEASES

THREADS = {f"n{i:02}": 2 if i < 5 else 1 for i in range(1, 9)}
_PLACED = re.compile(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+)")


def maybe(name: str, values: tuple[object, ...]) -> st.SearchStrategy[str]:
    return st.just("") | st.sampled_from([f"{name}{value}" for value in values])


WISHES = st.tuples(
    maybe("-p ", ("ht", "nt", "mix")), maybe("-n", (1, 2, 3, 5, 9)), maybe("-N", (1, 2, "1-3")), maybe("-c", (2, 3, 5)),
    maybe("--ntasks-per-", ("node=2", "node=3", "core=1", "core=2", "socket=1", "socket=2")),
    maybe("", ("--threads-per-core=1", "--hint=nomultithread", "--threads-per-core=2", "-B 1:2:1", "-O")),
    maybe("", ("--exclusive", "--mem-per-cpu=700", "--mem=3000", "-m block:block", "--mincpus=3")),
).map(lambda words: " ".join(filter(None, words)))  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(RECORDED_RELEASES), st.lists(WISHES, min_size=4, max_size=12))
def test_no_cpu_is_given_twice(release: str, wishes: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cluster = Scripts(Path(folder), release, CONF)
        for options in wishes:
            cluster.run(f"sbatch {options} -t5 --wrap 'sleep 99'", "alice")
        cluster.now += 10
        found = cluster.text("scontrol -d show job")
        holders: Counter[tuple[str, int]] = Counter()
        memory: Counter[str] = Counter()
        for text in found.split("\n\n"):
            held = [
                (node, cpu) for nodes, ids, _ in _PLACED.findall(text) for node in expand(nodes) for cpu in read(ids)
            ]
            if held:
                assert f" NumCPUs={len(held)} " in text
                assert all((node, cpu ^ 1) in held for node, cpu in held if THREADS[node] == 2), "a part of a core"
            holders.update(held)
            for nodes, _, mib in _PLACED.findall(text):
                memory.update(dict.fromkeys(expand(nodes), int(mib)))
        assert max(holders.values(), default=1) == 1
        assert max(memory.values(), default=0) <= 16000
        shown = dict(line.split() for line in cluster.text("sinfo -h -N -p mix -o '%n %C'").splitlines())
        used = Counter(node for node, _ in holders)
        assert {node: int(text.split("/")[0]) for node, text in shown.items()} == {node: used[node] for node in shown}


def read(ids: str) -> list[int]:
    return [int(name[1:]) for name in expand(f"c[{ids}]")]
