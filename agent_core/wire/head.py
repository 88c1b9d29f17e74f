"""The few fields that tell what an object is, read without judging the rest of it."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import msgspec
from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.codec import UNREADABLE, encode, read

T = TypeVar("T")

_NULL = b"null"


class Head:
    """The fields of an object, undecoded. `is_object` is false for other JSON and for what is no JSON at all."""

    __slots__ = ("fields", "is_object", "type")

    def __init__(self, fields: dict[str, Raw] | None) -> None:
        self.is_object = fields is not None
        self.fields = fields or {}
        self.type = self.text("type") or ""
        """"" when there is none or it is no string."""

    def type_fault(self, what: str) -> str:
        """Why the object's `type` is no good, for an error message; what the peer sent is shown in part at most."""
        return f"unknown {what} {self.type[:60]!r}" if self.type else "missing or not a string"

    def has(self, name: str) -> bool:
        """Whether a field is there and not null."""
        return name in self.fields and bytes(self.fields[name]) != _NULL

    def text(self, name: str) -> str | None:
        """A string field, None if it is absent or no string."""
        raw = self.fields.get(name)
        try:
            return None if raw is None else _text().decode(raw)
        except UNREADABLE:
            return None

    def number(self, name: str) -> int | None:
        """An integer field, None if it is absent or no integer."""
        raw = self.fields.get(name)
        try:
            return None if raw is None else _number().decode(raw)
        except UNREADABLE:
            return None

    def read_as(self, kind: type[T], path: str = "") -> T:
        """The object as a `kind`; null stands for "absent" where the kind has no null. Raises WireError."""
        try:
            return read(encode(self.fields), kind, path)
        except WireError:
            present = {name: raw for name, raw in self.fields.items() if bytes(raw) != _NULL}
            if len(present) == len(self.fields):
                raise
            try:
                return read(encode(present), kind, path)
            except WireError:
                pass
            raise


def read_head(data: Raw | bytes | str) -> Head:
    """Never raises."""
    try:
        return Head(_object().decode(data))
    except UNREADABLE:
        return Head(None)


@cache
def _object() -> msgspec.json.Decoder[dict[str, Raw]]:
    return msgspec.json.Decoder(dict[str, Raw])


@cache
def _text() -> msgspec.json.Decoder[str]:
    return msgspec.json.Decoder(str)


@cache
def _number() -> msgspec.json.Decoder[int]:
    return msgspec.json.Decoder(int)
