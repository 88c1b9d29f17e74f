"""The journal's sink: takes events from any thread and has its own thread write them, one SQLite file per process
and day.

Emitting costs an append to a list; what the disk does happens in the thread. A disk that is full, slow or read-only
costs one warning in the log and, at worst, counted events, never the run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from agent_core.telemetry.events import CallProgress, Content, Event
from agent_core.telemetry.journal.writer import RETRY_S, JournalWriter

BATCH_S = 0.05
"""How long the thread gathers events before it writes; what a `kill -9` can lose, and what followers lag at most."""
MAX_PROGRESS = 1_000
"""Waiting `call.progress` samples; the oldest are dropped beyond it."""
MAX_WAITING = 20_000
"""Other events that wait while the disk takes none, about 10 MB. A disk that is gone for longer loses the oldest."""
MAX_CONTENT_CHARS = 16_000_000
"""Text of waiting content; the oldest is dropped beyond it."""


class JournalSink:
    """Implements `emitter.Sink`: never blocks, never raises. `close` it, or the last 50 ms are lost.

    `dropped` counts `call.progress` samples and content given up because the disk could not keep up.
    """

    def __init__(self, state_dir: Path, source: str, *, content: bool = False) -> None:
        """Starts the writer. Nothing is touched on disk before the first event; a state directory is made then.

        `content`: the user wants prompts, code and paths kept. Without it `Content` events are thrown away here.
        """
        self._keep_content = content
        self._lock = threading.Lock()
        self._events: deque[Event] = deque()
        self._progress: deque[Event] = deque()
        self._content: deque[Content] = deque()
        self._content_chars = 0
        self._wake, self._hurry = threading.Event(), threading.Event()
        self._flushed = threading.Condition(self._lock)
        self._closing = False
        self._busy = False
        self.dropped = 0
        self._lost = 0
        self._writer = JournalWriter(state_dir, source)
        self._thread = threading.Thread(target=self._run, name="loopline-journal", daemon=True)
        self._thread.start()

    def emit(self, event: Event) -> None:
        if isinstance(event, Content) and not self._keep_content:
            return
        with self._lock:
            if self._closing:
                self._lost += 1
                return
            if isinstance(event, Content):
                self._add_content(event)
            elif type(event) is CallProgress:
                self._progress.append(event)
                if len(self._progress) > MAX_PROGRESS:
                    self._progress.popleft()
                    self.dropped += 1
            else:
                self._events.append(event)
                if len(self._events) > MAX_WAITING:
                    self._events.popleft()
                    self._lost += 1
        self._wake.set()

    @property
    def lost(self) -> int:
        """Events of other types that no retry could write."""
        return self._lost + self._writer.unwritable

    def flush(self, timeout_s: float = 2.0) -> bool:
        """Wait until everything emitted so far is readable by others; False if it is not after `timeout_s` seconds."""
        self._hurry.set()
        self._wake.set()
        with self._flushed:
            return self._flushed.wait_for(self._is_empty, timeout_s)

    def close(self, timeout_s: float = 2.0) -> None:
        """Write what waits and end the thread, within `timeout_s` seconds; what can't be written counts as lost."""
        with self._lock:
            self._closing = True
        self._hurry.set()
        self._wake.set()
        self._thread.join(timeout_s)
        with self._lock:
            waiting = self._take()
            self._lost += len(waiting)

    def _add_content(self, event: Content) -> None:
        self._content.append(event)
        self._content_chars += len(event.text)
        while self._content_chars > MAX_CONTENT_CHARS and len(self._content) > 1:
            self._content_chars -= len(self._content.popleft().text)
            self.dropped += 1

    def _take(self) -> list[Event]:
        """All that waits, in order. Under the lock."""
        batch = sorted([*self._events, *self._progress, *self._content], key=_seq)
        for queue in (self._events, self._progress, self._content):
            queue.clear()
        self._content_chars = 0
        return batch

    def _is_empty(self) -> bool:
        return not (self._events or self._progress or self._content or self._busy)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._hurry.wait(BATCH_S)
            with self._lock:
                self._wake.clear()
                self._hurry.clear()
                closing = self._closing
                batch = self._take()
                self._busy = bool(batch)
                counts = {"dropped": self.dropped, "lost": self._lost}
            written = self._writer.write(batch, counts) if batch else True
            with self._flushed:
                if not written:
                    self._put_back(batch)
                self._busy = False
                self._flushed.notify_all()
            if closing:
                self._writer.close()
                return
            if not written:
                self._hurry.wait(RETRY_S)
                self._wake.set()

    def _put_back(self, batch: Sequence[Event]) -> None:
        """Keep lifecycle events for the next try; samples are worth nothing then, and content is too large."""
        kept = [event for event in batch if not isinstance(event, CallProgress | Content)]
        self.dropped += len(batch) - len(kept)
        room = max(0, MAX_WAITING - len(self._events))
        self._lost += max(0, len(kept) - room)
        self._events.extendleft(reversed(kept[max(0, len(kept) - room) :]))


def _seq(event: Event) -> int:
    return event.seq
