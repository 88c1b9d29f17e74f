"""An OpenAI-compatible server on a real socket that answers as a test says: byte for byte, and breaking off at will."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass
class Answer:
    """`events` are sent as SSE; `body` in their place where it is given. `breaks`: the socket dies behind them.

    `hangs`: it stays open and silent. `endless`: the last event is repeated for ever. `rest`: events that are sent
    once `go_on` is set.
    """

    status: int = 200
    events: Sequence[Any] = ()
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    breaks: bool = False
    hangs: bool = False
    endless: bool = False
    rest: Sequence[Any] = ()
    go_on: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Upstream:
    """`answers` by path, each list used up from the front, its last entry for ever. `seen`: path, headers, body."""

    url: str = ""
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    connections: int = 0
    asked: Answer | None = None
    """What the empty request is answered that asks which API there is; None: as a server with the API does."""
    judge: Callable[[Any], Answer | None] | None = None
    """Answers the bodies that it does not let pass."""
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """A client went away in the middle of an answer."""

    def bodies(self, path: str) -> list[Any]:
        """Of the real calls, not of the question which API there is."""
        return [body for seen, _, body in self.seen if seen == path and body]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._one(head.decode(), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.gone.set()
        except _Break:
            writer.transport.abort()
        finally:
            writer.close()

    async def _one(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value for name, value in (each.split(": ", 1) for each in rest)}
        path = line.split(" ")[1].partition("?")[0].removeprefix("/v1")
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        decoded = json.loads(body) if body else None
        self.seen.append((path, headers, decoded))
        known = self.answers.get(path)
        answer = Answer(404, body={"error": {"message": "no such path"}}) if known is None else known[0]
        if path == "/responses" and decoded == {} and known is not None:
            missing = {"error": {"message": "input is required", "type": "invalid_request_error"}}
            answer = self.asked or Answer(400, body=missing)
        elif known is not None and len(known) > 1:
            known.pop(0)
        if self.judge is not None and decoded:
            answer = self.judge(decoded) or answer
        await self._answer(answer, writer)

    async def _answer(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        kind = "text/event-stream" if answer.body is None else "application/json"
        head = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Status')}"]
        fields = {"Content-Type": kind, **answer.headers}
        if answer.body is not None:
            data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            fields["Content-Length"] = str(len(data))
        else:
            data = b""
            fields["Transfer-Encoding"] = "chunked"
        head += [f"{name}: {value}" for name, value in fields.items()]
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + data)
        if answer.body is None:
            await self._events(answer, writer)
        await writer.drain()

    async def _events(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        for event in answer.events:
            await _send(event, writer)
        while answer.endless:
            await _send(answer.events[-1], writer)
            await asyncio.sleep(0)
        if answer.rest:
            await answer.go_on.wait()
        for event in answer.rest:
            await _send(event, writer)
        if answer.breaks:
            raise _Break
        if answer.hangs:
            await asyncio.Event().wait()
        writer.write(b"0\r\n\r\n")


class _Break(Exception):
    pass


async def _send(event: Any, writer: asyncio.StreamWriter) -> None:
    name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
    text = event if isinstance(event, str) else json.dumps(event)
    data = f"{name}data: {text}\n\n".encode()
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))
    await writer.drain()


@asynccontextmanager
async def upstream(**answers: Answer | list[Answer]) -> AsyncIterator[Upstream]:
    """`chat` and `responses`: what the endpoints answer; one that is not given does not exist."""
    paths = {"chat": "/chat/completions", "responses": "/responses", "props": "/props"}
    state = Upstream(answers={paths[k]: v if isinstance(v, list) else [v] for k, v in answers.items()})
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(state.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield state
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk of a chat completion."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


CHAT_USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
CHAT_HELLO = Answer(events=[chunk(content="Hel"), chunk(content="lo"), chunk("stop"), CHAT_USAGE, "[DONE]"])


def completed(text: str = "Hello", **fields: Any) -> list[dict[str, Any]]:
    """The events of a response that says `text`."""
    item = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    response = {"id": "resp_far", "status": "completed", "output": [item], **fields}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0, "delta": text},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
