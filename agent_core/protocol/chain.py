"""The client's side of a chain of responses: is the next request a delta on the last one, or the full input?

Owns what we believe the service holds for one lane of one connection. The rule is the one Codex uses: all fields but
the input (and `generate`, `client_metadata`, `stream_options`) are equal, and the new input starts with (previous
input + previous output). Decided from digests, in time that does not grow with the history. No I/O.

Sources: OpenAI guide "WebSocket mode" (continuation, eviction); openai/codex `codex-rs` `get_incremental_items`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from agent_core.protocol.item_log import ItemLog, roll_all
from agent_core.telemetry.events import Reuse

IGNORED_FIELDS: Final = frozenset(
    {"type", "input", "previous_response_id", "generate", "client_metadata", "stream_options"}
)
"""Fields of a create that do not decide whether it continues the last one (Wei-Shaw/sub2api#5307)."""


class Link(msgspec.Struct, frozen=True):
    """The response that can be continued: its id, the digest of its fields, and its input and output as a prefix."""

    response_id: str
    fields: bytes
    items: int
    digest: bytes


class Plan(msgspec.Struct, frozen=True):
    """What to send: items from `first_new` on, as a continuation of `previous_response_id` (None: the full input)."""

    previous_response_id: str | None
    first_new: int
    reuse: Reuse


class Chain:
    """Follows one lane: `plan` before a send, `sent` when it left, then one of the others for how it ended."""

    def __init__(self) -> None:
        self._link: Link | None = None
        self._cause: Reuse = "full_resend"
        self._begun = False
        self._doubtful = False
        self.forked = False
        """The link is another lane's response; nothing of our own has ended well yet."""

    @property
    def response_id(self) -> str | None:
        """The response that can be continued."""
        return None if self._link is None else self._link.response_id

    def copy(self) -> Chain:
        """A chain for a fork: another lane that may continue the same response."""
        fork = Chain()
        fork._link, fork.forked = self._link, self._link is not None
        return fork

    def plan(self, fields: bytes, log: ItemLog) -> Plan:
        """Decide for a request with the field digest `fields` and all items now in `log`. An empty delta is a
        delta. A log that was compacted behind the link starts a new chain; a compaction that the service itself put
        into the link's output does not."""
        link = self._link
        if link is None:
            return Plan(None, log.start, self._cause if self._begun else "first")
        whole = log.start == 0 or link.items > log.start
        if whole and link.fields == fields and len(log) >= link.items and log.digest(link.items) == link.digest:
            return Plan(link.response_id, link.items, "reused")
        return Plan(None, log.start, "full_resend")

    def sent(self) -> None:
        """A request left; from now on a full input is no longer the lane's first."""
        self._begun = True

    def advance(
        self, response_id: str, fields: bytes, input_digest: bytes, input_items: int, output: Sequence[bytes]
    ) -> None:
        """A response to an input of `input_items` items ended well with the items `output`: the next can continue
        it."""
        self._link = Link(response_id, fields, input_items + len(output), roll_all(input_digest, output))
        self._cause, self._doubtful, self.forked = "full_resend", False, False

    def refused(self) -> None:
        """An error that started no response. The link stays, but a service may evict what a failed continuation
        named."""
        self._doubtful = self._link is not None

    def not_found(self) -> None:
        """The service does not hold the link any more; nothing ran."""
        self._link, self._cause, self._doubtful = None, "evicted" if self._doubtful else "not_found", False

    def broken(self) -> None:
        """A response started but its end is not ours to continue (failed, cancelled, discarded)."""
        self._link, self._cause, self._doubtful = None, "full_resend", False

    def lost(self, cause: Literal["rotated", "reconnected"]) -> None:
        """The connection that held the link is gone."""
        self._link, self._cause, self._doubtful = None, cause, False
