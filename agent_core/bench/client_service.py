"""A service that answers as fast as it can, to measure clients with: a process of its own, one connection a run.

Run as `python -m agent_core.bench.client_service PLAN`. It prints its port, serves one conversation and prints what it
saw, as JSON. Turnaround is from the moment when a reply's last event was handed to the kernel to the one when the next
request was read whole, by this process's clock.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping

import msgspec
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

READ_FILE = "two_kb.txt"
TOOLS: Mapping[str, str] = {
    "read": f'{{"path":"{READ_FILE}"}}',
    "update_plan": '{"plan":[{"step":"read","status":"in_progress"}]}',
}
"""Tools that may be asked for, with their arguments: what each client does without starting a process."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`turns` replies of `deltas` text deltas each, that ask for `tool`; `pace_tokens_s` 0: all at once."""

    turns: int = 30
    deltas: int = 100
    pace_tokens_s: float = 0.0
    tool: str = "read"


class Seen(msgspec.Struct, kw_only=True):
    """Per reply: nanoseconds of turnaround, nanoseconds from its first byte to the next request, bytes of that."""

    turnaround_ns: list[int] = []
    stream_ns: list[int] = []
    bytes_up: list[int] = []


def frames_of(turn: int, plan: Plan) -> tuple[bytes, list[bytes], bytes]:
    """A reply's opening, its deltas and its end, each as WebSocket frames."""
    response = {"id": f"resp_{turn}", "object": "response", "created_at": 1, "model": "bench", "error": None,
                "incomplete_details": None, "usage": None}  # fmt: skip
    begun = response | {"status": "in_progress", "output": []}
    item = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "word " * plan.deltas, "annotations": []}]}  # fmt: skip
    call = {"id": f"fc_{turn}", "type": "function_call", "call_id": f"call_{turn}", "name": plan.tool,
            "arguments": TOOLS[plan.tool], "status": "completed"}  # fmt: skip
    last = turn == plan.turns - 1
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 90}, "output_tokens": plan.deltas,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 100 + plan.deltas}  # fmt: skip
    ended = response | {"status": "completed", "output": [item] if last else [item, call], "usage": usage}
    open_item = item | {"content": [], "status": "in_progress"}
    events: list[dict[str, object]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": open_item},
    ]
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0, "logprobs": []}
    events += [{"type": "response.output_text.delta", "delta": "word ", **place}] * plan.deltas
    tail: list[dict[str, object]] = [{"type": "response.output_item.done", "output_index": 0, "item": item}]
    if not last:
        open_call = call | {"arguments": "", "status": "in_progress"}
        tail += [{"type": "response.output_item.added", "output_index": 1, "item": open_call},
                 {"type": "response.output_item.done", "output_index": 1, "item": call}]  # fmt: skip
    tail.append({"type": "response.completed", "response": ended})
    encoded = [_frame(event | {"sequence_number": n}) for n, event in enumerate([*events, *tail])]
    return b"".join(encoded[:3]), encoded[3 : 3 + plan.deltas], b"".join(encoded[3 + plan.deltas :])


def _frame(event: dict[str, object]) -> bytes:
    return Frame(Opcode.TEXT, msgspec.json.encode(event)).serialize(mask=False)


class _Connection(asyncio.Protocol):
    def __init__(self, plan: Plan, done: asyncio.Future[Seen]) -> None:
        self._plan, self._done = plan, done
        self._protocol = ServerProtocol(max_size=None)
        self._replies = [frames_of(turn, plan) for turn in range(plan.turns)]
        self._seen = Seen()
        self._turn = 0
        self._sent_ns = self._begun_ns = 0
        self._sending: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        now_ns = time.monotonic_ns()
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                self._protocol.send_response(self._protocol.accept(event))
            elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                self._request(bytes(event.data), now_ns)
        for out in self._protocol.data_to_send():
            self._transport.write(out)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(self._seen)

    def _request(self, data: bytes, now_ns: int) -> None:
        if b'"generate":false' in data:
            warm: dict[str, object] = {"id": "resp_w", "status": "completed", "output": [], "usage": None}
            for number, kind in enumerate(("created", "completed")):
                event = {"type": f"response.{kind}", "response": warm, "sequence_number": number}
                self._transport.write(_frame(event))
            return
        if self._sent_ns:
            self._seen.turnaround_ns.append(now_ns - self._sent_ns)
            self._seen.stream_ns.append(now_ns - self._begun_ns)
            self._seen.bytes_up.append(len(data))
        self._sending = asyncio.create_task(self._reply(self._turn))
        self._turn += 1

    async def _reply(self, turn: int) -> None:
        head, deltas, tail = self._replies[turn]
        self._begun_ns = time.monotonic_ns()
        if self._plan.pace_tokens_s:
            self._transport.write(head)
            due = time.monotonic()
            for delta in deltas:
                due += 1 / self._plan.pace_tokens_s
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                self._transport.write(delta)
            self._transport.write(tail)
        else:
            self._transport.write(b"".join((head, *deltas, tail)))
        self._sent_ns = time.monotonic_ns()


async def _serve(plan: Plan) -> Seen:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Seen] = loop.create_future()
    server = await loop.create_server(lambda: _Connection(plan, done), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    seen = await done
    server.close()
    return seen


if __name__ == "__main__":
    result = asyncio.run(_serve(msgspec.json.decode(sys.argv[1], type=Plan)))
    sys.stdout.write(msgspec.json.encode(result).decode() + "\n")
