"""What a service holds of a conversation, and what no client may add to it."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class Conversation:
    """What a lane of the service holds, and the invariants of what a client adds to it."""

    def __init__(self, violations: list[str]) -> None:
        self.latest: str | None = None
        self._held: list[Json] = []
        self._running: list[Json] = []
        self._violations = violations

    def create(self, body: Json) -> None:
        previous = body.get("previous_response_id")
        if previous is not None and previous != self.latest:
            return  # not ours to judge: the script says what comes of it
        self._running = [*(self._held if previous is not None else []), *body["input"]]
        calls = [item.get("call_id") for item in self._running if str(item.get("type")).endswith("_call")]
        outputs = [item.get("call_id") for item in self._running if str(item.get("type")).endswith("_call_output")]
        self._violations += [f"an output for {call}, which nobody called" for call in outputs if call not in calls]
        self._violations += [f"{outputs.count(call)} outputs for {call}" for call in calls if outputs.count(call) > 1]

    def event(self, event: Json) -> None:
        if event.get("type") in ("response.completed", "response.incomplete") and "id" in event.get("response", {}):
            self.latest = event["response"]["id"]
            self._held = [*self._running, *event["response"].get("output", [])]


def line_of(body: Json) -> str:
    """What a create asks for, in a line."""
    kind = "warm-up" if body.get("generate") is False else "create"
    previous = body.get("previous_response_id")
    kinds = [str(item.get("role") or item.get("type")) for item in body.get("input", ())]
    return f"{kind} {f'continuing {previous}' if previous else 'in full'}: {', '.join(kinds) or 'nothing new'}"
