"""Flags tool outputs that try to give the model orders: a web page or a file is data, whatever it says of itself.

Four signs: control tokens of chat templates, a demand to drop earlier instructions, a demand to hide something from the
user, and text that people can't see. They are heuristics: who quotes an attack is flagged too, and who words it
otherwise is not. A flag blocks nothing.
"""

from __future__ import annotations

import re
from typing import Any

from agent_core.responses_server.screening.text import TextClassifier
from agent_core.wire.items import output_call_id

NEAR_CHARS = 100
"""How far round a telling word the demand is looked for."""

_CONTROL = ("<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|eot_id|>", "<|system|>", "<|endofprompt|>",
            "<<sys>>", "[/inst]", "<start_of_turn>")  # fmt: skip
_DROP = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|do not follow|don't follow)\b[^.\n]{0,40}?"
    r"\b(?:previous|prior|above|earlier|preceding|existing|original|all|any|your|system)\b[^.\n]{0,40}?"
    r"\b(?:instructions?|prompts?|guidelines|directives|rules)\b"
)
_HIDE = re.compile(
    r"\b(?:do not|don't|never|without)\s+(?:ever\s+)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|alert(?:ing)?|"
    r"notify(?:ing)?|reveal(?:ing)?|show(?:ing)?|ask(?:ing)?)\b[^.\n]{0,40}?\bthe user\b"
)
_DEMANDS = (
    (("instruction", "prompt", "guidelines", "directives", "rules"), _DROP, "orders to drop earlier instructions"),
    (("the user",), _HIDE, "orders to hide something from the user"),
)
_UNSEEN = re.compile("[\U000e0020-\U000e007f]{4,}|[\u200b\u200c\u200d\u2060\u2063\ufeff]{8,}")


class InjectionScreen(TextClassifier):
    name = "injection"
    code = "prompt_injection"

    def concerns(self, item: Any) -> bool:
        return output_call_id(item) is not None

    def find(self, text: str) -> str | None:
        if not text.isascii() and _UNSEEN.search(text) is not None:
            return "a tool output with text that can't be seen"
        low = text.lower()
        if ("<" in low or "[/" in low) and any(mark in low for mark in _CONTROL):
            return "a tool output with control tokens of a chat template"
        for words, demand, what in _DEMANDS:
            if any(_near(low, word, demand) for word in words):
                return f"a tool output that gives the model {what}"
        return None


def _near(text: str, word: str, demand: re.Pattern[str]) -> bool:
    """Whether the demand stands round any place of the word."""
    at = text.find(word)
    while at >= 0:
        if demand.search(text, max(0, at - NEAR_CHARS), at + NEAR_CHARS) is not None:
            return True
        at = text.find(word, at + NEAR_CHARS - 20)
    return False
