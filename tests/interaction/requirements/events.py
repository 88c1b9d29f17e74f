"""Rules of the event ladder of one response."""

from __future__ import annotations

from tests.interaction.requirements.rule import OPEN_RESPONSES, OURS, SDK, Rule

RULES = (
    Rule("events.ladder", OPEN_RESPONSES, "What is added is done; parts open before their deltas and close after."),
    Rule("events.sequence", OPEN_RESPONSES, "Events of a response are numbered from 0 without a gap."),
    Rule("events.one_terminal", OPEN_RESPONSES, "A response ends with exactly one terminal event, and nothing else."),
    Rule("events.required_keys", OPEN_RESPONSES, "The 31 required keys of a response are there from the start."),
    Rule("events.output", OPEN_RESPONSES, "The terminal event shows exactly the items that were done."),
    Rule("events.known", SDK, "Every event that is sent is one that the client's reader knows."),
    Rule("events.timing", "openai/codex: responsesapi.websocket_timing", "Those who ask get stage timings first."),
    Rule("events.usage", SDK, "Usage tells input, cached, output and reasoning tokens."),
    Rule("events.nothing_lost", OURS, "A cancel never loses an event that has its number."),
)
