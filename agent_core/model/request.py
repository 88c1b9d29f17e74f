"""The bytes of a create: what does not change from call to call is encoded and digested once.

Owns the field defaults (`store` false, encrypted reasoning included, so that a full resend works without a stored
response). A request costs its new items and one copy of the rest, never an encoding of what was sent before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import msgspec

from agent_core.errors import ProtocolError
from agent_core.model.port import CallRequest
from agent_core.protocol.chain import IGNORED_FIELDS, Plan
from agent_core.protocol.item_log import ItemLog
from agent_core.wire.codec import encode

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])

DEFAULTS: Final[Mapping[str, Any]] = {"store": False, "include": ["reasoning.encrypted_content"]}


class Fields(msgspec.Struct, frozen=True):
    """Everything of a create but its input: `encoded` as JSON members, `digest` for the comparison with the last
    call."""

    encoded: bytes
    digest: bytes


class _Compacted(msgspec.Struct):
    output: list[msgspec.Raw]


_compacted: Final = msgspec.json.Decoder(_Compacted)


class Builder:
    """Builds the creates of one session."""

    def __init__(self) -> None:
        self._last: CallRequest | None = None
        self._fields = Fields(b"", b"")
        self._sized: tuple[ItemLog | None, int, int, int] = (None, 0, 0, 0)

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

    def full_size(self, size: int, plan: Plan, log: ItemLog, new_items: int) -> int:
        """What a create of `size` bytes with `new_items` would have had with its whole input."""
        if plan.previous_response_id is None:
            return size
        held_items = max(0, plan.first_new - log.start)
        commas = held_items if new_items else max(0, held_items - 1)
        without_id = size - len(b'"previous_response_id":,') - len(encode(plan.previous_response_id))
        return without_id + self._held_bytes(log, plan.first_new) + commas

    def _held_bytes(self, log: ItemLog, count: int) -> int:
        """Bytes of the items of `log` from its start to `count`; each is measured once in the log's life."""
        if count <= log.start:
            return 0
        known, start, measured, total = self._sized
        if known is not log or start != log.start or measured > count:
            start, measured, total = log.start, log.start, 0
        total += sum(map(len, log.raw(measured)[: count - measured]))
        self._sized = (log, start, count, total)
        return total


def socket_frame(
    fields: Fields,
    previous_response_id: str | None,
    items: Sequence[bytes],
    *,
    generate: bool = True,
    lane: str | None = None,
) -> bytes:
    """One `response.create` for a WebSocket; `lane` None is the default lane."""
    parts = [b'{"type":"response.create",', fields.encoded]
    if lane is not None:
        parts.append(b'"stream_id":%b,' % encode(lane))
    if previous_response_id is not None:
        parts.append(b'"previous_response_id":%b,' % encode(previous_response_id))
    if not generate:
        parts.append(b'"generate":false,')
    parts += (b'"input":[', b",".join(items), b"]}")
    return b"".join(parts)


def cancel_frame(lane: str | None) -> bytes:
    """Ends the lane's running response, at a service that knows it."""
    return encode({"type": "response.cancel"} | ({} if lane is None else {"stream_id": lane}))


def without_seal(raw: bytes) -> bytes:
    """Reasoning without what a service has sealed in it, and without the id that goes with that; else the item as it
    is."""
    if b'"encrypted_content"' not in raw:
        return raw
    try:
        fields = _fields.decode(raw)
    except msgspec.DecodeError:
        return raw
    if bytes(fields.get("type", b"")) != b'"reasoning"' or bytes(fields.get("encrypted_content", b"null")) == b"null":
        return raw
    return encode({name: value for name, value in fields.items() if name not in ("encrypted_content", "id")})


def http_body(fields: Fields, items: Sequence[bytes]) -> bytes:
    """The body of a streaming POST."""
    return b"".join((b'{"stream":true,', fields.encoded, b'"input":[', b",".join(items), b"]}"))


def compact_body(request: CallRequest) -> bytes:
    """The body of a standalone compaction of everything in the request's items."""
    items = request.items.raw(request.items.start)
    members = [b'"model":%b,' % encode(request.model)]
    if request.instructions:
        members.append(b'"instructions":%b,' % encode(request.instructions))
    if key := request.options.get("prompt_cache_key"):
        members.append(b'"prompt_cache_key":%b,' % encode(key))
    return b"".join((b"{", *members, b'"input":[', b",".join(items), b"]}"))


def read_compacted(answer: bytes) -> list[bytes]:
    """The items of a `response.compaction`. Raises ProtocolError for what is none, or is empty."""
    try:
        items = _compacted.decode(answer).output
    except msgspec.DecodeError as error:
        raise ProtocolError(f"not an answer to a compaction ({error})") from None
    if not items:
        raise ProtocolError("the service compacted the conversation to nothing")
    return [bytes(item) for item in items]


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
