"""Whatever comes in: an error with the request's id, never silence, never an end of the server."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.support.lsp.client import Json, LspClient, RpcError, StreamWire
from tests.support.lsp.puppet import steps


async def answer_to(client: LspClient, data: bytes, *, framed: bool = True) -> Json:
    """The server's next answer after these bytes."""
    seen = len(client.answers)
    assert isinstance(client.wire, StreamWire)
    await client.wire.send_raw(b"Content-Length: %d\r\n\r\n" % len(data) + data if framed else data)
    await client.until(lambda: len(client.answers) > seen)
    return client.answers[seen]


async def alive(client: LspClient) -> None:
    assert isinstance((await client.request("loopline/status", {}))["categories"], list)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe{}", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"5", -32600),
        (b"null", -32600),
        (b'{"jsonrpc":"2.0","id":7}', -32600),
        (b'{"jsonrpc":"1.0","id":7,"method":"shutdown"}', -32600),
        (b'{"id":7,"method":"shutdown"}', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":{"a":1},"method":"shutdown"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"shutdown"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"shutdown"}', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"no/such"}', -32601),
        (b'{"jsonrpc":"2.0","id":7,"method":"$/no"}', -32601),
        (b'{"jsonrpc":"2.0","id":7,"method":"textDocument/hover","params":{"textDocument":5}}', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"textDocument/hover"}', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"workspace/executeCommand","params":{"command":5}}', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"loopline/transcript","params":[1]}', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"loopline/auth.set","params":{"provider":"openai","key":5}}', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"capabilities":{}}}', -32600),
    ],
)
async def test_a_bad_message_is_answered(client: LspClient, body: bytes, code: int) -> None:
    found = await answer_to(client, body)
    assert found["error"]["code"] == code
    assert found["id"] == (7 if b'"id":7' in body else None)
    await alive(client)


@pytest.mark.parametrize(
    "frame",
    [
        b"Content-Length: x\r\n\r\n{}",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"\r\n\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"garbage\x00\xff garbage\r\n\r\n",
    ],
)
async def test_a_bad_frame_is_answered_and_the_next_one_read(client: LspClient, frame: bytes) -> None:
    found = await answer_to(client, frame, framed=False)
    assert (found["id"], found["error"]["code"]) == (None, -32700)
    await alive(client)


async def test_headers_are_read_in_any_case(client: LspClient) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "loopline/status"}).encode()
    frame = b"content-type: application/vscode-jsonrpc\r\nCONTENT-LENGTH:%d\r\n\r\n" % len(body) + body
    assert (await answer_to(client, frame, framed=False))["id"] == 7


async def test_a_frame_above_the_limit_is_skipped(client: LspClient) -> None:
    assert isinstance(client.wire, StreamWire)
    size = 129 << 20
    found = await answer_to(client, b"Content-Length: %d\r\n\r\n" % size, framed=False)
    assert found["error"]["code"] == -32600
    chunk = b"x" * (1 << 20)
    for _ in range(129):
        await client.wire.send_raw(chunk)
    await alive(client)


async def test_a_large_message_is_taken(client: LspClient) -> None:
    item = {"uri": "file:///big.txt", "languageId": "text", "version": 1, "text": "é" * (5 << 20)}
    await client.notify("textDocument/didOpen", {"textDocument": item})
    await alive(client)


async def test_before_initialize_nothing_else_is_done(raw: LspClient) -> None:
    for method in ("shutdown", "textDocument/hover", "workspace/executeCommand", "loopline/status"):
        with pytest.raises(RpcError) as caught:
            await raw.request(method, {})
        assert caught.value.code == -32002
    await raw.notify("initialized", {})
    item = {"uri": "file:///a", "languageId": "t", "version": 1, "text": ""}
    await raw.notify("textDocument/didOpen", {"textDocument": item})
    await raw.initialize(None)
    await alive(raw)


async def test_initialize_with_values_of_a_newer_protocol_is_answered(raw: LspClient) -> None:
    """pygls#438: an unknown value of an enumeration hung the client for ever."""
    newer = {
        "workspace": {
            "workspaceEdit": {"resourceOperations": ["create", "teleport"], "failureHandling": "shrug"},
            "symbol": {"symbolKind": {"valueSet": [1, 2, 999]}},
        },
        "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["new.kind"]}}}},
        "general": {"positionEncodings": ["utf-7", "utf-8"]},
        "future": {"what": ["ever"]},
    }
    result = await raw.initialize(None, capabilities=newer, trace="loud", somethingElse=[1])
    assert result["capabilities"]["positionEncoding"] == "utf-8"


async def test_initialize_with_wrong_types_is_refused_and_may_be_tried_again(raw: LspClient) -> None:
    with pytest.raises(RpcError) as caught:
        await raw.request("initialize", {"processId": 1, "rootUri": None, "capabilities": 5})
    assert caught.value.code == -32602
    await raw.initialize(None)
    await alive(raw)


async def test_a_notification_that_makes_no_sense_is_passed_over(client: LspClient) -> None:
    uri = "file:///nowhere.py"
    for method, params in [
        ("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "x"}]}),
        ("textDocument/didClose", {"textDocument": {"uri": uri}}),
        ("textDocument/didSave", {"textDocument": {"uri": uri}}),
        ("textDocument/didOpen", {"textDocument": {"uri": 5}}),
        ("window/workDoneProgress/cancel", {"token": "nobody"}),
        ("$/cancelRequest", {"id": 4711}),
        ("$/setTrace", {"value": "loud"}),
        ("loopline/diagnostics", {"uri": uri, "diagnostics": [5]}),
        ("loopline/diagnostics", {"uri": "untitled:1", "diagnostics": [{"range": None}]}),
        ("workspace/didChangeConfiguration", {"settings": 5}),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [{"uri": "x:y", "name": "z"}]}}),
        ("no/such", {"a": 1}),
        ("$/no", None),
    ]:
        await client.notify(method, params)
    await client.send({"jsonrpc": "2.0", "id": 99_999, "result": "an answer to nothing"})
    await client.send({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}})
    await alive(client)


async def test_a_change_far_outside_of_the_text_is_clamped(client: LspClient) -> None:
    uri = "file:///a.txt"
    item = {"uri": uri, "languageId": "t", "version": 1, "text": "ab\ncd"}
    await client.notify("textDocument/didOpen", {"textDocument": item})
    far = {"start": {"line": 900, "character": 900}, "end": {"line": 9_000_000, "character": 9_000_000}}
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"range": far, "text": "!"}]}
    await client.notify("textDocument/didChange", change)
    await alive(client)


async def test_json_rpc_frames_inside_of_arguments_stay_data(client: LspClient) -> None:
    """pygls read any nested object with a `jsonrpc` key as a message of its own."""
    inner = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}
    params = {"command": "loopline.turn.start", "arguments": [{"task": steps({"text": "ok"}), "diagnostic": inner}]}
    started = await client.request("workspace/executeCommand", params)
    assert (await client.event("turn.finished", turnId=started["turnId"]))["text"] == "ok"
    with pytest.raises(RpcError) as caught:
        await client.request("loopline/transcript", inner)
    assert caught.value.code == -32602


async def test_the_same_id_twice_is_refused(client: LspClient) -> None:
    """The first is still answered."""
    first = await client.begin("workspace/executeCommand", {"command": "loopline.model.select", "arguments": [{}]}, "x")
    await client.send({"jsonrpc": "2.0", "id": "x", "method": "loopline/status", "params": {}})
    async with asyncio.timeout(10):
        await first
    await client.until(lambda: len([answer for answer in client.answers if answer["id"] == "x"]) == 2)
