"""A rule of the protocol that the service keeps, as data."""

from __future__ import annotations

from dataclasses import dataclass

GUIDE = "OpenAI 'WebSocket mode' guide"
OPEN_RESPONSES = "Open Responses spec 2026-04-24"
SDK = "openai-python 3.57 types"
REFERENCE = "OpenAI API reference, Responses"
OURS = "Loopline"


@dataclass(frozen=True)
class Rule:
    """`id` is what tests name in `@pytest.mark.rule`. `source`: where the rule comes from; OURS for our own choices."""

    id: str
    source: str
    text: str
