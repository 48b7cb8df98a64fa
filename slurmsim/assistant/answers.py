"""What the tools answer, as plain data of bounded size, from a twin or a live cluster; nothing here changes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from slurmsim.bitmap import to_indices
from slurmsim.duration import parse_duration
from slurmsim.errors import ConfigError, OutputError, clipped
from slurmsim.live import daemon
from slurmsim.live.waiting.explain import explain
from slurmsim.live.waiting.onlooker import Onlooker
from slurmsim.live.waiting.past import Known, newest
from slurmsim.shown import cell
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.history.header import JOURNAL
from slurmsim.states import TRANSITIONS, JobState
from slurmsim.twin.changes import read_changes
from slurmsim.twin.forecast import Forecaster
from slurmsim.twin.opened import opened
from slurmsim.twin.past import known
from slurmsim.twin.whatif import compare

MOST_ROWS = 200
MOST_TEXT = 300  # characters of one text of an answer
MOST_ASKED = 200  # characters of a word that is asked
MOST_CHANGES = 20
MOST_S = 31 * 86_400
FEW = "too few jobs have ended to draw run times from"


class Answers:
    """Answers about the cluster in a folder: a twin's, or a live cluster's as it is at each question."""

    def __init__(self, folder: Path, past: Sequence[Known] | None = None) -> None:
        self._folder, self._past = folder, past

    def queue(self, user: str = "", state: str = "", most: int = 50) -> dict[str, Any]:
        """Return jobs that squeue shows, by priority: those of `user`, in `state`."""
        wanted = _word(state, "state").upper()
        if wanted and wanted not in TRANSITIONS:
            raise ConfigError(f"no state {wanted!r}", field="state", expected="PENDING, RUNNING, SUSPENDED …")
        name = _word(user, "user")
        with self._onlooker() as onlooker:
            jobs = [live for live in onlooker.engine.jobs.values() if not name or live.person.name == name]
            jobs = [live for live in jobs if not wanted or live.core.state == wanted]
            jobs.sort(key=lambda live: (live.core.state != JobState.PENDING, -(live.core.priority or 0)))
            rows = [_job(onlooker, live) for live in jobs[: _count(most)]]
            return {"now": onlooker.engine.now, "jobs_n": len(jobs), "jobs": rows}

    def nodes(self, state: str = "", most: int = 50) -> dict[str, Any]:
        """Return nodes with their CPUs: all, or those that are ``idle``, ``mixed``, ``allocated`` or ``down``."""
        wanted = _word(state, "state").lower()
        with self._onlooker() as onlooker:
            table = onlooker.engine.controller.state.table
            sets = {"idle": table.idle, "mixed": table.mixed, "down": table.everything & ~table.up}
            sets["allocated"] = table.everything & ~(sets["idle"] | sets["mixed"] | sets["down"])
            if wanted and wanted not in sets:
                raise ConfigError(f"no state {wanted!r}", field="state", expected=", ".join(sets))
            words = ["allocated"] * table.n
            for name in ("mixed", "idle", "down"):  # the last one counts
                for number in to_indices(sets[name]).tolist():
                    words[number] = name
            found = [number for number, word in enumerate(words) if not wanted or word == wanted]
            rows = [
                {"name": table.names[number], "state": words[number], "cpus": int(table.cpus[number]),
                 "free_cpus": int(table.free_cpus[number]), "memory_mib": int(table.mem[number])}
                for number in found[: _count(most)]
            ]  # fmt: skip
            return {"now": onlooker.engine.now, "nodes_n": len(found), "nodes": rows}

    def why(self, job: str, offers: bool = False) -> dict[str, Any]:
        """Return what keeps a job waiting; with `offers` also what would start it now, which takes a while."""
        return dict(explain(self._folder, _word(job, "job", needed=True), self._now(), offers=offers))

    def when(self, job: str, advice: bool = False) -> dict[str, Any]:
        """Return when a waiting job starts and ends, as intervals; with `advice` what another request would change."""
        name = _word(job, "job", needed=True)
        with self._onlooker() as onlooker:
            found = [live for live in onlooker.engine.job_table.find(name) if live.core.state == JobState.PENDING]
            if not found:
                raise ConfigError(f"no waiting job {name!r}", field="job", expected="the id of a job that waits")
            forecaster = Forecaster(onlooker, self._known())
            if not forecaster.knows_enough:
                raise ConfigError(FEW, field="when", expected="some weeks of sacct records")
            told = {"job": name, "now": onlooker.engine.now, **forecaster.forecast(found[0])}
            return told | ({"advice": list(forecaster.advice(found[0]))} if advice else {})

    def whatif(
        self, drain: Sequence[str] = (), reserve: Sequence[str] = (), span: str = "1-00:00:00"
    ) -> dict[str, Any]:
        """Return who waits longer, by account, with nodes drained or reserved for the time `span` from now on."""
        seconds = parse_duration(_word(span, "span", needed=True))
        if not seconds or seconds > MOST_S:
            raise ConfigError(f"{span!r}", field="span", expected="up to 31 days")
        words = [[_word(text, field, needed=True) for text in texts[: MOST_CHANGES + 1]]
                 for field, texts in (("drain", drain), ("reserve", reserve))]  # fmt: skip
        if max(map(len, words)) > MOST_CHANGES:
            raise ConfigError("too many changes", field="whatif", expected=f"up to {MOST_CHANGES} of a kind")
        changes = read_changes(words[0], words[1], ())
        if not changes.any:
            raise ConfigError("nothing is changed", field="whatif", expected="drain or reserve")
        past = self._known()
        with self._onlooker() as before, self._onlooker() as after:
            if not Forecaster(before, past).knows_enough:
                raise ConfigError(FEW, field="whatif", expected="some weeks of sacct records")
            answer = compare(before, after, changes, past, seconds)
        return {"pairs": answer.pairs, "seconds": seconds, "accounts": answer.as_dicts()[:MOST_ROWS]}

    @contextmanager
    def _onlooker(self) -> Iterator[Onlooker]:
        now = self._now()
        with Onlooker(self._folder) as onlooker:
            if now is not None:
                onlooker.advance(now)
            yield onlooker

    def _now(self) -> int | None:
        """Return the instant of a cluster that runs; None of a twin, and of one that has stopped."""
        if self._past is not None:
            return None
        try:
            return int(daemon.call(self._folder, "clock", action="show")["now"])
        except daemon.Silent:
            raise
        except OutputError:
            return None

    def _known(self) -> Sequence[Known]:
        return self._past if self._past is not None else newest(self._folder, running=self._now() is not None)


@contextmanager
def answers(dump: Path | None, state: Path) -> Iterator[Answers]:
    """Yield what answers about the twin of `dump`, or without one about the live cluster in the folder `state`.

    Raises SlurmSimError.
    """
    with ExitStack() as stack:
        if dump is None:
            if not (state / JOURNAL).is_file():
                raise OutputError(f"{state}: no cluster is there: start one with slurmsim up, or name a dump (--from)")
            yield Answers(state)
        else:
            folder, twin = stack.enter_context(opened(dump))
            yield Answers(folder, known(twin.past) if twin.past is not None else [])


def as_json(value: Any) -> str:
    """Return an answer as JSON, its texts without what steers a terminal, each of bounded length."""
    return json.dumps(bounded(value))


def bounded(value: Any) -> Any:
    """Return `value`, made of dict, list and plain values, with lists and texts of bounded length.

    >>> bounded({"name": "x\\x1b" + "y" * 1000})["name"][:8]
    'x\\\\u001by'
    """
    if isinstance(value, str):
        return clipped(cell(value[: 2 * MOST_TEXT]), MOST_TEXT)
    if isinstance(value, dict):
        return {bounded(str(key)): bounded(one) for key, one in list(value.items())[:MOST_ROWS]}
    if isinstance(value, list | tuple):
        return [bounded(one) for one in value[:MOST_ROWS]]
    return value


def _word(text: str, field: str, *, needed: bool = False) -> str:
    if len(text) > MOST_ASKED or not text.isprintable():
        raise ConfigError(clipped(cell(text[:MOST_ASKED]), 60), field=field, expected=f"up to {MOST_ASKED} signs")
    if needed and not text.strip():
        raise ConfigError("is empty", field=field, expected="a word")
    return text.strip()


def _count(most: int) -> int:
    if not 0 < most <= MOST_ROWS:
        raise ConfigError(f"{most}", field="most", expected=f"1 to {MOST_ROWS}")
    return most


def _job(onlooker: Onlooker, live: LiveJob) -> dict[str, Any]:
    core = live.core
    cluster = onlooker.engine.controller.state.cluster
    return {
        "job": str(live.id) if live.array is None else f"{live.array.id}_{live.task}", "user": live.person.name,
        "account": core.account or "", "partition": core.partition.name, "state": str(core.state),
        "reason": str(core.reason), "priority": core.priority, "submit_time": int(core.submit_time),
        "start_time": None if core.start_time is None else int(core.start_time), "time_limit_s": core.time_limit_s,
        "nodes": "" if core.alloc is None else cluster.node_list(core.alloc),
    }  # fmt: skip
