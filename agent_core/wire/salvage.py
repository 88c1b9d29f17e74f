"""Read what fits of an object that does not fit as a whole: field by field, misfits become the field's default."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from agent_core.wire.codec import UNREADABLE
from agent_core.wire.head import read_head

S = TypeVar("S", bound=Struct)


def salvage(kind: type[S], fields: dict[str, Raw]) -> S | None:
    """A `kind` made of the fields that fit; None if a field without default is missing or does not fit."""
    values: dict[str, Any] = {}
    for name, encoded, decoder, nested in _plan(kind):
        raw = fields.get(encoded)
        if raw is None:
            continue
        try:
            values[name] = decoder.decode(raw)
        except UNREADABLE:
            if nested is not None:
                inner = read_head(raw)
                value = salvage(nested, inner.fields) if inner.is_object else None
                if value is not None:
                    values[name] = value
    try:
        return kind(**values)
    except TypeError:  # a required field is missing
        return None


@cache
def _plan(kind: type[Struct]) -> list[tuple[str, str, msgspec.json.Decoder[Any], type[Struct] | None]]:
    return [
        (f.name, f.encode_name, msgspec.json.Decoder(f.type), _struct_in(f.type)) for f in msgspec.structs.fields(kind)
    ]


def _struct_in(annotation: Any) -> type[Struct] | None:
    candidates = [annotation, *getattr(annotation, "__args__", ())]
    structs = [c for c in candidates if isinstance(c, type) and issubclass(c, Struct)]
    return structs[0] if len(structs) == 1 else None
