"""Pushes the journals of this machine to a team hub: at least once, in order per source, whatever process wrote
them.

The journal is the buffer. A cursor on disk says what the hub has acknowledged, so a hub that was down loses
nothing, and what a process left when it ended is shipped by the one that runs next. One process of a state
directory ships at a time (a file lock decides). The hub keeps events apart by (source, sequence), so a batch that
is sent twice counts once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import msgspec

from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.events import Event
from agent_core.telemetry.hub.hub_client import Answer, HubClient, Outcome, is_exposed, shown_url
from agent_core.telemetry.hub.losses import Losses, read_losses, write_losses
from agent_core.telemetry.hub.privacy import strip_content
from agent_core.telemetry.journal.layout import SHIPPER_LOCK, journal_dir, list_journals
from agent_core.telemetry.journal.reader import Cursor, Feed

log = logging.getLogger(__name__)

POLL_S = 2.0
"""Pause when there is nothing to ship."""
STANDBY_S = 10.0
"""Pause between looks whether the process that ships has ended."""
HOLD_S = 300.0
"""Longest pause after failures, and the pause when the hub refuses the token."""
MAX_BATCH = 500
MAX_BATCH_BYTES = 1_000_000
"""Of a batch before compression."""
_REFUSALS_IN_A_ROW = 10
"""Single events refused one after the other; more means that the hub wants none of ours, and skipping on would lose
all."""


class ShipStatus(msgspec.Struct):
    """For `hub status`. `standby`: another process ships. `trouble` is one line, None while all is well."""

    shipped: int = 0
    refused: int = 0
    """Events that the hub did not want; they are not there."""
    late: int = 0
    """Events that the hub has not kept, since others of their source came before them."""
    standby: bool = False
    trouble: str | None = None


class _Batch(msgspec.Struct):
    source: str
    lines: list[tuple[int, bytes]]
    """(sequence, JSON) of what leaves the machine."""
    last_seq: int
    """Of the journal's events that this batch stands for, those that may not leave included."""


