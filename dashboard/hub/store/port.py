"""The ports of the hub's store: what it must do, whatever keeps the bytes.

Their contract is `tests/unit/dashboard/hub/test_store_contract.py`, which runs on every store.

Methods block. The hub calls `write` and `expire` from one thread and asks from several. An implementation raises
`StoreError` and nothing else of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from agent_core.errors import LooplineError, Retry
from dashboard.hub.store.records import (
    AuditRecord,
    Cell,
    Dims,
    Expired,
    FindingQuery,
    FindingRecord,
    Flush,
    Level,
    Reach,
    SessionRecord,
    SourceRecord,
    TokenRecord,
    TurnQuery,
    TurnRecord,
)


class StoreError(LooplineError):
    """The store can't do it now. Codes: `store_full` (no room), `store_busy` (locked), `store_failed`.

    Repeating the call is harmless and right.
    """

    code = "store_failed"
    retry = Retry.BACKOFF
    exit_code = 2


class Store(Protocol):
    """What agents sent, and the roll-ups made of it."""

    shared: bool
    """Whether other hubs write to it as well."""

    notices: list[str]
    """What a person is to know of damage that was found: one line each, with the file's name."""

    def write(self, flush: Flush) -> dict[str, int]:
        """Make one unit durable; gives the last event position of the days it touched.

        Events known by (source, seq), turns and findings known by their ids are kept once; cells are added exactly
        once, together with `flush.sources`. After an error the same unit may be written again. Of a shared store see
        `Flush.bases` and `Flush.moved`.
        """

    def sources(self) -> list[SourceRecord]:
        """All sources, as last written."""

    def some_sources(self, names: Sequence[str]) -> list[SourceRecord]:
        """Those of these names, as last written."""

    def owners(self, team: str, names: Sequence[str]) -> dict[str, str]:
        """The identities that own these sessions and turns of a team, as far as they are owned."""

    def kept(self, source: str, days: Sequence[str], seqs: Sequence[int]) -> set[int]:
        """Which sequences of a source are kept, at least those out of `seqs` (not empty)."""

    def positions(self) -> dict[str, int]:
        """The last event position by day."""

    def events_after(
        self, positions: Mapping[str, int], upto: Mapping[str, int], team: str | None, limit: int
    ) -> tuple[list[bytes], dict[str, int]]:
        """At most `limit` event bodies of the days in `upto`, after `positions` and up to `upto`, in order per source;
        with them the positions reached. A day that is not in `positions` is read from its start."""

    def source_events(self, source: str, days: Sequence[str], from_seq: int | None) -> list[bytes]:
        """Bodies of a source in order: its context events, and from `from_seq` on all but samples (None: none)."""

    def events_of(self, subjects: Sequence[str], team: str | None) -> list[bytes]:
        """All bodies with one of these subjects, by source and sequence, samples left out."""

    def events_between(self, since_us: int, until_us: int, team: str | None) -> Iterator[bytes]:
        """Bodies in [since, until), samples left out, in order per source. Reads in pages; close it early at will."""

    def tell_damaged(self, bodies: Sequence[bytes]) -> None:
        """These bodies are no events: add a notice for each file that holds one, once."""

    def turn(self, turn: str, team: str | None) -> TurnRecord | None:
        """The latest turn of that id."""

    def turns(self, query: TurnQuery) -> list[TurnRecord]: ...

    def findings(self, query: FindingQuery) -> list[FindingRecord]: ...

    def cells(self, level: Level, since_s: int, until_s: int, team: str | None) -> list[tuple[int, Dims, Cell]]:
        """Roll-up rows with a bucket in [since, until), by bucket."""

    def expire(
        self, *, raw_before: str, cells_before: Mapping[Level, int], samples_before_us: int, seen_before_us: int,
        budget_s: float,
    ) -> Expired:  # fmt: skip
        """Unlink the files of days before `raw_before`; delete cells of buckets before the given starts, samples before
        an instant, and sources not seen since one. Stops after about `budget_s` seconds."""

    def disk_bytes(self) -> int: ...

    def days(self) -> list[str]:
        """Days with raw events, oldest first."""

    def close(self) -> None: ...


@runtime_checkable
class Shared(Protocol):
    """What a shared store has beyond `Store`: hubs tell each other what they wrote."""

    def tell(self, message: str) -> None:
        """To all hubs, this one included; 8,000 bytes at most."""

    def listen(self, on_told: Callable[[str], None], on_gap: Callable[[], None]) -> Callable[[], None]:
        """Call these, in a thread, with what is told, and whenever something may have been missed; first of all once.
        Gives what ends it."""

    def sources_in(self, reached: Sequence[Reach]) -> list[SourceRecord]:
        """The sources of these events, as last written."""

    def events_since(self, record: SourceRecord, seq: int) -> list[bytes]:
        """Bodies of a source after `seq` and up to the record's own, in order."""


class People(Protocol):
    """Tokens, sessions, settings and what was done with them. Small and quick, whatever the events do."""

    notices: list[str]
    """As of `Store`."""

    def add_token(self, token: TokenRecord) -> bool:
        """False if there is an unrevoked one of that name; a revoked one is replaced."""

    def revoke_token(self, name: str, at_us: int) -> bool:
        """Revoke it and end its sessions; False if there is none to revoke."""

    def tokens(self) -> list[TokenRecord]:
        """All, revoked ones included, by name."""

    def token_by_digest(self, digest: str) -> TokenRecord | None:
        """An unrevoked token."""

    def put_session(self, session: SessionRecord) -> None: ...

    def session(self, digest: str) -> tuple[SessionRecord, TokenRecord | None] | None:
        """The session and its token, whether or not that is revoked; None if there is no such session."""

    def touch_session(self, digest: str, at_us: int) -> None: ...

    def end_session(self, digest: str) -> None: ...

    def end_old_sessions(self, used_before_us: int, created_before_us: int) -> int:
        """End those last used or created before these instants; gives how many."""

    def version(self) -> tuple[int, int]:
        """Another value than before whenever anything may have been changed, by this process or another."""

    def value(self, name: str) -> bytes | None:
        """A named value, e.g. the settings."""

    def put_value(self, name: str, value: bytes) -> None: ...

    def audit(self, record: AuditRecord) -> None: ...

    def audited(self, limit: int) -> list[AuditRecord]:
        """Newest first."""

    def close(self) -> None: ...
