"""The same recorded rollout, five ways: what a client sends with each call, and over what.

    new       HTTP, a new connection for each request, the full history in each
    kept      HTTP, one kept-alive connection, the full history in each
    stored    HTTP, kept alive, by `previous_response_id` from the service's store: new items only
    deltas    one WebSocket, by `previous_response_id`: new items only
    rollout   one WebSocket, one long response that outputs are appended to (an experiment, `serve --enable-rollout`)

Run as `python -m agent_core.bench.rollout_ways WAY PORT PLAN`. Prints what was measured, as JSON. The clock runs from
before the first connection to the end of the last reply.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from agent_core.bench.lean_client import Reply, closing, open_http, open_socket

WAYS: Final = ("new", "kept", "stored", "deltas", "rollout")
MODEL: Final = "scripted"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`calls` replies of `tokens` words each and one tool call; each is answered by `output_bytes`. The history before
    it: `history_items` messages, together `history_bytes`."""

    calls: int = 40
    tokens: int = 60
    history_bytes: int = 100_000
    history_items: int = 50
    output_bytes: int = 2_000

    def rollout(self, tokens_per_s: float) -> bytes:
        """What the model `scripted` plays, as a file."""
        call = {"function_call": {"name": "read", "arguments": {"path": "a.py"}}}
        text = {"text": "word " * self.tokens}
        steps = [{"output": [text, call]}] * (self.calls - 1) + [{"output": [text]}]
        return msgspec.json.encode({"tokens_per_s": tokens_per_s, "steps": steps})


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """`first_ms`: of each call, to its first event. `own_ms`: sum of the service's own work as it told it, None if it
    did not. `cpu_s`: of the client."""

    seconds: float
    first_ms: list[float]
    own_ms: float | None
    bytes_up: int
    cpu_s: float


TOOLS: Final = [
    {
        "type": "function",
        "name": name,
        "description": f"{name} something in the workspace, and say what came of it",
        "parameters": {
            "type": "object",
            "properties": {field: {"type": "string", "description": f"the {field}"} for field in ("path", "text")},
            "required": ["path"],
        },
    }
    for name in ("read", "list", "search", "edit", "patch", "shell", "checks", "diagnostics", "plan")
]


class Conversation:
    """The rollout as its client has it; `body` and `frame` encode nothing twice."""

    def __init__(self, plan: Plan) -> None:
        size = plan.history_bytes // plan.history_items
        text = "some words of a file that was read, and what was said of it; " * (size // 60 + 1)
        content = [{"type": "input_text", "text": text[:size]}]
        self.history = [_encode({"type": "message", "role": "user", "content": content})] * plan.history_items
        self.output = "a line of what the tool found\n" * (plan.output_bytes // 30)
        fields = {"model": MODEL, "instructions": "x" * 2_000, "tools": TOOLS}
        self._fields = _encode(fields)[1:-1]
        self.bytes_up = 0

    def body(self, items: Sequence[bytes], previous: str, *, store: bool, kind: bytes = b"") -> bytes:
        """Of a POST, or with `kind` of a frame."""
        chained = b'"previous_response_id":"%b",' % previous.encode() if previous else b""
        stored = b"true" if store else b"false"
        head = b'"type":"%b",' % kind if kind else b'"stream":true,'
        made = b'{%b%b,%b"store":%b,"input":[%b]}' % (head, self._fields, chained, stored, b",".join(items))
        self.bytes_up += len(made)
        return made

    def append(self, items: Sequence[bytes]) -> bytes:
        made = b'{"type":"response.append","input":[%b]}' % b",".join(items)
        self.bytes_up += len(made)
        return made

    def outputs(self, reply: Reply) -> list[bytes]:
        """What the tools answered; none: the rollout is over."""
        return [
            _encode({"type": "function_call_output", "call_id": call, "output": self.output}) for call in reply.calls()
        ]


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value)


async def new(port: int, talk: Conversation) -> list[Reply]:
    async def ask(body: bytes) -> Reply:
        async with closing(await open_http(port, keep=False)) as connection:
            return await connection.post(body)

    return await _full_history(talk, ask)


async def kept(port: int, talk: Conversation) -> list[Reply]:
    async with closing(await open_http(port, keep=True)) as connection:
        return await _full_history(talk, connection.post)


async def _full_history(talk: Conversation, ask: Callable[[bytes], Awaitable[Reply]]) -> list[Reply]:
    items, replies = list(talk.history), []
    while True:
        reply = await ask(talk.body(items, "", store=False))
        replies.append(reply)
        outputs = talk.outputs(reply)
        if not outputs:
            return replies
        items += [bytes(raw) for raw in reply.output]
        items += outputs


async def stored(port: int, talk: Conversation) -> list[Reply]:
    async with closing(await open_http(port, keep=True)) as connection:
        return await _new_items(talk, lambda items, previous: connection.post(talk.body(items, previous, store=True)))


async def deltas(port: int, talk: Conversation) -> list[Reply]:
    kind = b"response.create"
    async with closing(await open_socket(port)) as connection:
        return await _new_items(
            talk, lambda items, previous: connection.send(talk.body(items, previous, store=False, kind=kind))
        )


async def _new_items(talk: Conversation, ask: Callable[[list[bytes], str], Awaitable[Reply]]) -> list[Reply]:
    items, previous, replies = talk.history, "", []
    while True:
        reply = await ask(items, previous)
        replies.append(reply)
        items, previous = talk.outputs(reply), reply.id
        if not items:
            return replies


async def rollout(port: int, talk: Conversation) -> list[Reply]:
    async with closing(await open_socket(port, rollout=True)) as connection:
        replies = [await connection.send(talk.body(talk.history, "", store=False, kind=b"response.create"))]
        while replies[-1].paused:
            replies.append(await connection.send(talk.append(talk.outputs(replies[-1]))))
        return replies


DRIVERS: Final = {"new": new, "kept": kept, "stored": stored, "deltas": deltas, "rollout": rollout}


async def measure(way: str, port: int, plan: Plan) -> Measured:
    """Play the rollout once. Raises RuntimeError if it was not played to its end."""
    talk = Conversation(plan)
    started_s, cpu_s = time.perf_counter(), time.process_time()
    replies = await DRIVERS[way](port, talk)
    seconds = time.perf_counter() - started_s
    if len(replies) != plan.calls:
        raise RuntimeError(f"{way}: {len(replies)} calls instead of {plan.calls}")
    told = [reply.own_ms for reply in replies if reply.own_ms is not None]
    return Measured(
        seconds=seconds,
        first_ms=[reply.first_s * 1000 for reply in replies],
        own_ms=sum(told) if told else None,
        bytes_up=talk.bytes_up,
        cpu_s=time.process_time() - cpu_s,
    )


def main() -> None:
    way, port, plan = sys.argv[1:]
    measured = asyncio.run(measure(way, int(port), msgspec.json.decode(plan, type=Plan)))
    sys.stdout.write(msgspec.json.encode(measured).decode() + "\n")


if __name__ == "__main__":
    main()
