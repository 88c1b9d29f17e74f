"""Opaque texts that clients keep for us and send back: the `encrypted_content` of compactions and reasoning.

They hold nothing that the client has not sent or been sent, so they are packed and not encrypted: any instance of the
service can read them, and there is no key to lose. A checksum keeps out what was cut or edited by accident.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any, Literal

import msgspec

Kind = Literal["compaction", "reasoning"]

_MARKS: dict[Kind, str] = {"compaction": "llc1.", "reasoning": "llr1."}
MAX_BYTES = 64 * 1024 * 1024
"""Largest content that is unpacked."""


def seal(kind: Kind, value: object) -> str:
    data = msgspec.json.encode(value)
    packed = zlib.crc32(data).to_bytes(4, "big") + zlib.compress(data)
    return _MARKS[kind] + base64.urlsafe_b64encode(packed).decode()


def unseal(kind: Kind, text: str, shape: Any = Any) -> Any:
    """What was sealed, as `shape`; None if `text` was not made by `seal` for this kind, or is damaged."""
    if not text.startswith(_MARKS[kind]):
        return None
    try:
        packed = base64.b64decode(text[len(_MARKS[kind]) :], altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed[4:], MAX_BYTES)
        if not unpacker.eof or zlib.crc32(data).to_bytes(4, "big") != packed[:4]:
            return None
        return msgspec.json.decode(data, type=shape)
    except (binascii.Error, zlib.error, ValueError, msgspec.DecodeError, RecursionError):
        return None
