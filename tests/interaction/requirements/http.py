"""Rules of HTTP: the same responses by POST, and what is only there by HTTP."""

from __future__ import annotations

from tests.interaction.requirements.rule import OPEN_RESPONSES, OURS, REFERENCE, Rule

RULES = (
    Rule("http.equal", OPEN_RESPONSES, "WebSocket, SSE and JSON answers to one request are equal item for item."),
    Rule("http.chunk", "Open Responses compliance suite", "Each SSE event is one write; the stream ends with [DONE]."),
    Rule("http.refused", REFERENCE, "A request that is refused gets an HTTP status and an error body."),
    Rule("http.large", OURS, "A body above the frame limit is served."),
    Rule("http.leave", OURS, "A client that leaves frees its response at once."),
    Rule("http.models", REFERENCE, "GET /models and /models/{id} tell what each model can do."),
    Rule("http.probes", OURS, "/healthz and /readyz need no key."),
    Rule("http.retrieve", REFERENCE, "GET /responses/{id}: a stored response as it ended."),
    Rule("http.delete", REFERENCE, "DELETE /responses/{id}: gone, and with it what could be continued from it."),
    Rule("http.input_items", REFERENCE, "GET /responses/{id}/input_items: all it was made from, in pages, with ids."),
    Rule("http.cancel", REFERENCE, "POST /responses/{id}/cancel ends a response that runs, on any connection."),
    Rule("http.input_tokens", REFERENCE, "POST /responses/input_tokens counts as a response would."),
    Rule("http.owner", OURS, "Each key sees its own responses only."),
    Rule("http.unserved", OURS, "What is not served is told as a JSON error."),
)
