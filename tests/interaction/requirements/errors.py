"""Rules of errors: their form, their codes, and when which is sent."""

from __future__ import annotations

from tests.interaction.requirements.rule import GUIDE, OURS, Rule

RULES = (
    Rule("errors.form", "openai/codex: hangs without status", "An error has a numeric status and a string code."),
    Rule("errors.place", OURS, "invalid_json, unsupported_event_type or invalid_request, with the path of the field."),
    Rule("errors.before_and_after", GUIDE, "Before response.created an error, after it response.failed; never both."),
    Rule("errors.fault", OURS, "A fault of the service is told as server_error and logged without content."),
    Rule("errors.survive", GUIDE, "After an error the connection serves the next create."),
)
