"""The few fields that tell what an object is, read without judging the rest of it."""

from __future__ import annotations

from functools import cache

import msgspec
from msgspec import Raw

from agent_core.wire.codec import UNREADABLE


class Head:
    """Fields of an object, undecoded. `is_object` is false for any other JSON and for what is no JSON at all."""

    __slots__ = ("fields", "is_object", "is_json", "type")

    def __init__(self, fields: dict[str, Raw] | None, is_json: bool) -> None:
        self.is_json = is_json
        self.is_object = fields is not None
        self.fields = fields or {}
        self.type = self.text("type") or ""
        """"" when there is none or it is no string."""

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


def read_head(data: Raw | bytes | str) -> Head:
    try:
        return Head(_object().decode(data), is_json=True)
    except msgspec.ValidationError:
        return Head(None, is_json=True)
    except UNREADABLE:
        return Head(None, is_json=False)


@cache
def _object() -> msgspec.json.Decoder[dict[str, Raw]]:
    return msgspec.json.Decoder(dict[str, Raw])


@cache
def _text() -> msgspec.json.Decoder[str]:
    return msgspec.json.Decoder(str)


@cache
def _number() -> msgspec.json.Decoder[int]:
    return msgspec.json.Decoder(int)
