"""Rules of continuing: the connection's memory, the durable store, forks, warm-ups."""

from __future__ import annotations

from tests.interaction.requirements.rule import GUIDE, OPEN_RESPONSES, OURS, REFERENCE, Rule

RULES = (
    Rule("chain.delta", GUIDE, "A create with previous_response_id sends new items only; the rest is remembered."),
    Rule("chain.incremental", OURS, "Only new items are validated, screened and rendered; the rest is reused."),
    Rule("chain.latest", GUIDE, "Each lane remembers its latest response only; older unstored ids are not found."),
    Rule("chain.not_found", GUIDE, "An id that is nowhere is previous_response_not_found; nothing ran."),
    Rule("chain.evict", OPEN_RESPONSES, "A failed continuation on the same lane evicts the id that it named."),
    Rule("chain.fork", GUIDE, "Other lanes may fork from a lane's head; a failed fork leaves it."),
    Rule("chain.fresh", GUIDE, "A create without previous_response_id starts a fresh conversation on its lane."),
    Rule("chain.store", REFERENCE, "Stored responses can be continued from anywhere; store is true by default."),
    Rule("chain.warm_up", GUIDE, "generate false: real id, no output, 0 output tokens, anywhere, and chainable."),
    Rule("chain.own_settings", REFERENCE, "Settings, instructions and tools are not inherited."),
    Rule("chain.verbatim", "router-for-me/CLIProxyAPI#3569", "Items are never rewritten, merged or dropped by id."),
    Rule("chain.ablation", OURS, "Switching a cache off changes speed and cached_tokens, never the answer."),
)
