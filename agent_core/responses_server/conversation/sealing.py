"""Opaque texts that clients keep for us and send back: the `encrypted_content` of compactions and reasoning.

They are encrypted and authenticated (AES-256-GCM), so what is opened is what this service sealed, for the same owner
and as the same kind; nothing else is looked at. The key of an owner comes from the secret of the response store, so all
who share a store can read what one of them has sealed. The size of the content is in the seal: what would take too much
to unpack is refused before anything is unpacked.

Part: `cryptography` (Apache-2.0 or BSD; pyca). Named substitute: PyNaCl. Imported when something is sealed or opened.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import importlib
import os
import zlib
from typing import Any, Literal

import msgspec

from agent_core.responses_server.slices import Slices

Kind = Literal["compaction", "reasoning"]

_MARKS: dict[Kind, str] = {"compaction": "llc2.", "reasoning": "llr2."}
_FORMER: dict[Kind, str] = {"compaction": "llc1.", "reasoning": "llr1."}
"""Packed and not encrypted: anybody could make one, so none is opened."""
NONCE_BYTES, SIZE_BYTES, SECRET_BYTES = 12, 4, 32
MAX_BYTES = 32 * 1024 * 1024
"""Largest content that is sealed or opened."""
STEP_BYTES = 512 * 1024
"""Unpacked before others get their turn: about a millisecond."""


class Sealer:
    """The seals of a service. `secret` is set once, before the first request; it never leaves the process."""

    def __init__(self, secret: bytes = b"") -> None:
        self._secret = secret
        self._owners: dict[str, Seal] = {}

    def use(self, secret: bytes) -> None:
        """Seal and open by this secret from now on."""
        self._secret = secret
        self._owners.clear()

    def of(self, owner: str) -> Seal:
        """The seal of what the API key `owner` (its name) is given."""
        seal = self._owners.get(owner)
        if seal is None:
            if not self._secret:
                raise RuntimeError("the sealer has no secret yet")
            seal = self._owners[owner] = Seal(hmac.digest(self._secret, b"loopline seal\0" + owner.encode(), "sha256"))
        return seal


class Sealed(msgspec.Struct, frozen=True):
    """Content that was authenticated and is still packed. `size`: bytes that it unpacks to."""

    size: int
    packed: bytes

    def unpack(self, shape: Any) -> Slices[Any]:
        """The content as `shape`; None if it is no longer of that shape."""
        unpacker, parts, data = zlib.decompressobj(), [], self.packed
        try:
            while not unpacker.eof and data:
                parts.append(unpacker.decompress(data, STEP_BYTES))
                data = unpacker.unconsumed_tail
                if len(parts) * STEP_BYTES > self.size + STEP_BYTES:
                    return None
                yield
            return msgspec.json.decode(b"".join(parts), type=shape)
        except (zlib.error, ValueError, msgspec.DecodeError, RecursionError):
            return None


class Seal:
    """The seal of one owner. Nonces are random: good for some billions of texts."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._cipher: Any = None

    def seal(self, kind: Kind, value: object) -> str:
        """`value` as a text that only the same seal opens. Blocks: some ms a MB. Raises ValueError above MAX_BYTES."""
        data = msgspec.json.encode(value)
        if len(data) > MAX_BYTES:
            raise ValueError(f"content of {len(data)} bytes")
        nonce = os.urandom(NONCE_BYTES)
        plain = len(data).to_bytes(SIZE_BYTES, "big") + zlib.compress(data, 1)
        sealed: bytes = self._aes().encrypt(nonce, plain, kind.encode())
        return _MARKS[kind] + base64.urlsafe_b64encode(nonce + sealed).decode()

    def check(self, kind: Kind, text: str) -> Sealed | None:
        """The content of a text; None if this seal did not make it, or not as this kind, or it was changed."""
        if not text.startswith(_MARKS[kind]):
            return None
        try:
            packed = base64.b64decode(text[len(_MARKS[kind]) :], altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        if len(packed) < NONCE_BYTES + SIZE_BYTES:
            return None
        try:
            plain: bytes = self._aes().decrypt(packed[:NONCE_BYTES], packed[NONCE_BYTES:], kind.encode())
        except _invalid_tag():
            return None
        return Sealed(int.from_bytes(plain[:SIZE_BYTES], "big"), plain[SIZE_BYTES:])

    def _aes(self) -> Any:
        if self._cipher is None:
            aead = importlib.import_module("cryptography.hazmat.primitives.ciphers.aead")
            self._cipher = aead.AESGCM(self._key)
        return self._cipher


def claims_ours(kind: Kind, text: str) -> bool:
    """Whether a text says of itself that this service, or one like it, has sealed it."""
    return text.startswith((_MARKS[kind], _FORMER[kind]))


def is_former(kind: Kind, text: str) -> bool:
    """Whether it is of the form that was packed and not encrypted."""
    return text.startswith(_FORMER[kind])


def new_secret() -> bytes:
    return os.urandom(SECRET_BYTES)


def _invalid_tag() -> type[Exception]:
    tag: type[Exception] = importlib.import_module("cryptography.exceptions").InvalidTag
    return tag
