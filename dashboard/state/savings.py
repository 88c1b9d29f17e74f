"""What the open socket saved: bytes and tokens that were not sent again. Pure, from running counts.

A figure of this file is computed, not measured: it answers what the same calls would have sent over HTTP, where each
request carries the whole input and no warm-up is sent. Bytes come from the emitter, which weighs each create as it is
and as it would be with its whole input; tokens from the usage of the call before on the same chain.
"""

from __future__ import annotations

import msgspec

from agent_core.telemetry.events import CallSent
from agent_core.telemetry.rollup.rows import CallRow


class Savings(msgspec.Struct):
    """Sums over calls. Warm-ups count in `bytes_up` only."""

    calls: int = 0
    reused: int = 0
    bytes_up: int = 0
    """Of all create frames as they went up, repeated attempts and warm-ups included."""
    bytes_full: int = 0
    """Of one create with its whole input per call."""
    bytes_unknown: int = 0
    """Calls whose source does not say what the whole input would weigh; with one of them `bytes_saved` is unknown."""
    tokens_in: int = 0
    """Input tokens of the calls that report them, and can be right."""
    tokens_kept: int = 0
    """Those of them that were already at the service: input and output of the call before on the chain."""

    @property
    def bytes_saved(self) -> int | None:
        """Bytes HTTP would have sent minus those that went up; negative if a warm-up did not pay. None: unknown."""
        return None if self.bytes_unknown or not self.calls else self.bytes_full - self.bytes_up

    @property
    def bytes_share(self) -> float | None:
        """Saved bytes as a share of what HTTP would have sent; None if unknown."""
        saved = self.bytes_saved
        return None if saved is None or not self.bytes_full else saved / self.bytes_full

    @property
    def tokens_share(self) -> float | None:
        """Kept tokens as a share of the input; None without reported input."""
        return self.tokens_kept / self.tokens_in if self.tokens_in else None

    def add(self, other: Savings, sign: int = 1) -> None:
        self.calls += sign * other.calls
        self.reused += sign * other.reused
        self.bytes_up += sign * other.bytes_up
        self.bytes_full += sign * other.bytes_full
        self.bytes_unknown += sign * other.bytes_unknown
        self.tokens_in += sign * other.tokens_in
        self.tokens_kept += sign * other.tokens_kept


class SavingsBook:
    """Counts per call, and running sums per session and in all. Sums outlive the calls they came from."""

    def __init__(self, max_calls: int, max_sessions: int) -> None:
        """The oldest of more than `max_calls` calls and `max_sessions` sessions are forgotten one by one."""
        self._max_calls, self._max_sessions = max_calls, max_sessions
        self.total = Savings()
        self.sessions: dict[str, Savings] = {}
        self.calls: dict[str, Savings] = {}
        self._chains: dict[tuple[str | None, str | None], int] = {}
        """Tokens at the service by (session, lane): input and output of the latest completed call."""

    def sent(self, event: CallSent) -> None:
        """A create left. A repeated attempt adds its bytes; HTTP would have needed one request, the latest."""
        if event.call is None:
            return
        before = self.calls.get(event.call, Savings())
        unknown = event.bytes_full is None and not event.warmup
        now = Savings(
            calls=0 if event.warmup else 1,
            reused=int(event.reuse == "reused" and not event.warmup),
            bytes_up=before.bytes_up + event.bytes_up,
            bytes_full=0 if event.warmup else event.bytes_full or 0,
            bytes_unknown=int(unknown),
        )
        self._put(event.call, event.session, now)
        if event.reuse != "reused":
            self._chains.pop((event.session, event.lane), None)

    def completed(self, row: CallRow) -> None:
        """A call ended; `row` is the roll-up's."""
        chain = (row.session, row.lane)
        kept = self._chains.get(chain, 0)
        counts = self.calls.get(row.call)
        wrong = "input_tokens" in row.suspect or "output_tokens" in row.suspect
        if counts is not None and not row.warmup and row.input_tokens is not None and not (counts.tokens_in or wrong):
            now = msgspec.structs.replace(
                counts,
                tokens_in=row.input_tokens,
                tokens_kept=min(kept, row.input_tokens) if row.reuse == "reused" else 0,
            )
            self._put(row.call, row.session, now)
        self._chains.pop(chain, None)
        if row.status == "completed" and row.input_tokens is not None and not wrong:
            self._chains[chain] = row.input_tokens + (row.output_tokens or 0)
            _trim(self._chains, self._max_sessions)

    def of_calls(self, calls: list[str]) -> Savings:
        """The sum over some calls, e.g. those of a turn; forgotten ones count nothing."""
        total = Savings()
        for call in calls:
            found = self.calls.get(call)
            if found is not None:
                total.add(found)
        return total

    def _put(self, call: str, session: str | None, now: Savings) -> None:
        sums = [self.total]
        if session is not None:
            if session not in self.sessions:
                self.sessions[session] = Savings()
                _trim(self.sessions, self._max_sessions)
            sums.append(self.sessions[session])
        before = self.calls.get(call)
        for figures in sums:
            if before is not None:
                figures.add(before, -1)
            figures.add(now)
        self.calls[call] = now
        _trim(self.calls, self._max_calls)


def _trim(kept: dict[str, Savings] | dict[tuple[str | None, str | None], int], limit: int) -> None:
    while len(kept) > limit:
        del kept[next(iter(kept))]  # type: ignore[arg-type]
