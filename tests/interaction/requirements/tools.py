"""Rules of tools and items."""

from __future__ import annotations

from tests.interaction.requirements.rule import OPEN_RESPONSES, OURS, REFERENCE, SDK, Rule

RULES = (
    Rule("tools.accepted", "unslothai/unsloth#5141", "All kinds are accepted; what can't be used is counted."),
    Rule("tools.kinds", "mudler/LocalAI#11608", "Tools keep their kind: namespaces and hosted ones are no functions."),
    Rule("tools.choice", REFERENCE, "tool_choice is kept by the model, or the response fails."),
    Rule("tools.limits", OPEN_RESPONSES, "No more calls than max_tool_calls; one if calls may not be parallel."),
    Rule("tools.custom", SDK, "Custom tools, in namespaces too, are called with input that fits their grammar."),
    Rule("tools.additional", SDK, "Tools that come as items join those of the whole conversation."),
    Rule("items.accepted", SDK, "Items of every kind are accepted as input."),
    Rule("items.outputs", OPEN_RESPONSES, "An output of any kind needs its call, matched by call_id."),
    Rule("items.reference", SDK, "An item_reference stands for the stored item with its id."),
    Rule("screening.told", OURS, "A screen's verdict is told by response.failed and counted in telemetry."),
)