class Shipper:
    """`start` it after the journal, `close` it after the journal is closed. The caller owns the token; it is never
    logged."""

    def __init__(
        self, state_dir: Path, hub_url: str, token: str, *, keep_content: bool = False, poll_s: float = POLL_S
    ) -> None:
        """`keep_content`: fields that may hold text or paths leave the machine as they are. Prompts and code never
        do."""
        self._state_dir, self._hub_url, self._poll_s = state_dir, hub_url, poll_s
        self._strip: Callable[[Event], Event | None] = _as_is if keep_content else strip_content
        self._client = HubClient(hub_url, token)
        self._cursor_path = journal_dir(state_dir) / f"shipped-{_digest(hub_url)}.json"
        self._lock_fd: int | None = None
        self._acked = Cursor()
        self._feed: Feed | None = None
        self._pending: deque[_Batch] = deque()
        self._failures = self._refusals = 0
        self._limit = MAX_BATCH
        self.status = ShipStatus()
        self._stop = threading.Event()
        self._deadline_s = float("inf")
        self._thread = threading.Thread(target=self._run, name="loopline-shipper", daemon=True)

    def start(self) -> None:
        if is_exposed(self._hub_url):
            log.warning("the hub token goes unencrypted to %s; use https", shown_url(self._hub_url))
        self._thread.start()

    def close(self, timeout_s: float = 2.0) -> None:
        """Ship what can be shipped within `timeout_s` seconds and end. The rest is for whoever runs next."""
        self._deadline_s = time.monotonic() + timeout_s
        self._stop.set()
        if self._thread.ident is None:
            self._release()
        else:
            self._thread.join(timeout_s)

    def step(self) -> float:
        """Ship one batch, if there is one; seconds to wait until the next step. Never raises."""
        try:
            if not self._is_turn():
                return STANDBY_S
            if not self._pending:
                self._fill()
            if not self._pending:
                return self._poll_s
            batch = self._next_batch()
            answer = Answer(Outcome.ACKED, batch.last_seq)
            if batch.lines:
                after = self._acked.seqs.get(batch.source, 0)
                answer = self._client.push([line for _, line in batch.lines], after)
            return self._settle(batch, answer)
        except OSError as error:  # the state directory is gone or read-only: as if the hub were away
            return self._pause(f"{type(error).__name__}: {error}")

    def _run(self) -> None:
        while True:
            delay_s = self.step()
            if self._stop.is_set():
                if delay_s > 0 or time.monotonic() >= self._deadline_s:
                    break
            else:
                self._stop.wait(delay_s)
        self._release()

    def _release(self) -> None:
        self._client.close()
        if self._feed is not None:
            self._feed.close()
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    def _is_turn(self) -> bool:
        """Whether this process is the one that ships; the first time it is, read how far the last one came."""
        if self._lock_fd is not None:
            return True
        journal_dir(self._state_dir).mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(journal_dir(self._state_dir) / SHIPPER_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            self.status.standby = True
            return False
        self._lock_fd = fd
        self.status.standby = False
        with contextlib.suppress(OSError, msgspec.DecodeError):
            self._acked = msgspec.json.decode(self._cursor_path.read_bytes(), type=Cursor)
        return True

    def _fill(self) -> None:
        if self._feed is None:
            started = Cursor(dict(self._acked.seqs), set(self._acked.finished))
            self._feed = Feed(self._state_dir, cursor=started)
        events = self._feed.poll(4 * MAX_BATCH)
        for source, of_source in groupby(sorted(events, key=_by_source), key=_source):
            self._pending.extend(_batches(source, list(of_source), self._strip))
        if self._feed.cursor.finished != self._acked.finished and not self._pending:
            self._save()

    def _next_batch(self) -> _Batch:
        """The first that waits, cut to what the hub has shown to take at once."""
        batch = self._pending.popleft()
        if len(batch.lines) > self._limit:
            first = batch.lines[: self._limit]
            self._pending.appendleft(_Batch(batch.source, batch.lines[self._limit :], batch.last_seq))
            batch = _Batch(batch.source, first, first[-1][0])
        return batch

    def _settle(self, batch: _Batch, answer: Answer) -> float:
        if answer.outcome is Outcome.ACKED and answer.acked is not None:
            self._note_late(batch, answer.late)
            return self._advance(batch, answer.acked)
        if answer.outcome in (Outcome.REFUSED, Outcome.TOO_LARGE):
            return self._divide(batch, answer)
        self._pending.appendleft(batch)
        if answer.outcome is Outcome.KEY_REFUSED:
            self._trouble(f"{shown_url(self._hub_url)} refuses the hub token ({answer.detail})", logging.WARNING)
            return HOLD_S
        return self._pause(answer.detail, answer.retry_after_s)

    def _advance(self, batch: _Batch, acked: int) -> float:
        rest = [line for line in batch.lines if line[0] > acked]
        if rest and len(rest) == len(batch.lines):
            self._pending.appendleft(batch)
            return self._pause(f"acknowledges nothing of {batch.source} beyond {acked}")
        self.status.shipped += len(batch.lines) - len(rest)
        self._failures = self._refusals = 0
        if self.status.trouble is not None:
            log.info("telemetry reaches %s again", shown_url(self._hub_url))
            self.status.trouble = None
        if rest:
            self._pending.appendleft(_Batch(batch.source, rest, batch.last_seq))
        self._acked.seqs[batch.source] = acked if rest else batch.last_seq
        self._save()
        return 0.0

    def _note_late(self, batch: _Batch, late: int) -> None:
        """Say what the hub has acknowledged and not kept; it is no use to send it again."""
        if late > 0:
            self.status.late += late
            self._lost("later events of their source were there first", late=late)

    def _lost(self, reason: str, *, refused: int = 0, late: int = 0) -> None:
        """Say that events are not in the hub, now and to whoever asks later."""
        log.warning("%s did not keep %d events: %s", shown_url(self._hub_url), refused + late, reason)
        path = losses_path(self._state_dir, self._hub_url)
        losses = read_losses(path)
        with contextlib.suppress(OSError):
            write_losses(path, Losses(losses.refused + refused, losses.late + late, reason))

    def _divide(self, batch: _Batch, answer: Answer) -> float:
        """Halve a batch that was refused; a single event that is refused is skipped."""
        half = len(batch.lines) // 2
        if half:
            first = batch.lines[:half]
            self._pending.appendleft(_Batch(batch.source, batch.lines[half:], batch.last_seq))
            self._pending.appendleft(_Batch(batch.source, first, first[-1][0]))
            if answer.outcome is Outcome.TOO_LARGE:
                self._limit = half
            return 0.0
        if self._refusals >= _REFUSALS_IN_A_ROW:
            self._pending.appendleft(batch)
            return self._pause(f"refuses every event ({answer.detail})", HOLD_S)
        self._refusals += 1
        self.status.refused += 1
        self._lost(answer.detail, refused=1)
        self._acked.seqs[batch.source] = batch.last_seq
        self._save()
        return 0.0

    def _pause(self, detail: str, at_least_s: float | None = None) -> float:
        """Exponential backoff with jitter, and never before the hub wants to be asked again."""
        self._trouble(f"{shown_url(self._hub_url)} takes no telemetry: {detail}; it waits in the journal", logging.INFO)
        backoff_s = min(HOLD_S, 2.0**self._failures) * random.uniform(0.5, 1.0)
        self._failures = min(self._failures + 1, 16)
        return max(backoff_s, min(at_least_s or 0.0, 24 * 3600.0))

    def _trouble(self, line: str, level: int) -> None:
        if self.status.trouble is None:
            log.log(level, "%s", line)
        self.status.trouble = line

    def _save(self) -> None:
        """Write the cursor as a whole or not at all. A source is finished once nothing of it is pending, and forgotten
        with its files."""
        if self._feed is not None:
            waiting = {batch.source for batch in self._pending}
            self._acked.finished = self._feed.cursor.finished - waiting
        names = {file.source for file in list_journals(self._state_dir)}
        self._acked.seqs = {source: seq for source, seq in self._acked.seqs.items() if source in names}
        private = self._cursor_path.with_suffix(f".{os.getpid()}.new")
        private.write_bytes(msgspec.json.encode(self._acked))
        private.replace(self._cursor_path)


def losses_path(state_dir: Path, hub_url: str) -> Path:
    """Where it is kept what a hub has not kept."""
    return journal_dir(state_dir) / f"lost-{_digest(hub_url)}.json"


def _batches(source: str, events: list[Event], strip: Callable[[Event], Event | None]) -> list[_Batch]:
    found: list[_Batch] = []
    size = MAX_BATCH_BYTES
    for event in events:
        leaving = strip(event)
        line = b"" if leaving is None else encode_event(leaving)
        if size + len(line) > MAX_BATCH_BYTES or len(found[-1].lines) == MAX_BATCH:
            found.append(_Batch(source, [], 0))
            size = 0
        if line:
            found[-1].lines.append((event.seq, line))
            size += len(line)
        found[-1].last_seq = event.seq
    return found


def _as_is(event: Event) -> Event | None:
    return event


def _digest(hub_url: str) -> str:
    return hashlib.sha256(hub_url.rstrip("/").encode()).hexdigest()[:12]


def _source(event: Event) -> str:
    return event.source


def _by_source(event: Event) -> tuple[str, int]:
    return event.source, event.seq
