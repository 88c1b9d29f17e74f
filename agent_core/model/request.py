"""The bytes of a create: what does not change from call to call is encoded and digested once.

Owns the field defaults (`store` false, encrypted reasoning included, so that a full resend works without a stored
response). A request costs its new items and one copy of the rest, never an encoding of what was sent before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import msgspec

from agent_core.model.port import CallRequest
from agent_core.protocol.chain import IGNORED_FIELDS, Plan
from agent_core.protocol.item_log import ItemLog
from agent_core.wire.codec import encode

DEFAULTS: Final[Mapping[str, Any]] = {"store": False, "include": ["reasoning.encrypted_content"]}


class Fields(msgspec.Struct, frozen=True):
    """Everything of a create but its input: `encoded` as JSON members, `digest` for the comparison with the last
    call."""

    encoded: bytes
    digest: bytes


class Builder:
    """Builds the creates of one session."""

    def __init__(self) -> None:
        self._last: CallRequest | None = None
        self._fields = Fields(b"", b"")
        self._sized: tuple[ItemLog | None, int, int] = (None, 0, 0)

    def fields(self, request: CallRequest) -> Fields:
        """The request's fields, from memory where nothing but the items changed since the last time."""
        last = self._last
        if (
            last is None
            or last.instructions != request.instructions
            or last.tools != request.tools
            or last.model != request.model
            or last.options != request.options
        ):
            self._fields = _encode(request)
        self._last = request
        return self._fields

    def held_bytes(self, log: ItemLog, count: int) -> int:
        """Bytes of the first `count` items of `log`; each item is measured once in the log's life."""
        if count == 0:
            return 0
        known, measured, total = self._sized
        if known is not log or measured > count:
            measured, total = 0, 0
        total += sum(map(len, log.raw(measured)[: count - measured]))
        self._sized = (log, count, total)
        return total


def full_size(size: int, plan: Plan, held_bytes: int, new_items: int) -> int:
    """What a create of `size` bytes would have had with the `held_bytes` of the items that it leaves out."""
    if plan.previous_response_id is None:
        return size
    commas = plan.first_new if new_items else max(0, plan.first_new - 1)
    return size + held_bytes + commas - len(b'"previous_response_id":,') - len(encode(plan.previous_response_id))


def socket_frame(
    fields: Fields, previous_response_id: str | None, items: Sequence[bytes], *, generate: bool = True
) -> bytes:
    """One `response.create` for a WebSocket."""
    parts = [b'{"type":"response.create",', fields.encoded]
    if previous_response_id is not None:
        parts.append(b'"previous_response_id":%b,' % encode(previous_response_id))
    if not generate:
        parts.append(b'"generate":false,')
    parts += (b'"input":[', b",".join(items), b"]}")
    return b"".join(parts)


def http_body(fields: Fields, items: Sequence[bytes]) -> bytes:
    """The body of a streaming POST."""
    return b"".join((b'{"stream":true,', fields.encoded, b'"input":[', b",".join(items), b"]}"))


def _encode(request: CallRequest) -> Fields:
    members: dict[str, bytes] = {"model": encode(request.model)}
    if request.instructions:
        members["instructions"] = encode(request.instructions)
    members["tools"] = request.tools or b"[]"
    for name, value in {**DEFAULTS, **request.options}.items():
        members[name] = encode(value)
    digest = blake2b(digest_size=16)
    for name in sorted(members):
        if name not in IGNORED_FIELDS:
            digest.update(b"%b:%d:" % (name.encode(), len(members[name])))
            digest.update(members[name])
    encoded = b"".join(b"%b:%b," % (encode(name), value) for name, value in members.items())
    return Fields(encoded, digest.digest())
