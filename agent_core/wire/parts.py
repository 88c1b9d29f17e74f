"""Content parts of messages, outputs and reasoning: typed views of undecoded JSON."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.codec import UNREADABLE, decoder, misfit
from agent_core.wire.generated.types import (
    PARTS,
    InputFile,
    InputImage,
    InputText,
    OutputText,
    Part,
    ReasoningText,
    Refusal,
    SummaryText,
    Text,
)
from agent_core.wire.head import read_head
from agent_core.wire.unknown import UnknownPart

__all__ = [
    "PARTS",
    "AnyPart",
    "InputFile",
    "InputImage",
    "InputText",
    "OutputText",
    "Part",
    "ReasoningText",
    "Refusal",
    "SummaryText",
    "Text",
    "UnknownPart",
    "part_text",
    "read_part",
    "read_part_strict",
    "read_parts",
]

AnyPart = Part | UnknownPart


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    return decoder(Part)


def read_part(raw: Raw | bytes) -> AnyPart:
    """Lenient: what is unknown or does not fit becomes an UnknownPart. Never raises."""
    try:
        return read_part_strict(raw, "")
    except WireError:
        return UnknownPart(read_head(raw).type, Raw(raw))


def read_parts(content: str | Sequence[Raw]) -> list[AnyPart]:
    """The parts of a content field; a plain string is one `input_text`."""
    if isinstance(content, str):
        return [InputText(text=content)]
    return [read_part(raw) for raw in content]


def read_part_strict(raw: Raw | bytes, path: str) -> Part:
    """Raises WireError with the path of the misfit below `path`."""
    try:
        part: Part = _decoder().decode(raw)
    except UNREADABLE as exc:
        head = read_head(raw)
        if not head.is_object:
            raise misfit(exc, path) from exc
        kind = PARTS.get(head.type)
        if kind is None:
            raise WireError(f"{path}.type: {head.type_fault('content type')}.", param=f"{path}.type") from exc
        return head.read_as(kind, path)
    return part


def part_text(part: AnyPart) -> str:
    """The human text of a part, "" for images, files and unknown parts."""
    if isinstance(part, Refusal):
        return part.refusal
    if isinstance(part, InputText | OutputText | SummaryText | ReasoningText | Text):
        return part.text
    return ""
