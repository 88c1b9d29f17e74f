"""What the readers do not know: kept as it came, and written back unchanged.

These are plain classes on purpose: the codec writes their `raw`, while a struct would be written field by field.
"""

from __future__ import annotations

from msgspec import Raw


class Unknown:
    """An object of an unknown kind, or one that does not fit its kind. `type` is "" where it has no usable one."""

    __slots__ = ("raw", "type")

    def __init__(self, type: str, raw: Raw) -> None:
        self.type = type
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Unknown) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(type={self.type!r}, {len(bytes(self.raw))} bytes)"

    def _key(self) -> tuple[str, bytes]:
        return (self.type, bytes(self.raw))


class UnknownItem(Unknown):
    __slots__ = ()


class UnknownPart(Unknown):
    __slots__ = ()


class UnknownEvent(Unknown):
    """`sequence_number` and `stream_id` are there for routing, as far as the event had them."""

    __slots__ = ("sequence_number", "stream_id")

    def __init__(self, type: str, raw: Raw, sequence_number: int = 0, stream_id: str | None = None) -> None:
        super().__init__(type, raw)
        self.sequence_number = sequence_number
        self.stream_id = stream_id
