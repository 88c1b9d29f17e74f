"""Rules of settings: honoured or refused."""

from __future__ import annotations

from tests.interaction.requirements.rule import OPEN_RESPONSES, OURS, REFERENCE, SDK, Rule

RULES = (
    Rule("settings.known", SDK, "Every setting of a create is honoured, refused or ignored on purpose."),
    Rule("settings.refused", OURS, "What can't be honoured is refused as invalid_request with its name."),
    Rule("settings.echoed", OPEN_RESPONSES, "The response shows what was in effect."),
    Rule("settings.format", REFERENCE, "text.format json_schema and json_object give JSON that fits."),
    Rule(
        "settings.truncation",
        REFERENCE,
        "Too long a context: 400, or cut from its start if truncation is auto.",
    ),
    Rule("settings.max_output_tokens", REFERENCE, "The answer is cut at max_output_tokens and ends as incomplete."),
    Rule("settings.reasoning", REFERENCE, "reasoning.encrypted_content is there if included, and can be sent back."),
    Rule("settings.update", SDK, "A configuration_update stays in effect until the next one."),
)
