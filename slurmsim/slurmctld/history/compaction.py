"""The journal made short while the cluster runs: a child writes a snapshot, then the journal begins anew behind it.

A fork has the whole state as it is at that instant, so no request waits while it is written. What happens meanwhile
goes into the old journal; its entries since are the beginning of the new one. Until that is in place, in one rename,
the old journal and what it stands on are valid; a child that dies leaves nothing.

A snapshot is due when the entries behind the last one have a certain size, whichever daemons wrote them. A start looks
as well, so a cluster that is only ever killed keeps a short journal. A child that is slow makes requests wait
before the journal has twice that size.
"""

import gc
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.numerals import is_number
from slurmsim.slurmctld.base.clock import Clock
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.history import SNAPSHOT, History
from slurmsim.slurmctld.history.noting import note_decisions
from slurmsim.slurmctld.history.replaying import OURS
from slurmsim.slurmctld.snapshot import file as snapshot_file
from slurmsim.slurmctld.snapshot.image import take

BYTES = 8 << 20
"""A journal may grow by so many before it is made short, or by as many as the snapshot has, if these are more."""
BYTES_VARIABLE = "SLURMSIM_JOURNAL_BYTES"  # bytes instead, whatever the snapshot has
POLL_S = 0.005
CHILD_S = 60.0  # real seconds that requests wait for a child at most; then it is ended
ENTRIES_AT_STOP = 50  # a clean stop leaves no more entries than that to be carried out again


@dataclass(slots=True)
class Point:
    """Where a snapshot stands: the entry, where the next one begins in the file, and the clock."""

    after: int
    offset: int
    clock: dict[str, Any]
    path: Path


def _bytes(text: str) -> int:
    if not is_number(text) or len(text) > 18:
        raise ConfigError(f"{text!r} is no number of bytes", field=BYTES_VARIABLE, expected=str(BYTES))
    return int(text)


class Compaction:
    """Of one cluster."""

    def __init__(self, history: History) -> None:
        self._history = history
        named = os.environ.get(BYTES_VARIABLE)
        self._named = None if not named else _bytes(named)
        self._child, self._point = 0, Point(0, 0, {}, history.folder)
        self._failed_at = 0  # bytes of the entries when a snapshot could not be made
        self._most = self._bound()

    def _bound(self) -> int:
        """Bytes of entries behind which a snapshot is due."""
        return max(BYTES, self._size_of_snapshot()) if self._named is None else self._named

    @property
    def due(self) -> bool:
        """True if the journal is long enough."""
        return not self._child and self._history.journal.grown - self._failed_at > self._most

    @property
    def late(self) -> bool:
        """True if the journal grows so fast that the snapshot under way has to be waited for."""
        return bool(self._child) and self._history.journal.grown - self._failed_at > self._most + self._most // 2

    def at_start(self, engine: Engine, clock: Clock) -> None:
        """Make the journal short that earlier daemons left long; they may have been killed each time before that."""
        if self.due:
            self._at_once(engine, clock)

    def begin(self, engine: Engine, clock: Clock) -> None:
        """Have a snapshot made by a child, between two turns. In a thread, which must not fork, all wait for it."""
        if threading.current_thread() is not threading.main_thread():
            self._at_once(engine, clock)
            return
        point = self._here(engine, clock)
        rows = engine.storage.store.mark
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            self._be_the_child(engine, point, rows)
        self._child, self._point = child, point

    def _be_the_child(self, engine: Engine, point: Point, rows: int) -> None:
        code = 1
        try:
            gc.disable()
            signal.set_wakeup_fd(-1)  # the parent's
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            os.closerange(3, 1 << 20)  # the lock on the folder, the socket, the connections of all clients
            self._write(engine, point, rows)
            code = 0
        except SlurmSimError as error:
            os.write(2, f"slurmsim: {error}\n".encode())
        finally:
            os._exit(code)

    def poll(self) -> bool:
        """See whether the child is done, and let the journal begin anew; whether there is one to wait for still."""
        if not self._child:
            return False
        done, status = os.waitpid(self._child, os.WNOHANG)
        if not done:
            return True
        self._child = 0
        self._finish(made=status == 0)
        return False

    def wait(self) -> None:
        """Let the child that makes a snapshot finish; one that hangs is ended."""
        last = time.monotonic() + CHILD_S
        while self.poll():
            if time.monotonic() > last:
                print(f"slurmsim: a snapshot was not made within {CHILD_S:g} s: the journal stays long",
                      file=sys.stderr)  # fmt: skip
                self.abandon()
                self._finish(made=False)
                return
            time.sleep(POLL_S)

    def _finish(self, *, made: bool) -> None:
        journal = self._history.journal
        self._failed_at = 0
        if made:
            try:
                journal.sync()
                crc = snapshot_file.last_crc(self._point.path)
                entries = journal.texts_from(self._point.offset)
                self._history.stand_on(self._point.path, crc, self._point.after, self._point.clock, entries)
                self._most = self._bound()
                return
            except (SlurmSimError, OSError) as error:
                print(f"slurmsim: the journal stays long: {error}", file=sys.stderr)
        self._failed_at = journal.grown

    def at_stop(self, engine: Engine, clock: Clock) -> None:
        """Wait for a snapshot at a stop, so that the next start has little to do. It may fail: the journal is whole."""
        self.abandon()
        journal = self._history.journal
        if journal.last - journal.after > ENTRIES_AT_STOP:
            self._at_once(engine, clock)

    def _at_once(self, engine: Engine, clock: Clock) -> None:
        made = False
        with suppress(SlurmSimError, OSError):
            self._point = self._here(engine, clock)
            self._write(engine, self._point, engine.storage.store.mark)
            made = True
        self._finish(made=made)

    def abandon(self) -> None:
        """Do without the snapshot that is being made."""
        if self._child:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
            self._child = 0
            with suppress(OSError):
                self._point.path.with_name(self._point.path.name + snapshot_file.PART).unlink()

    def _here(self, engine: Engine, clock: Clock) -> Point:
        journal = self._history.journal
        note_decisions(engine, journal)
        journal.sync()
        # the configuration of now: one that comes while the child writes is among the entries since
        state = {"mode": clock.mode, "rate": clock.rate, "texts": self._history.configuration.texts}
        return Point(journal.last, journal.size, state, self._history.folder / f"{SNAPSHOT}{journal.last}")

    def _write(self, engine: Engine, point: Point, rows: int) -> None:
        about = {"writer": OURS, "journal": self._history.header["id"], "after": point.after, "rows": rows}
        snapshot_file.write(point.path, about, take(engine))

    def _size_of_snapshot(self) -> int:
        named = self._history.header.get("snapshot")
        if named is None:
            return 0
        with suppress(OSError):
            return (self._history.folder / str(named["file"])).stat().st_size
        return 0
