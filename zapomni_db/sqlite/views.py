"""The live chunks of a workspace in memory, kept up to date from the change log."""

import threading
from collections.abc import Callable

import apsw
import numpy as np

from zapomni_db.sqlite import embedders, live
from zapomni_db.sqlite.changes import changed_since
from zapomni_db.sqlite.columns import Column
from zapomni_db.sqlite.connections import last_change
from zapomni_db.sqlite.embedders import Embedder
from zapomni_db.sqlite.live import LiveArrays
from zapomni_db.sqlite.neighbours import link
from zapomni_db.sqlite.search import LiveChunks


class View:
    """One workspace in memory. It holds live rows only: adding is cheap, hiding and restoring copy the arrays."""

    def __init__(self, connection: apsw.Connection, workspace: str) -> None:
        self._workspace = workspace
        self._seq = 0
        self._embedder: Embedder | None = None
        self._load(connection)

    def refresh(self, connection: apsw.Connection) -> None:
        """Bring it to the moment of the connection's transaction."""
        seq = last_change(connection)
        if seq == self._seq:
            return
        known = self._embedder and seq > self._seq
        changed = changed_since(connection, self._workspace, self._seq) if known else None
        if changed is None:
            self._load(connection)
        elif changed:
            self._update(connection, changed)
        self._seq = seq

    def live(self, connection: apsw.Connection) -> LiveChunks:
        """What it holds now; stays as it is when the view goes on."""
        return LiveChunks(
            connection=connection,
            workspace=self._workspace,
            serving=self._embedder,
            memory_numbers=self._memories.rows,
            moments=self._moments.rows,
            neighbours=self._neighbours,
            chunk_numbers=self._chunks.rows,
            places=self._places.rows,
            lengths=self._lengths.rows,
            codes=self._codes.rows,
            embedded=self._coded.rows,
        )

    def _load(self, connection: apsw.Connection) -> None:
        self._seq = last_change(connection)
        self._embedder = embedders.serving(connection, self._workspace)
        self._set(live.read_all(connection, self._embedder, self._workspace))

    def _update(self, connection: apsw.Connection, changed: set[int]) -> None:
        found = live.read_some(connection, self._embedder, self._workspace, changed)
        if min(changed) > self._memories.rows.max(initial=0):
            self._append(found)
        else:
            unchanged = self._current().pick(~np.isin(self._memories.rows, np.array(list(changed))))
            self._set(unchanged.join(found) if len(found.memories) else unchanged)

    def _current(self) -> LiveArrays:
        return LiveArrays(
            self._memories.rows,
            self._moments.rows,
            self._threads.rows,
            np.bincount(self._places.rows, minlength=len(self._memories.rows)),
            self._chunks.rows,
            self._lengths.rows,
            self._codes.rows,
            self._coded.rows,
        )

    def _set(self, held: LiveArrays) -> None:
        self._memories, self._moments, self._threads = map(Column, (held.memories, held.moments, held.threads))
        self._chunks, self._lengths, self._codes = Column(held.chunks), Column(held.lengths), Column(held.codes)
        self._coded = Column(held.coded)
        self._places = Column(np.repeat(np.arange(len(held.memories)), held.counts))
        self._neighbours = link(np.empty((0, 4), np.int64), held.moments, held.threads)

    def _append(self, more: LiveArrays) -> None:
        places = np.arange(len(more.memories)) + len(self._memories.rows)
        self._places.extend(np.repeat(places, more.counts))
        self._memories.extend(more.memories)
        self._moments.extend(more.moments)
        self._threads.extend(more.threads)
        self._chunks.extend(more.chunks)
        self._lengths.extend(more.lengths)
        self._codes.extend(more.codes)
        self._coded.extend(more.coded)
        self._neighbours = link(self._neighbours, self._moments.rows, self._threads.rows, more.threads)


class Views:
    """The views of all workspaces that were asked for; shared by the reading threads."""

    def __init__(self, guard: Callable[[apsw.Connection], None]) -> None:
        self._guard = guard
        self._views: dict[str, View] = {}
        self._lock = threading.Lock()

    def live(self, connection: apsw.Connection, workspace: str) -> LiveChunks:
        """The workspace at the moment of the connection's transaction, which must not have read anything before.

        Within the lock, so that views only ever go forward: no transaction is older than the view it meets.
        """
        with self._lock:
            self._guard(connection)
            view = self._views.pop(workspace, None)  # one that fails half-way is not kept
            if view is None:
                view = View(connection, workspace)
            else:
                view.refresh(connection)
            self._views[workspace] = view
            return view.live(connection)
