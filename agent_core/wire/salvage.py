"""Read what fits of an object that does not fit as a whole: field by field, misfits become the field's default."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import NODEFAULT, Raw, Struct

from agent_core.wire.codec import UNREADABLE
from agent_core.wire.head import Head, read_head

S = TypeVar("S", bound=Struct)

NEUTRAL: dict[str, Any] = {"item_id": "", "output_index": 0, "content_index": 0, "summary_index": 0}
"""Places that some services leave out of item events: what they stand for then."""


def salvage(kind: type[S], head: Head) -> S | None:
    """A `kind` made of the fields that fit; None if one that has no default is missing or does not fit."""
    values: dict[str, Any] = {}
    for field, nested in _plan(kind):
        if not head.has(field.encode_name):
            if field.default is NODEFAULT and field.default_factory is NODEFAULT:
                if field.encode_name not in NEUTRAL:
                    return None
                values[field.name] = NEUTRAL[field.encode_name]
            continue
        raw = head.fields[field.encode_name]
        try:
            values[field.name] = _lax_decoder(field.type).decode(raw)
        except UNREADABLE:
            rescued = _rescue(nested, raw)
            if rescued is not None:
                values[field.name] = rescued
            elif field.default is NODEFAULT and field.default_factory is NODEFAULT:
                return None
    return kind(**values)


def _rescue(nested: type[Struct] | None, raw: Raw) -> Struct | None:
    if nested is None:
        return None
    head = read_head(raw)
    return salvage(nested, head) if head.is_object else None


@cache
def _lax_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Takes 4.0 and "4" for 4."""
    return msgspec.json.Decoder(kind, strict=False)


@cache
def _plan(kind: type[Struct]) -> list[tuple[msgspec.structs.FieldInfo, type[Struct] | None]]:
    return [(field, _struct_in(field.type)) for field in msgspec.structs.fields(kind)]


def _struct_in(annotation: Any) -> type[Struct] | None:
    """The struct of an annotation like `Usage | None`."""
    alternatives = [annotation, *getattr(annotation, "__args__", ())]
    structs = [one for one in alternatives if isinstance(one, type) and issubclass(one, Struct)]
    return structs[0] if len(structs) == 1 else None
